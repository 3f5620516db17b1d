"""A compiled row rule counts what Great Expectations counts, row by row rule, on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.checks.conditions import EXPECTED
from pipelines.checks.expectation import Expectation, freeze
from pipelines.checks.predicates import compile_rule
from pipelines.checks.results import Result, result_of_counts
from pipelines.checks.validate import validate

pytestmark = pytest.mark.spark

NAN = float("nan")
SCHEMA = """n INT, other BIGINT, x DOUBLE, price DECIMAL(10, 2), code STRING, again STRING, at TIMESTAMP,
    day DATE"""


def instant(hour: int) -> datetime:
    return datetime(2013, 1, 1, hour, tzinfo=UTC)


ROWS = [
    (1, 2, 0.1, Decimal("0.10"), "EWR", "EWR", instant(0), date(2013, 1, 1)),
    (2, 2, NAN, Decimal("1.00"), "JFK", "LGA", instant(12), date(2013, 1, 2)),
    (3, None, 2.5, None, None, "JFK", None, None),
    (None, 4, None, Decimal("2.50"), "", None, instant(23), date(2012, 12, 31)),
    (None, None, None, None, None, None, None, None),
    (-5, 5, float("-inf"), Decimal("-1.00"), "E", "E", instant(6), date(2013, 1, 3)),
    (3, 3, float("inf"), Decimal("9.99"), "jfk", "JFK", instant(12), date(2013, 1, 1)),
    (2, -2, 1.0, Decimal("0.10"), "EWR1", "EWR2", instant(1), date(2014, 1, 1)),
]

BETWEEN = "expect_column_values_to_be_between"
LENGTHS = "expect_column_value_lengths_to_be_between"
GREATER = "expect_column_pair_values_a_to_be_greater_than_b"
EQUAL = "expect_column_pair_values_to_be_equal"
SUM = "expect_multicolumn_sum_to_equal"
DIFFERENT = "expect_select_column_values_to_be_unique_within_record"
IN_SQL = {"condition_parser": "spark"}

CASES: list[tuple[str, dict[str, object]]] = [
    ("expect_column_values_to_not_be_null", {"column": "n"}),
    ("expect_column_values_to_not_be_null", {"column": "n", "mostly": 0.75}),
    ("expect_column_values_to_not_be_null", {"column": "n", "mostly": 0.76}),
    ("expect_column_values_to_not_be_null", {"column": "x", "row_condition": "n > 0", **IN_SQL}),
    ("expect_column_values_to_be_null", {"column": "price"}),
    ("expect_column_values_to_be_null", {"column": "price", "mostly": 0.25}),
    ("expect_column_values_to_be_in_set", {"column": "at", "value_set": [instant(0), instant(12)]}),
    ("expect_column_values_to_be_in_set", {"column": "day", "value_set": [date(2013, 1, 1)]}),
    (BETWEEN, {"column": "n", "min_value": 1}),
    (BETWEEN, {"column": "n", "min_value": 1, "strict_min": True}),
    (BETWEEN, {"column": "n", "max_value": 3}),
    (BETWEEN, {"column": "n", "max_value": 3, "strict_max": True}),
    (BETWEEN, {"column": "n", "min_value": 1, "max_value": 3, "strict_min": True, "strict_max": True}),
    (BETWEEN, {"column": "n", "min_value": 1, "max_value": 2, "mostly": 0.5}),
    (BETWEEN, {"column": "n", "min_value": 1, "max_value": 2, "mostly": 0.51}),
    (BETWEEN, {"column": "n", "min_value": 1, "row_condition": "other > 0", **IN_SQL}),
    (BETWEEN, {"column": "x", "min_value": 0.1}),
    (BETWEEN, {"column": "x", "max_value": 1}),
    (BETWEEN, {"column": "price", "min_value": 0.1, "max_value": 2.5}),
    (BETWEEN, {"column": "at", "min_value": "2013-01-01T06:00:00+00:00"}),
    (BETWEEN, {"column": "at", "max_value": instant(12), "strict_max": True}),
    (BETWEEN, {"column": "day", "min_value": "2013-01-01", "max_value": date(2013, 1, 2)}),
    ("expect_column_values_to_be_in_set", {"column": "code", "value_set": ["EWR", "JFK"]}),
    ("expect_column_values_to_be_in_set", {"column": "code", "value_set": ["EWR", None]}),
    ("expect_column_values_to_be_in_set", {"column": "n", "value_set": [1, 2, 3], "mostly": 0.8}),
    ("expect_column_values_to_be_in_set", {"column": "n", "value_set": []}),
    ("expect_column_values_to_be_in_set", {"column": "x", "value_set": [0.1, 2.5]}),
    ("expect_column_values_to_not_be_in_set", {"column": "code", "value_set": ["EWR", ""]}),
    ("expect_column_values_to_not_be_in_set", {"column": "code", "value_set": ["EWR", None]}),
    ("expect_column_values_to_match_regex", {"column": "code", "regex": "^[A-Z]{3}$"}),
    ("expect_column_values_to_match_regex", {"column": "code", "regex": "(?i)jfk", "mostly": 0.3}),
    ("expect_column_values_to_not_match_regex", {"column": "code", "regex": "^E"}),
    ("expect_column_values_to_match_regex_list", {"column": "code", "regex_list": ["^E", "^J"]}),
    (
        "expect_column_values_to_match_regex_list",
        {"column": "code", "regex_list": ["^E", "R$"], "match_on": "all"},
    ),
    ("expect_column_values_to_not_match_regex_list", {"column": "code", "regex_list": ["^E", "^J"]}),
    (LENGTHS, {"column": "code", "min_value": 3, "max_value": 3}),
    (LENGTHS, {"column": "code", "min_value": 1, "strict_min": True}),
    ("expect_column_value_lengths_to_equal", {"column": "code", "value": 3}),
    (GREATER, {"column_A": "n", "column_B": "other"}),
    (GREATER, {"column_A": "other", "column_B": "n", "or_equal": True}),
    (GREATER, {"column_A": "x", "column_B": "n", "or_equal": True, "ignore_row_if": "neither"}),
    (
        GREATER,
        {"column_A": "n", "column_B": "other", "ignore_row_if": "either_value_is_missing", "mostly": 0.2},
    ),
    (GREATER, {"column_A": "n", "column_B": "other", "row_condition": "code IS NOT NULL", **IN_SQL}),
    (EQUAL, {"column_A": "code", "column_B": "again"}),
    (EQUAL, {"column_A": "code", "column_B": "again", "ignore_row_if": "neither"}),
    (EQUAL, {"column_A": "code", "column_B": "again", "ignore_row_if": "either_value_is_missing"}),
    (
        "expect_column_pair_values_to_be_in_set",
        {
            "column_A": "code",
            "column_B": "again",
            "value_pairs_set": [["EWR", "EWR"], ["JFK", "LGA"], ["", None]],
        },
    ),
    ("expect_multicolumn_values_to_be_equal", {"column_list": ["code", "again"]}),
    ("expect_multicolumn_values_to_be_equal", {"column_list": ["n", "other", "x"], "ignore_row_if": "never"}),
    (SUM, {"column_list": ["n", "other"], "sum_total": 4}),
    (SUM, {"column_list": ["n", "x"], "sum_total": 1.1, "ignore_row_if": "any_value_is_missing"}),
    (SUM, {"column_list": ["n", "price"], "sum_total": 2.1, "mostly": 0.1}),
    (DIFFERENT, {"column_list": ["n", "other", "x"]}),
    (DIFFERENT, {"column_list": ["code", "again"], "ignore_row_if": "any_value_is_missing"}),
]


def expectation(name: str, arguments: dict[str, object]) -> Expectation:
    frozen = tuple((argument, freeze(value)) for argument, value in arguments.items())
    return Expectation(stage="events", name=name, arguments=frozen)


RULES = [expectation(name, arguments) for name, arguments in CASES]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA).repartition(2).cache()


@pytest.fixture(scope="module")
def told(events: DataFrame) -> dict[Expectation, Result]:
    return {result.expectation: result for result in validate(events, RULES)}


@pytest.fixture(scope="module")
def counted(events: DataFrame) -> dict[Expectation, Result]:
    return judge(events, RULES)


def judge(events: DataFrame, rules: Sequence[Expectation]) -> dict[Expectation, Result]:
    """Count compiled rules in one pass."""
    compiled = [compile_rule(rule) for rule in rules]
    counts = events.agg(
        *[F.count_if(rule.counted) for rule in compiled if rule is not None],
        *[F.count_if(rule.unexpected) for rule in compiled if rule is not None],
    ).collect()[0]
    pairs = zip(counts[: len(rules)], counts[len(rules) :], strict=True)
    return {
        rule: result_of_counts(rule, of, unexpected=unexpected)
        for rule, (of, unexpected) in zip(rules, pairs, strict=True)
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.rule} {rule.argument('mostly') or ''}")
def test_a_compiled_rule_finds_what_great_expectations_finds(
    rule: Expectation, told: dict[Expectation, Result], counted: dict[Expectation, Result]
) -> None:
    ours, theirs = counted[rule], told[rule]
    assert (ours.success, ours.counted, ours.unexpected_count, ours.observed) == (
        theirs.success,
        theirs.counted,
        theirs.unexpected_count,
        theirs.observed,
    )


def test_the_cases_cover_every_row_rule() -> None:
    assert {rule.name for rule in RULES} == set(EXPECTED)


def test_the_cases_would_tell_a_rule_that_counts_nulls(
    events: DataFrame, told: dict[Expectation, Result]
) -> None:
    rule = expectation(BETWEEN, {"column": "n", "min_value": 1})
    compiled = compile_rule(rule)
    assert compiled is not None
    with_nulls = events.agg(F.count_if(compiled.counted | F.col("n").isNull())).collect()[0][0]
    assert with_nulls != told[rule].counted


def test_conditions_are_never_null_and_only_a_counted_row_is_unexpected(events: DataFrame) -> None:
    wrong = []
    for rule in RULES:
        compiled = compile_rule(rule)
        assert compiled is not None
        has_null = compiled.counted.isNull() | compiled.unexpected.isNull()
        wrong.append(F.count_if(has_null | (compiled.unexpected & ~compiled.counted)).alias(rule.rule))
    assert set(events.agg(*wrong).collect()[0]) == {0}


@pytest.mark.parametrize("bound", [10**26, 10**60])
def test_a_bound_may_be_beyond_what_a_long_or_a_decimal_holds(spark: SparkSession, bound: int) -> None:
    rows = spark.sql("SELECT CAST('90000000000000000000000000' AS DECIMAL(38, 0)) AS n")
    for argument, unexpected in (("max_value", 0), ("min_value", 1)):
        rule = compile_rule(expectation(BETWEEN, {"column": "n", argument: bound}))
        assert rule is not None and rows.where(rule.unexpected).count() == unexpected


def test_what_is_not_told_of_each_row_is_not_compiled() -> None:
    largest = expectation("expect_column_max_to_be_between", {"column": "n", "max_value": 1})
    assert compile_rule(largest) is None
    assert compile_rule(expectation("expect_column_values_to_be_unique", {"column": "n"})) is None


def test_only_a_rule_that_says_so_quarantines(spark: SparkSession) -> None:
    arguments = (("column", "n"),)
    taking = Expectation(
        stage="events",
        name="expect_column_values_to_not_be_null",
        arguments=arguments,
        on_failure="quarantine",
    )
    compiled = compile_rule(taking)
    assert compiled is not None
    assert compiled.quarantines
    assert compiled.name == "expect_column_values_to_not_be_null(n)"
