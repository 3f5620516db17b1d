"""The arguments of a row rule are refused without Great Expectations, all that are wrong at once."""

from __future__ import annotations

from datetime import date

import pytest

from pipelines.checks.arguments import argument_problems
from pipelines.checks.expectation import Expectation, freeze

BETWEEN = "expect_column_values_to_be_between"


def problems(name: str, **arguments: object) -> list[str]:
    frozen = tuple((argument, freeze(value)) for argument, value in arguments.items())
    return list(argument_problems(Expectation(stage="events", name=name, arguments=frozen)))


def test_a_right_rule_has_no_problems() -> None:
    assert problems(BETWEEN, column="a", min_value=0, max_value=0, strict_min=False, mostly=1) == []
    assert problems(BETWEEN, column="a", max_value="2013-01-01T00:00:00Z", notes="in time") == []
    assert problems("expect_column_values_to_be_in_set", column="a", value_set=[]) == []


def test_all_problems_of_a_rule_are_told_at_once() -> None:
    assert len(problems(BETWEEN, colum="a", mostly=2, min_value="lots")) == 4


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        (BETWEEN, {"min_value": 1}, "`column` is missing"),
        (BETWEEN, {"column": "a"}, "neither `min_value` nor `max_value`"),
        (BETWEEN, {"column": "a", "min_value": 2, "max_value": 1}, "`min_value` 2 is above `max_value` 1"),
        (
            BETWEEN,
            {"column": "a", "min_value": date(2014, 1, 1), "max_value": "2013-12-31T00:00Z"},
            "`min_value` 2014-01-01 is above `max_value` 2013-12-31T00:00Z",
        ),
        ("expect_column_max_to_be_between", {"column": "a", "min_value": 2, "max_value": 1}, "is above"),
        (BETWEEN, {"column": "a", "min_value": "lots"}, "'lots'; allowed is a number, a date or an instant"),
        (BETWEEN, {"column": "a", "min_value": 1, "mostly": 1.01}, "1.01; allowed is a number from 0 to 1"),
        (BETWEEN, {"column": "a", "min_value": 1, "mostly": True}, "True; allowed is a number from 0 to 1"),
        (BETWEEN, {"column": "a", "min_value": 1, "row_condition": "b"}, "needs a `condition_parser`"),
        (BETWEEN, {"column": "a", "min_value": 1, "most": 1}, "unknown argument `most`; allowed are column"),
        ("expect_column_values_to_be_in_set", {"column": "a", "value_set": "b"}, "a list of values"),
        ("expect_column_values_to_be_in_set", {"column": "a", "value_set": ["b", None]}, "has a null"),
        ("expect_column_values_to_be_in_set", {"column": "a", "value_set": [[1, 2]]}, "a list of values"),
        ("expect_column_values_to_be_in_set", {"column": "a", "value_set": [{"b": 1}]}, "a list of values"),
        ("expect_column_values_to_match_regex_list", {"column": "a", "regex_list": []}, "regular express"),
        ("expect_column_pair_values_to_be_equal", {"column_A": "a"}, "`column_B` is missing"),
        (
            "expect_column_pair_values_to_be_equal",
            {"column_A": "a", "column_B": "b", "ignore_row_if": "never"},
            "both_values_are_missing or either_value_is_missing or neither",
        ),
        ("expect_multicolumn_values_to_be_equal", {"column_list": ["a"]}, "two columns or more"),
    ],
)
def test_a_problem_says_what_was_found_and_what_is_allowed(
    name: str, arguments: dict[str, object], told: str
) -> None:
    assert told in " | ".join(problems(name, **arguments))


@pytest.mark.parametrize(
    ("remark", "told"),
    [
        ({"severity": "high"}, "`severity` is high; allowed is critical or warning or info"),
        ({"description": ["a"]}, "`description` is [a]; allowed is a text"),
        ({"notes": {"a": 1}}, "`notes` is {a: 1}; allowed is a text or a list of texts"),
        ({"meta": "mine"}, "`meta` is mine; allowed is a mapping"),
    ],
)
def test_what_is_kept_beside_any_expectation_is_looked_at(remark: dict[str, object], told: str) -> None:
    assert problems(BETWEEN, column="a", min_value=1, **remark) == [told]
    assert problems("expect_column_max_to_be_between", column="a", max_value=1, **remark) == [told]
    right = {"severity": "warning", "description": "b", "notes": ["c"], "meta": {"on": date(2024, 5, 1)}}
    assert problems(BETWEEN, column="a", min_value=1, **right) == []


def test_nothing_is_said_of_expectations_that_only_great_expectations_knows() -> None:
    assert problems("expect_column_max_to_be_between", colum="a") == []


def test_what_sql_may_not_do_it_may_in_no_expectation() -> None:
    condition = {"row_condition": "reflect('java.lang.System', 'exit') = 1", "condition_parser": "spark"}
    (told,) = problems("expect_column_max_to_be_between", column="a", **condition)
    assert "reflect" in told


def test_a_condition_that_is_no_sql_is_refused() -> None:
    filtered = {"type": "pass_through", "pass_through_filter": "rand() < 0.5"}
    (told,) = problems("expect_column_max_to_be_between", column="a", row_condition=filtered)
    assert told == "`row_condition` is no text; allowed is SQL, with `condition_parser: spark`"


@pytest.mark.parametrize("parser", [{}, {"condition_parser": "pandas"}])
def test_a_condition_is_spark_sql_whatever_else_its_parser_is_called(parser: dict[str, str]) -> None:
    name = "expect_table_row_count_to_be_between"
    told = problems(name, min_value=1, row_condition="rand() > 0.5", **parser)
    assert any("rand" in problem for problem in told)
