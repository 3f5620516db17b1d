"""Errors as people read them."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from pipelines.cli.told import Interrupted, told
from pipelines.errors import CorrectTheSpec, LookAtTheData

JAVA = """An error occurred while calling o66.save.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2785)
Caused by: org.apache.spark.SparkArithmeticException: [ARITHMETIC_OVERFLOW] long overflow. SQLSTATE: 22003
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.arithmeticOverflowError(QueryExecutionErrors.scala:113)
"""
PLAIN_JAVA = """An error occurred while calling o9.load.
: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""
FULL = """An error occurred while calling o12.save.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to /store/panes. \
SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailed(QueryExecutionErrors.scala:814)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""
OF_DELTA = (
    "Generic LocalFileSystem error\n          \x1b[31m↳\x1b[0m Unable to open file /tmp/panes/1.json"
    "\n           \x1b[31m↳\x1b[0m Permission denied (os error 13)\n"
)


def test_an_error_of_ours_is_told_in_its_own_words():
    assert told(LookAtTheData("speed is 900")) == "speed is 900"
    assert told(CorrectTheSpec("a.yml", ("no key",))) == "a.yml: no key"
    assert told(Interrupted("run it again")) == "run it again"


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connection refused"),
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o1406.save"),
    ],
)
def test_of_a_spark_that_is_gone_it_is_said_what_to_do(error: Exception):
    paragraph = told(error)
    assert paragraph.startswith("Spark ended in the middle of the work")
    assert "run the same again" in paragraph and "SASH_MEMORY" in paragraph


def test_a_call_that_java_cannot_make_is_not_taken_for_a_spark_that_is_gone():
    error = Py4JError("An error occurred while calling o1.sav. Trace:\npy4j.Py4JException: no method sav([])")
    assert "no method sav([]); that was not expected" in told(error)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (JAVA, "[ARITHMETIC_OVERFLOW] long overflow. SQLSTATE: 22003"),
        (PLAIN_JAVA, "No space left on device"),
        (
            FULL,
            "[TASK_WRITE_FAILED] Task failed while writing rows to /store/panes. SQLSTATE: 58030: "
            "No space left on device",
        ),
        ("[A_CONDITION] it broke.\n\nJVM stacktrace:\norg.apache.X", "[A_CONDITION] it broke"),
        (
            OF_DELTA,
            "Generic LocalFileSystem error: Unable to open file /tmp/panes/1.json: "
            "Permission denied (os error 13)",
        ),
        ("list index out of range", "list index out of range"),
        ("", "without a message"),
    ],
)
def test_of_any_other_error_the_line_is_told_that_says_most(text: str, line: str):
    paragraph = told(RuntimeError(text))
    assert paragraph.startswith(f"RuntimeError: {line}; ")
    assert "--debug" in paragraph
    assert "\n" not in paragraph and "\tat " not in paragraph
