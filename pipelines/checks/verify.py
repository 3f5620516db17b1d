"""Expectations against the columns that the rows of their stage really have, before any row is read.

Spark only analyses: nothing is run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, StringType

from pipelines.checks.expectation import Expectation, Value, show
from pipelines.checks.predicates import compile_rule
from pipelines.spec.sql import taken_for_functions

BETWEEN = "expect_column_values_to_be_between"
IN_SETS = ("expect_column_values_to_be_in_set", "expect_column_values_to_not_be_in_set")
IN_PAIRS = "expect_column_pair_values_to_be_in_set"
MAY_BE_MISSING = "expect_column_to_exist"


def missing_columns(expectations: Sequence[Expectation], columns: Collection[str]) -> tuple[str, ...]:
    """The problems of expectations about columns that the rows of their stage do not have."""
    return tuple(
        f"line {expectation.line}: `{expectation.name}`: the rows at stage {expectation.stage} have no "
        f"column `{name}`{_meant(name, columns)}; they have {', '.join(columns)}"
        for expectation in expectations
        if expectation.name != MAY_BE_MISSING
        for name in expectation.columns
        if name not in columns and name.partition(".")[0] not in columns
    )


def verify_rules(candidates: DataFrame, expectations: Sequence[Expectation]) -> tuple[str, ...]:
    """The problems of row rules with the columns and types of their rows, and of the others' columns."""
    missing = missing_columns(expectations, candidates.columns)
    there = [rule for rule in expectations if not missing_columns([rule], candidates.columns)]
    return (*missing, *(problem for rule in there for problem in _problems(candidates, rule)))


def _problems(candidates: DataFrame, expectation: Expectation) -> Iterator[str]:
    where = f"line {expectation.line}: `{expectation.name}`"
    rule = compile_rule(expectation)
    if rule is None:
        return
    of_condition = tuple(_of_condition(candidates, expectation))
    yield from of_condition
    if of_condition:
        return
    try:
        # Spark says what it thinks of them when it is asked for their types.
        _ = candidates.select(rule.counted, rule.unexpected).schema
        value = candidates.select(expectation.columns[0]).schema[0].dataType
    except AnalysisException as error:
        yield f"{where}: {_first_line(error)}"
        return
    if expectation.name == BETWEEN and isinstance(value, StringType | BooleanType):
        yield (
            f"{where}: column `{expectation.columns[0]}` is {value.simpleString().upper()}; allowed are "
            "numbers and times: cast it in `select`"
        )
    for name, column, items in _compared(expectation):
        kind = candidates.select(column).schema[0].dataType
        yield from (f"{where}: {it}" for it in _of_other_kinds(items, name, column=column, kind=kind))


def wrong_conditions(candidates: DataFrame, expectations: Sequence[Expectation]) -> tuple[str, ...]:
    """The problems of `row_condition` with the columns of the rows, of expectations of whatever kind."""
    return tuple(problem for it in expectations for problem in _of_condition(candidates, it))


def _of_condition(candidates: DataFrame, expectation: Expectation) -> Iterator[str]:
    where = f"line {expectation.line}: `{expectation.name}`"
    condition, parser = expectation.argument("row_condition"), expectation.argument("condition_parser")
    # What is of none of its own parsers Great Expectations hands to Spark as it is.
    if not isinstance(condition, str) or str(parser).startswith("great_expectations"):
        return
    functions = taken_for_functions(condition, candidates.columns)
    if functions:
        yield f"{where}: `row_condition` has `{functions[0]}`, no column, which Spark takes for a function"
        return
    try:
        decides = candidates.select(F.expr(condition)).schema[0].dataType
        if isinstance(decides, BooleanType):
            # An aggregate is no condition, though it has a type.
            _ = candidates.where(F.expr(condition)).schema
    except AnalysisException as error:
        yield f"{where}: `row_condition`: {_first_line(error)}"
        return
    if not isinstance(decides, BooleanType):
        yield f"{where}: `row_condition` is {decides.simpleString().upper()}; allowed is BOOLEAN"


def _compared(expectation: Expectation) -> Iterator[tuple[str, str, list[Value]]]:
    """What each column of a rule about sets is compared with, and the argument that says so."""
    if expectation.name in IN_SETS:
        items = expectation.argument("value_set")
        yield "value_set", expectation.columns[0], [*items] if isinstance(items, tuple) else []
    if expectation.name == IN_PAIRS:
        listed = expectation.argument("value_pairs_set")
        pairs = [it for it in listed if isinstance(it, tuple)] if isinstance(listed, tuple) else []
        for place, column in enumerate(expectation.columns):
            yield "value_pairs_set", column, [pair[place] for pair in pairs]


def _of_other_kinds(items: Sequence[Value], name: str, *, column: str, kind: DataType) -> Iterator[str]:
    """What a set holds that Spark would compare as another type, for which every value of the column is cast:
    one that cannot be fails the batch.
    """
    for item in items:
        is_other = not isinstance(item, str) if isinstance(kind, StringType) else isinstance(item, bool)
        if item is not None and is_other and not isinstance(kind, BooleanType):
            hint = " (YAML takes `no`, `yes`, `on` and `off` for those)" if isinstance(item, bool) else ""
            yield (
                f"`{name}` has `{show(item)}`{hint}, and column `{column}` is "
                f"{kind.simpleString().upper()}: write it in quotes"
            )


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].removesuffix(".")


def _meant(found: str, known: Collection[str]) -> str:
    close = get_close_matches(found, list(known), n=1)
    return f"; did you mean `{close[0]}`?" if close else ""
