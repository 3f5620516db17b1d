"""What only Great Expectations can tell, it tells: in order, with samples and quietly."""

from __future__ import annotations

import logging
import re
import time
from datetime import date, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.checks.expectation import Expectation, freeze
from pipelines.checks.results import Result, observed_share
from pipelines.checks.samples import sample_rows
from pipelines.checks.validate import validate

pytestmark = pytest.mark.spark

MAXIMUM = "expect_column_max_to_be_between"
UNIQUE = "expect_column_values_to_be_unique"
COUNT = "expect_table_row_count_to_be_between"


def expectation(name: str, **arguments: object) -> Expectation:
    frozen = tuple((argument, freeze(value)) for argument, value in arguments.items())
    return Expectation(stage="panes", name=name, arguments=frozen)


SPOILT = expectation("expect_column_values_to_match_regex", column="origin", regex="^[")
ASKED = [
    expectation(MAXIMUM, column="delay", max_value=600),
    expectation(MAXIMUM, column="delay", max_value=900),
    expectation(UNIQUE, column="origin"),
    expectation(UNIQUE, column="origin", mostly=0.3),
    expectation(COUNT, min_value=1, max_value=3),
    expectation(MAXIMUM, column="nowhere", max_value=1),
    SPOILT,
    expectation("expect_compound_columns_to_be_unique", column_list=["origin", "delay"]),
    expectation("expect_column_to_exist", column="delay"),
]


@pytest.fixture(scope="module")
def panes(spark: SparkSession) -> DataFrame:
    rows = [("EWR", 10.0), ("EWR", 812.5), ("JFK", None), (None, 30.0)]
    return spark.createDataFrame(rows, "origin STRING, delay DOUBLE").coalesce(1).cache()


@pytest.fixture(scope="module")
def results(panes: DataFrame) -> tuple[Result, ...]:
    return validate(panes, ASKED)


def test_results_come_in_the_order_of_the_expectations(results: tuple[Result, ...]) -> None:
    assert [result.expectation for result in results] == ASKED


def test_each_result_says_what_was_observed(results: tuple[Result, ...]) -> None:
    spoilt = ASKED.index(SPOILT)
    assert not results[spoilt].success
    # Spark words it in one way where it compiles the pattern itself, and in another where Java does.
    assert re.match(
        r"could not be computed: .*(PatternSyntaxException|\[INVALID_PARAMETER_VALUE.PATTERN\])",
        results[spoilt].observed,
    )
    assert [(result.success, result.observed) for result in results if result.expectation != SPOILT] == [
        (False, "812.5"),
        (True, "812.5"),
        (False, "2 of 3 rows (66.7 %) unexpected"),
        (True, "2 of 3 rows (66.7 %) unexpected"),
        (False, "4"),
        (False, 'could not be computed: Error: The column "nowhere" in BatchData does not exist.'),
        (True, "0 of 4 rows (0 %) unexpected"),
        (True, "as expected"),
    ]


def test_rows_are_counted_where_rows_are_asked_about(results: tuple[Result, ...]) -> None:
    assert (results[2].counted, results[2].unexpected_count) == (3, 2)
    assert results[2].samples == ("EWR", "EWR")
    assert (results[0].counted, results[0].unexpected_count) == (None, None)


def test_no_more_than_ten_samples_are_kept(spark: SparkSession) -> None:
    twice = spark.range(24).selectExpr("id % 12 AS id")
    (result,) = validate(twice, [expectation(UNIQUE, column="id")])
    assert result.unexpected_count == 24
    assert len(result.samples) == 10


def test_of_an_empty_batch_no_value_can_be_wrong_but_its_size_and_columns_can(panes: DataFrame) -> None:
    found = validate(panes.where("false"), ASKED)
    assert [result.success for result in found] == [True, True, True, True, False, False, True, True, True]
    assert found[0].observed == "no rows to look at"


def test_values_that_are_all_null_are_not_an_empty_batch(panes: DataFrame) -> None:
    (result,) = validate(panes.where("delay IS NULL"), ASKED[:1])
    assert not result.success


