"""A rule about a column that is not there, or not of its kind, is refused before any row is read."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.checks.expectation import Expectation, freeze
from pipelines.checks.verify import missing_columns, verify_rules, wrong_conditions

BETWEEN = "expect_column_values_to_be_between"
IN_PAIRS = "expect_column_pair_values_to_be_in_set"
IN_SQL = {"condition_parser": "spark"}
COLUMNS = ("origin", "dest", "distance")


def expectation(name: str, **arguments: object) -> Expectation:
    frozen = tuple((argument, freeze(value)) for argument, value in arguments.items())
    return Expectation(stage="events", name=name, arguments=frozen, line=5)


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "origin STRING, dest STRING, distance INT, place STRUCT<lat: DOUBLE>")


def test_a_column_that_is_not_there_is_told_with_those_that_are() -> None:
    asked = [expectation("expect_column_values_to_not_be_null", column="orign")]
    assert missing_columns(asked, COLUMNS) == (
        "line 5: `expect_column_values_to_not_be_null`: the rows at stage events have no column `orign`; "
        "did you mean `origin`?; they have origin, dest, distance",
    )


def test_each_of_several_columns_is_looked_for() -> None:
    asked = [expectation("expect_compound_columns_to_be_unique", column_list=["origin", "at", "to"])]
    assert len(missing_columns(asked, COLUMNS)) == 2


def test_the_expectation_that_a_column_exists_is_not_refused_before_it_is_asked() -> None:
    assert missing_columns([expectation("expect_column_to_exist", column="at")], COLUMNS) == ()


def test_right_rules_have_no_problems(events: DataFrame) -> None:
    asked = [
        expectation(
            BETWEEN, column="distance", min_value=1, row_condition="dest > 'A'", condition_parser="spark"
        ),
        expectation(BETWEEN, column="place.lat", min_value=-90),
        expectation("expect_column_max_to_be_between", column="distance", max_value=1),
    ]
    assert verify_rules(events, asked) == ()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"column": "distanc"}, "have no column `distanc`"),
        ({"column": "origin"}, "column `origin` is STRING; allowed are numbers and times"),
        ({"column": "place.lon"}, "lon"),
        ({"column": "distance", "row_condition": "dist > 1", **IN_SQL}, "`dist`"),
        ({"column": "distance", "row_condition": "dest >", **IN_SQL}, "yntax"),
        ({"column": "distance", "row_condition": "dest", **IN_SQL}, "BOOLEAN"),
        ({"column": "distance", "row_condition": "`user` = 'ann'", **IN_SQL}, "no column"),
    ],
)
def test_a_problem_says_its_line_and_what_was_found(
    events: DataFrame, arguments: dict[str, object], told: str
) -> None:
    (problem,) = verify_rules(events, [expectation(BETWEEN, min_value=1, **arguments)])
    assert problem.startswith(f"line 5: `{BETWEEN}`")
    assert told in problem


def test_a_condition_is_held_against_the_columns_of_whatever_expectation(events: DataFrame) -> None:
    maximum = "expect_column_max_to_be_between"

    def told(condition: str, parser: str | None = "spark") -> tuple[str, ...]:
        arguments = {"row_condition": condition, "condition_parser": parser}
        return wrong_conditions(events, [expectation(maximum, column="distance", max_value=1, **arguments)])

    assert told("dest > 'A'") == told('col("nowhere") > 1', "great_expectations") == ()
    for condition, problem in (("dist > 1", "`dist`"), ("dest >", "yntax"), ("dest", "is STRING; allowed")):
        for parser in ("spark", "pandas", None):
            (found,) = told(condition, parser)
            assert found.startswith(f"line 5: `{maximum}`: `row_condition`") and problem in found
    assert wrong_conditions(events, [expectation(maximum, column="distance", max_value=1)]) == ()


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        (
            "origin",
            [False, "SE"],
            "has `false` (YAML takes `no`, `yes`, `on` and `off` for those)",
        ),
        ("origin", ["SE", 1], "has `1`, and column `origin` is STRING: write it in quotes"),
        ("distance", [1, True], "line 5"),
        ("origin", ["SE", None], None),
        ("distance", [1, 2.5, None], None),
    ],
)
@pytest.mark.parametrize("name", ["in_set", "not_be_in_set"])
def test_a_set_for_which_every_value_would_be_taken_for_another_type_is_refused(
    events: DataFrame, name: str, column: str, values: list[object], told: str | None
) -> None:
    whole = f"expect_column_values_to_{'be_' if name == 'in_set' else ''}{name}"
    problems = verify_rules(events, [expectation(whole, column=column, value_set=values)])
    assert [told is not None and told in problem for problem in problems] == ([] if told is None else [True])


def test_pairs_for_which_every_value_would_be_taken_for_another_type_are_refused(events: DataFrame) -> None:
    def told(*pairs: list[object]) -> tuple[str, ...]:
        columns = {"column_A": "origin", "column_B": "distance"}
        return verify_rules(events, [expectation(IN_PAIRS, **columns, value_pairs_set=[*pairs])])

    assert told(["NYC", 1], [None, None]) == ()
    (problem,) = told([False, 1], ["SE", 2])
    assert "`value_pairs_set` has `false`" in problem and "column `origin` is STRING" in problem


def test_a_list_of_columns_is_what_is_expected_of_a_table_and_not_what_it_has_to_have() -> None:
    asked = [expectation("expect_table_columns_to_match_ordered_list", column_list=["origin", "gate"])]
    assert missing_columns(asked, COLUMNS) == ()
    assert asked[0].column is None
