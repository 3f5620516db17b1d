"""Expectations that only Great Expectations can tell, run by it on the rows of a stage.

It is asked through an ephemeral context: nothing is stored, nothing leaves the machine, and the rows are
not kept. An expectation that could not be computed has failed, with the reason as what was observed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, cast

from pyspark.sql import DataFrame

from pipelines.checks.configurations import POSITION, Details, configurations
from pipelines.checks.expectation import Expectation, Suite, Value
from pipelines.checks.importing import imported
from pipelines.checks.results import Result, observed_share
from pipelines.checks.utc import in_utc
from pipelines.checks.vocabulary import unknown_names
from pipelines.errors import CorrectTheSpec

SAMPLES = 10
CAUSES = (re.compile(r"\[[A-Z0-9_.]{4,}\] .*"), re.compile(r"(?<=[.: ])\w+Exception: (?!.*Exception: ).*"))
"""How Spark, and Java under it, word the cause of an error somewhere in all that they say."""
ABOUT_SCHEMA = (
    "expect_column_to_exist",
    "expect_column_type_to_be",
    "expect_column_values_to_be_of_type",
    "expect_column_values_to_be_in_type_list",
)
"""What can be told of a column without any row."""


class Verdict(Protocol):
    """As much of Great Expectations' result as is used here."""

    # Of some expectations it is numpy's.
    success: object
    result: Details
    exception_info: Details


def validate(candidates: DataFrame, expectations: Sequence[Expectation]) -> tuple[Result, ...]:
    """What Great Expectations finds in the rows, one result per expectation and in the order given.

    The rows are gone through several times: whoever calls keeps them, where they are dear to compute.
    """
    if not expectations:
        return ()
    problems = unknown_names(Suite(expectations=tuple(expectations)))
    if problems:
        raise CorrectTheSpec("the expectations", problems)
    conditions = {_condition(it): None for it in expectations}
    with in_utc():
        verdicts = _ask(candidates, [*expectations, *[_how_many(*it) for it in conditions]])
    rows = {
        condition: verdicts[len(expectations) + place].result.get("observed_value")
        for place, condition in enumerate(conditions)
    }
    return tuple(
        _result(expectation, verdicts[position], is_empty=rows[_condition(expectation)] == 0)
        for position, expectation in enumerate(expectations)
    )


def _condition(expectation: Expectation) -> tuple[Value, Value]:
    return expectation.argument("row_condition"), expectation.argument("condition_parser")


def _how_many(condition: Value, parser: Value) -> Expectation:
    """The question how many rows there are to look at."""
    where = () if condition is None else (("row_condition", condition), ("condition_parser", parser))
    return Expectation(
        stage="events",
        name="expect_table_row_count_to_be_between",
        arguments=(("min_value", 0), *where),
        on_failure="warn",
    )


def _ask(candidates: DataFrame, expectations: Sequence[Expectation]) -> dict[int, Verdict]:
    great_expectations = imported()
    context = great_expectations.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    source = context.data_sources.add_spark("spark", persist=False)
    rows = source.add_dataframe_asset("candidates").add_batch_definition_whole_dataframe("all")
    suite = great_expectations.ExpectationSuite(
        name="asked", expectations=configurations(expectations, candidates.schema)
    )
    found = rows.get_batch({"dataframe": candidates}).validate(
        suite, result_format={"result_format": "SUMMARY", "partial_unexpected_count": SAMPLES}
    )
    return {verdict.expectation_config.meta[POSITION]: verdict for verdict in found.results}


def _result(expectation: Expectation, verdict: Verdict, *, is_empty: bool) -> Result:
    reason = _exception_message(verdict.exception_info)
    if reason is not None:
        failed = _judged(expectation, success=False, observed=f"could not be computed: {reason}")
        return replace(failed, is_computed=False)
    if is_empty and expectation.columns and expectation.name not in ABOUT_SCHEMA:
        # Where there are no rows, also none that the condition is about, nothing can be wrong.
        return _judged(expectation, success=True, observed=observed_share(0, 0))
    details = verdict.result
    unexpected = _whole(details.get("unexpected_count"))
    if unexpected is None:
        found = details.get("observed_value", "as expected" if verdict.success else "not as expected")
        return _judged(expectation, success=bool(verdict.success), observed=_text(found))
    counted = (_whole(details.get("element_count")) or 0) - (_whole(details.get("missing_count")) or 0)
    return Result(
        expectation=expectation,
        column=expectation.column,
        success=bool(verdict.success),
        observed=observed_share(counted, unexpected),
        unexpected_count=unexpected,
        counted=counted,
        samples=_samples(details),
    )


def _judged(expectation: Expectation, *, success: bool, observed: str) -> Result:
    return Result(expectation=expectation, column=expectation.column, success=success, observed=observed)


def _exception_message(info: Details) -> str | None:
    """What was raised, if anything was, in a line: it is told once for all, or once for each metric."""
    for told in (info, *[cast(Details, item) for item in info.values() if isinstance(item, dict)]):
        if told.get("raised_exception") and told.get("exception_message"):
            message = str(told["exception_message"])
            causes = [cause for cause in (pattern.search(message) for pattern in CAUSES) if cause]
            return causes[0].group() if causes else message.splitlines()[0]
    return None


def _samples(details: Details) -> tuple[str, ...]:
    values = details.get("partial_unexpected_list")
    return tuple(_text(value) for value in values[:SAMPLES]) if isinstance(values, list) else ()


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value)
    return "null" if value is None else str(value)