@pytest.mark.parametrize(
    ("bound", "fits"),
    [
        ("2013-01-31T12:00:00Z", True),
        ("2013-01-31T11:59:59Z", False),
        ("2013-01-31 06:00:00-06:00", True),
        ("9999-12-31 23:59:59", True),
        ("0001-01-01", False),
        (date(2013, 2, 1), True),
        (date(2013, 1, 31), False),
        (datetime(2013, 1, 31, 12), True),  # noqa: DTZ001 - as YAML reads one without a zone
    ],
)
def test_an_instant_is_held_to_bounds_that_are_instants(
    spark: SparkSession, bound: object, fits: bool
) -> None:
    rows = spark.sql(
        "SELECT TIMESTAMP '2013-01-31 12:00:00' AS at, TIMESTAMP_NTZ '2013-01-31 12:00:00' AS here"
    )
    for column in ("at", "here"):
        (result,) = validate(rows, [expectation(MAXIMUM, column=column, max_value=bound)])
        assert result.success is fits, result.observed


def test_instants_are_told_in_utc_wherever_the_machine_stands(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In New York 05:45 and 06:00 of that day are 01:45 and 01:00, for clocks were put back between them."""
    rows = spark.sql(
        "SELECT explode(array(TIMESTAMP '2024-11-03 05:45:00', TIMESTAMP '2024-11-03 06:00:00')) AS at"
    )
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        (found,) = validate(rows, [expectation(MAXIMUM, column="at", max_value="2024-11-03T05:50:00Z")])
        assert (found.success, found.observed) == (False, "2024-11-03 06:00:00")
        assert time.tzname[0] == "EST"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_quantiles_are_held_to_their_bounds(panes: DataFrame) -> None:
    """Great Expectations says of these in numpy's words whether they are."""
    ranges = [{"quantiles": [0.5], "value_ranges": [[20, high]]} for high in (40, 25)]
    name = "expect_column_quantile_values_to_be_between"
    asked = [expectation(name, column="delay", quantile_ranges=it) for it in ranges]
    assert [it.success for it in validate(panes, asked)] == [True, False]


def test_of_rows_that_there_are_not_nothing_is_wrong(panes: DataFrame) -> None:
    """As of an empty batch; values that are all null are another thing."""

    def where(condition: str, **bounds: float) -> Expectation:
        return expectation(
            MAXIMUM, column="delay", row_condition=condition, condition_parser="spark", **bounds
        )

    asked = [
        where("origin = 'BOS'", max_value=1),
        where("origin = 'EWR'", max_value=1),
        where("origin = 'EWR'", max_value=900),
        where("origin = 'JFK'", max_value=1),
        expectation(MAXIMUM, column="delay", max_value=1),
    ]
    results = validate(panes, asked)
    assert [it.success for it in results] == [True, False, True, False, False]
    assert results[0].observed == observed_share(0, 0)
    (spoilt,) = validate(panes, [where("nowhere = 1", max_value=1)])
    assert not spoilt.success and "could not be computed" in spoilt.observed


def test_where_nothing_is_expected_nothing_is_looked_at(panes: DataFrame) -> None:
    assert validate(panes, []) == ()


def test_nothing_is_printed_or_logged(
    panes: DataFrame, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        validate(panes, [expectation(MAXIMUM, column="nowhere", max_value=1)])
    written = capfd.readouterr()
    assert (written.out, written.err) == ("", "")
    assert [record for record in caplog.records if record.name.startswith("great_expectations")] == []


def shown(panes: DataFrame, result: Result) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in sample_rows(panes, result).collect())


def test_the_rows_beyond_a_bound_show_why_an_extreme_failed(
    panes: DataFrame, results: tuple[Result, ...]
) -> None:
    assert shown(panes, results[0]) == [("EWR", 812.5)]


def test_the_rows_with_named_values_show_why_another_failed(
    panes: DataFrame, results: tuple[Result, ...]
) -> None:
    assert shown(panes, results[2]) == [("EWR", 10.0), ("EWR", 812.5)]


def test_the_rows_that_break_a_row_rule_show_why_it_failed(panes: DataFrame) -> None:
    rule = expectation("expect_column_values_to_not_be_null", column="origin")
    (result,) = validate(panes, [rule])
    assert shown(panes, result) == [(None, 30.0)]


def test_where_nothing_points_at_rows_the_first_ones_are_shown(
    panes: DataFrame, results: tuple[Result, ...]
) -> None:
    assert len(sample_rows(panes, results[4]).collect()) == 4
    many = panes.crossJoin(panes)
    assert len(sample_rows(many.toDF("a", "b", "c", "d"), results[4]).collect()) == 10
