"""Which errors of Spark are about a value of the data, and what is told of them."""

from __future__ import annotations

import pytest
from pyspark.errors import PythonException
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from pipelines.stages.wrong_values import ADVICE, wrong_value

CAST = """[CAST_INVALID_INPUT] The value 'n/a' of the type "STRING" cannot be cast. SQLSTATE: 22018
== SQL (line 1, position 1) ==
cast(delay AS double)
^^^^^^^^^^^^^^^^^^^^^
"""
OVERFLOW = (
    '[ARITHMETIC_OVERFLOW] long overflow. If necessary set "spark.sql.ansi.enabled" to "false" to bypass '
    "this error. SQLSTATE: 22003"
)

OF_DECIMALS = (
    "[ARITHMETIC_OVERFLOW] Overflow in sum of decimals. Use 'try_sum' to tolerate overflow and return NULL "
    'instead. If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22003'
)
OF_A_WRITE = """An error occurred while calling o2761.save.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows. SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailed(QueryExecutionErrors.scala:814)
Caused by: org.apache.spark.SparkArithmeticException: [ARITHMETIC_OVERFLOW] long overflow. Use \
'try_multiply' to tolerate overflow and return NULL instead. If necessary set \
"spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22003
\tat org.apache.spark.sql.errors.ExecutionErrors.arithmeticOverflowError(ExecutionErrors.scala:132)
"""
RAISED_IN_A_WRITE = """An error occurred while calling o12.save.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows. SQLSTATE: 58030
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "calendar.py", line 7, in assign
    raise ValueError("no such day")
ValueError: no such day

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:581)
"""
TOO_LARGE = (
    "[NUMERIC_VALUE_OUT_OF_RANGE] 100 cannot be represented as Decimal(2, 0). If necessary set "
    '"spark.sql.ansi.enabled" to "false" to bypass this error, and return NULL instead. SQLSTATE: 22003'
)


def test_a_value_is_told_with_the_expression_that_cannot_bear_it() -> None:
    found = "[CAST_INVALID_INPUT] The value 'n/a' of the type \"STRING\" cannot be cast. SQLSTATE: 22018"
    assert wrong_value(ValueError(CAST)) == f"`cast(delay AS double)` fails on a value: {found}; {ADVICE}"


@pytest.mark.parametrize("value", ["two\nlines", "a\x1b[2Jb\rc", "\n  at home\n"])
def test_a_value_of_several_lines_is_told_in_one(value: str) -> None:
    told = wrong_value(ValueError(CAST.replace("n/a", value)))
    assert told is not None
    assert told.startswith("`cast(delay AS double)` fails on a value: [CAST_INVALID_INPUT] The value '")
    assert "cannot be cast. SQLSTATE: 22018; let such" in told and told.isprintable()


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (OVERFLOW, "[ARITHMETIC_OVERFLOW] long overflow. SQLSTATE: 22003"),
        (OF_A_WRITE, "[ARITHMETIC_OVERFLOW] long overflow. SQLSTATE: 22003"),
        (OF_DECIMALS, "[ARITHMETIC_OVERFLOW] Overflow in sum of decimals. SQLSTATE: 22003"),
        (
            TOO_LARGE,
            "[NUMERIC_VALUE_OUT_OF_RANGE] 100 cannot be represented as Decimal(2, 0). SQLSTATE: 22003",
        ),
    ],
)
def test_nobody_is_advised_to_let_values_wrap_or_to_lose_them(told: str, kept: str) -> None:
    assert wrong_value(ValueError(told)) == f"an expression fails on a value: {kept}; {ADVICE}"


def test_what_a_custom_function_raises_is_told_in_its_own_words() -> None:
    raised = PythonException(
        "\n  An exception was thrown from the Python worker.\nTraceback (most recent call last):\n"
        '  File "calendar.py", line 7, in assign\n    raise ValueError(\nValueError: no such day\n'
    )
    assert wrong_value(raised) == "a custom function fails: ValueError: no such day; mend it, or the data"


def test_what_a_function_raises_while_a_table_is_written_is_told_alike() -> None:
    told = "a custom function fails: ValueError: no such day; mend it, or the data"
    assert wrong_value(ValueError(RAISED_IN_A_WRITE)) == told


def test_over_connect_the_causes_stand_beside_what_failed() -> None:
    first, _, causes = OF_A_WRITE.partition("\nCaused by")
    failed = SparkConnectGrpcException(first.splitlines()[1], server_stacktrace=f"Caused by{causes}")
    kept = "[ARITHMETIC_OVERFLOW] long overflow. SQLSTATE: 22003"
    assert wrong_value(failed) == f"an expression fails on a value: {kept}; {ADVICE}"


@pytest.mark.parametrize(
    "told",
    [
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file. SQLSTATE: KD001",
        "[DELTA_EXCEEDS_CHAR_VARCHAR_LIMIT] Exceeds the limit. SQLSTATE: 22001",
        "Connection refused",
        "",
    ],
)
def test_other_errors_are_not_about_values(told: str) -> None:
    assert wrong_value(ValueError(told)) is None
