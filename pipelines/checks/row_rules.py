"""Which of Great Expectations' rules look at single rows, and what arguments they take.

Only these are compiled to predicates and may quarantine. A test holds the table against Great Expectations
itself, so that a suite of row rules is read and refused without importing it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.checks.expectation import Expectation

SCOPE = ("mostly", "row_condition", "condition_parser")
BOUNDS = ("min_value", "max_value", "strict_min", "strict_max")
IGNORE_ROW_IF = {
    "column_A": ("both_values_are_missing", "either_value_is_missing", "neither"),
    "column_list": ("all_values_are_missing", "any_value_is_missing", "never"),
}
"""What rules about several columns may leave out; the first is what they do unless they say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The arguments of a rule beside those that all rules take."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


def _of_column(*required: str, optional: tuple[str, ...] = ()) -> Shape:
    return Shape(required=("column", *required), optional=optional)


def _of_pair(*required: str, optional: tuple[str, ...] = ()) -> Shape:
    return Shape(required=("column_A", "column_B", *required), optional=("ignore_row_if", *optional))


def _of_several(*required: str) -> Shape:
    return Shape(required=("column_list", *required), optional=("ignore_row_if",))


ROW_RULES: dict[str, Shape] = {
    "expect_column_values_to_not_be_null": _of_column(),
    "expect_column_values_to_be_null": _of_column(),
    "expect_column_values_to_be_between": _of_column(optional=BOUNDS),
    "expect_column_values_to_be_in_set": _of_column("value_set"),
    "expect_column_values_to_not_be_in_set": _of_column("value_set"),
    "expect_column_values_to_match_regex": _of_column("regex"),
    "expect_column_values_to_not_match_regex": _of_column("regex"),
    "expect_column_values_to_match_regex_list": _of_column("regex_list", optional=("match_on",)),
    "expect_column_values_to_not_match_regex_list": _of_column("regex_list"),
    "expect_column_value_lengths_to_be_between": _of_column(optional=BOUNDS),
    "expect_column_value_lengths_to_equal": _of_column("value"),
    "expect_column_pair_values_a_to_be_greater_than_b": _of_pair(optional=("or_equal",)),
    "expect_column_pair_values_to_be_equal": _of_pair(),
    "expect_column_pair_values_to_be_in_set": _of_pair("value_pairs_set"),
    "expect_multicolumn_values_to_be_equal": _of_several(),
    "expect_multicolumn_sum_to_equal": _of_several("sum_total"),
    "expect_select_column_values_to_be_unique_within_record": _of_several(),
}


def is_row_rule(expectation: Expectation) -> bool:
    """Whether it can be told of each row alone. A row condition that is not Spark's SQL cannot."""
    has_condition = expectation.argument("row_condition") is not None
    in_spark_sql = expectation.argument("condition_parser") == "spark"
    return expectation.name in ROW_RULES and (in_spark_sql or not has_condition)
