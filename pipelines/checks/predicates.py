"""Row rules as conditions over one event, with Great Expectations' own meaning.

A value that is null is not counted, except by the rules about null itself; a row outside `row_condition`,
or one that `ignore_row_if` names, is not counted by any. What a comparison leaves undecided (null) is not
unexpected.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.checks.conditions import EXPECTED, columns_of
from pipelines.checks.expectation import Expectation
from pipelines.checks.row_rules import is_row_rule
from pipelines.ingest.rules import RowRule

ABOUT_NULL = ("expect_column_values_to_not_be_null", "expect_column_values_to_be_null")


def compile_rule(expectation: Expectation) -> RowRule | None:
    """The rule as two conditions over a row; `None` where only Great Expectations can tell."""
    if not is_row_rule(expectation):
        return None
    counted = F.coalesce(_scope(expectation) & _counts(expectation), F.lit(False))
    expected = EXPECTED[expectation.name](expectation)
    return RowRule(
        name=expectation.rule,
        counted=counted,
        unexpected=counted & F.coalesce(~expected, F.lit(False)),
        quarantines=expectation.on_failure == "quarantine",
    )


def _scope(expectation: Expectation) -> Column:
    condition = expectation.argument("row_condition")
    return F.lit(True) if condition is None else F.expr(str(condition))


def _counts(expectation: Expectation) -> Column:
    columns = columns_of(expectation)
    if expectation.name in ABOUT_NULL:
        return F.lit(True)
    if len(columns) == 1:
        return columns[0].isNotNull()
    ignored = expectation.argument("ignore_row_if")
    if ignored in ("neither", "never"):
        return F.lit(True)
    missing = [column.isNull() for column in columns]
    if ignored in ("either_value_is_missing", "any_value_is_missing"):
        return ~reduce(Column.__or__, missing)
    return ~reduce(Column.__and__, missing)
