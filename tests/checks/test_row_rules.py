"""A row rule can be told of each row alone; all else is left to Great Expectations."""

from __future__ import annotations

from pipelines.checks.expectation import Expectation, freeze
from pipelines.checks.row_rules import is_row_rule

BETWEEN = "expect_column_values_to_be_between"


def rule(name: str, **arguments: object) -> Expectation:
    frozen = tuple((argument, freeze(value)) for argument, value in arguments.items())
    return Expectation(stage="events", name=name, arguments=frozen)


def test_a_rule_about_values_is_a_row_rule_and_one_about_their_largest_is_not() -> None:
    assert is_row_rule(rule(BETWEEN, column="a", min_value=1))
    assert not is_row_rule(rule("expect_column_max_to_be_between", column="a", min_value=1))
    assert not is_row_rule(rule("expect_column_values_to_be_unique", column="a"))


def test_only_a_row_condition_in_spark_sql_is_told_of_each_row() -> None:
    in_sql = {"row_condition": "b > 0", "condition_parser": "spark"}
    in_another = {"row_condition": 'col("b") > 0', "condition_parser": "great_expectations"}
    assert is_row_rule(rule(BETWEEN, column="a", min_value=1, **in_sql))
    assert not is_row_rule(rule(BETWEEN, column="a", min_value=1, **in_another))
