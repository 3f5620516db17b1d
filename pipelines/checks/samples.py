"""The rows that show why an expectation failed, for a reader who has to decide what to do.

Of a row rule these are rows that break it, of a bound on an extreme the rows beyond it, of the others rows
with values that Great Expectations named. Where nothing points at rows, it is the first ones that come.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.checks.expectation import Expectation
from pipelines.checks.predicates import compile_rule
from pipelines.checks.results import Result

SAMPLE_ROWS = 10
EXTREMES = {
    "expect_column_max_to_be_between": "expect_column_values_to_be_between",
    "expect_column_min_to_be_between": "expect_column_values_to_be_between",
}
"""Expectations about an extreme: a row beyond the bounds is what moved it there, if one did."""


def sample_rows(candidates: DataFrame, result: Result) -> DataFrame:
    """Up to ten of the candidate rows that show what was found."""
    broken = _broken(result)
    shown = candidates if broken is None else candidates.where(broken)
    return shown.limit(SAMPLE_ROWS)


def _broken(result: Result) -> Column | None:
    expectation = result.expectation
    rule = compile_rule(_about_rows(expectation))
    if rule is not None:
        return rule.unexpected
    if result.samples and len(expectation.columns) == 1:
        return F.col(expectation.columns[0]).cast("string").isin(list(result.samples))
    return None


def _about_rows(expectation: Expectation) -> Expectation:
    return replace(expectation, name=EXTREMES.get(expectation.name, expectation.name))
