"""Every operation over the same rows as Spark's own aggregate, or as plain Python where Spark has none."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.aggregates.states import aggregate, by_key, results, states

NAN, INF = float("nan"), float("inf")
SCHEMA = "id BIGINT, key STRING, at BIGINT, whole BIGINT, money DECIMAL(9,2), weight DOUBLE, word STRING"
ROWS = [
    ("plain", 5, 3, "1.50", 0.5, "b"),
    ("plain", 1, -4, "-2.25", 2.5, "a"),
    ("plain", 9, 3, "0.00", -1.25, None),
    ("plain", 1, None, "1.50", 2.5, "c"),
    ("plain", 9, 12, None, None, "a"),
    ("plain", 4, 7, "3.10", 0.0, "b"),
    ("nan", 1, 1, "1.00", NAN, "x"),
    ("nan", 2, 2, "2.00", 1.0, "y"),
    ("nan", 3, 1, "2.00", NAN, "z"),
    ("infinite", 1, 1, "1.00", INF, "x"),
    ("infinite", 2, 5, "4.00", 1.0, "y"),
    ("both infinite", 1, 1, "1.00", INF, "x"),
    ("both infinite", 2, 7, "5.00", -INF, "y"),
    ("one infinite", 1, 1, "1.00", -INF, "x"),
    ("lost in the sum", 1, 1, "1.00", 1e17, "x"),
    ("lost in the sum", 2, 2, "2.00", 1.0, "y"),
    ("lost in the sum", 3, 4, "2.00", -1e17, "z"),
    ("one", 7, 5, "5.00", 5.0, "five"),
    ("none", 7, None, None, None, None),
]

SPARKS_OWN = {
    "rows": (("count", "*", {}), "count(1)"),
    "counted": (("count", "weight", {}), "count(weight)"),
    "total": (("sum", "whole", {}), "sum(whole)"),
    "cost": (("sum", "money", {}), "sum(money)"),
    "mean": (("avg", "whole", {}), "avg(whole)"),
    "mean_cost": (("avg", "money", {}), "avg(money)"),
    "lightest": (("min", "weight", {}), "min(weight)"),
    "heaviest": (("max", "weight", {}), "max(weight)"),
    "last_word": (("max", "word", {}), "max(word)"),
    "var_whole": (("variance", "whole", {}), "var_samp(whole)"),
    "var_money": (("variance_pop", "money", {}), "var_pop(money)"),
    "var_weight": (("variance", "weight", {}), "var_samp(weight)"),
    "var_pop_weight": (("variance_pop", "weight", {}), "var_pop(weight)"),
    "std_weight": (("stddev", "weight", {}), "stddev_samp(weight)"),
    "std_pop_weight": (("stddev_pop", "weight", {}), "stddev_pop(weight)"),
    "skew_weight": (("skewness", "weight", {}), "skewness(weight)"),
    "skew_whole": (("skewness", "whole", {}), "skewness(whole)"),
    "kurt_whole": (("kurtosis", "whole", {}), "kurtosis(whole)"),
    "covar": (("covariance", "whole", {"by": "money"}), "covar_samp(whole, money)"),
    "covar_weight": (("covariance", "weight", {"by": "whole"}), "covar_samp(weight, whole)"),
    "correlated": (("correlation", "whole", {"by": "money"}), "corr(whole, money)"),
    "slope": (("linear_trend", "whole", {"by": "money"}), "regr_slope(whole, money)"),
    "word_of_least": (("min_by", "word", {"by": "weight * 2 + whole"}), "min_by(word, weight * 2 + whole)"),
    "word_of_heaviest": (("max_by", "word", {"by": "weight + whole"}), "max_by(word, weight + whole)"),
    "some": (("any", "whole > 6", {}), "bool_or(whole > 6)"),
    "every": (("all", "whole > 0", {}), "bool_and(whole > 0)"),
    "common": (("bit_and", "whole", {}), "bit_and(whole)"),
    "joint": (("bit_or", "whole", {}), "bit_or(whole)"),
    "odd": (("bit_xor", "whole", {}), "bit_xor(whole)"),
    "short_odd": (("bit_xor", "cast(whole AS SMALLINT)", {}), "bit_xor(cast(whole AS SMALLINT))"),
    "words": (("distinct", "word", {}), "count(DISTINCT word)"),
    "weights": (("distinct", "weight", {}), "count(DISTINCT weight)"),
    "set": (("collect_set", "word", {}), "sort_array(collect_set(word))"),
    "near_words": (("approx_distinct", "word", {}), "approx_count_distinct(word)"),
    "near_weights": (("approx_distinct", "weight", {}), "approx_count_distinct(weight)"),
    "some_cost": (("sum", "money", {"where": "whole > 0"}), "sum(money) FILTER (WHERE whole > 0)"),
}  # fmt: skip

PYTHON = {
    "first": (("first", "word", {}), ["a", "x", "x", "x", "x", "x", "five", None]),
    "last": (("last", "word", {}), ["a", "z", "y", "y", "x", "z", "five", None]),
    "last_whole": (("last", "whole", {}), [12, 1, 5, 7, 1, 4, 5, None]),
    "top": (("top", "weight", {"n": 2}), [
        [2.5, 2.5], [NAN, NAN], [INF, 1.0], [INF, -INF], [-INF], [1e17, 1.0], [5.0], []
    ]),
    "bottom": (("bottom", "weight", {"n": 2}), [
        [-1.25, 0.0], [1.0, NAN], [1.0, INF], [-INF, INF], [-INF], [-1e17, 1.0], [5.0], []
    ]),
    "histogram": (("histogram", "weight", {}), [
        {-1.25: 1, 0.0: 1, 0.5: 1, 2.5: 2}, None, {1.0: 1, INF: 1}, {-INF: 1, INF: 1}, {-INF: 1},
        {1e17: 1, 1.0: 1, -1e17: 1}, {5.0: 1}, {},
    ]),
    "list": (("collect_list", "word", {}), [
        ["a", "c", "b", "b", "a"], ["x", "y", "z"], ["x", "y"], ["x", "y"], ["x"], ["x", "y", "z"],
        ["five"], [],
    ]),
    "words_in": (("collect_list", "word", {"where": "whole > 3"}), [
        ["b", "a"], [], ["y"], ["y"], [], ["z"], ["five"], []
    ]),
    "median": (("approx_quantile", "whole", {"q": 0.5}), [3.0, 1.0, 1.0, 1.0, 1.0, 2.0, 5.0, None]),
    "quartiles": (("approx_quantile", "money", {"q": (0.0, 1.0)}), [
        [-2.25, 3.1], [1.0, 2.0], [1.0, 4.0], [1.0, 5.0], [1.0, 1.0], [1.0, 2.0], [5.0, 5.0], None
    ]),
    "frequent": (("approx_top_k", "word", {"k": 2}), [
        [("a", 2), ("b", 2)], [("x", 1), ("y", 1)], [("x", 1), ("y", 1)], [("x", 1), ("y", 1)], [("x", 1)],
        [("x", 1), ("y", 1)], [("five", 1)], [],
    ]),
}  # fmt: skip

KEYS = ["plain", "nan", "infinite", "both infinite", "one infinite", "lost in the sum", "one", "none"]
ASKED = {**SPARKS_OWN, **PYTHON}
AGGREGATES = [aggregate(name, op, of, **options) for name, ((op, of, options), _) in ASKED.items()]


def events(spark: SparkSession) -> DataFrame:
    rows = [
        (number, key, at, whole, None if money is None else Decimal(money), *others)
        for number, (key, at, whole, money, *others) in enumerate(ROWS)
    ]
    return spark.createDataFrame(rows, SCHEMA)


@cache
def found(spark: SparkSession) -> DataFrame:
    """The results over four states of every key, of all aggregates in one pass."""
    return results(states(events(spark), AGGREGATES, parts=4), AGGREGATES).cache()


@cache
def sparks_own(spark: SparkSession) -> DataFrame:
    own = [F.expr(sql).alias(name) for name, (_, sql) in SPARKS_OWN.items()]
    return events(spark).groupBy("key").agg(*own).cache()


def same(one: object, other: object) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return (
            one == other or (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-12)
        )
    return one == other and type(one) is type(other)


@pytest.mark.parametrize("name", SPARKS_OWN)
def test_an_operation_gives_what_sparks_own_gives(spark: SparkSession, name: str) -> None:
    ours, own = by_key(found(spark)), by_key(sparks_own(spark))
    unlike = {
        key: (ours[key][name], own[key][name]) for key in KEYS if not same(ours[key][name], own[key][name])
    }
    assert unlike == {}
    assert (
        found(spark).schema[name].dataType.simpleString()
        == sparks_own(spark).schema[name].dataType.simpleString()
    )


@pytest.mark.parametrize("name", PYTHON)
def test_an_operation_gives_what_plain_python_gives(spark: SparkSession, name: str) -> None:
    ours = by_key(found(spark))
    unlike = {
        key: (ours[key][name], wanted)
        for key, wanted in zip(KEYS, PYTHON[name][1], strict=True)
        if not (key == "nan" and wanted is None) and not same(ours[key][name], wanted)
    }
    assert unlike == {}


def test_nan_is_one_value_of_a_histogram(spark: SparkSession) -> None:
    histogram = by_key(found(spark))["nan"]["histogram"]
    assert sorted(histogram.values()) == [1, 2] and histogram[1.0] == 1


def test_the_double_sum_of_what_is_lost_is_one_of_those_that_order_allows(spark: SparkSession) -> None:
    asked = [aggregate("total", "sum", "weight")]
    totals = by_key(results(states(events(spark), asked, parts=4), asked))
    assert totals["lost in the sum"]["total"] in (0.0, 1.0)
    assert math.isnan(totals["nan"]["total"]) and math.isnan(totals["both infinite"]["total"])
    assert totals["infinite"]["total"] == INF


@pytest.mark.parametrize(("op", "of", "options"), [
    ("correlation", "5", {"by": "whole"}),
    ("correlation", "whole", {"by": "5"}),
    ("linear_trend", "whole", {"by": "5"}),
    ("skewness", "0.1", {}),
    ("kurtosis", "0.1", {}),
])  # fmt: skip
def test_what_is_not_defined_of_values_that_do_not_vary_is_null(
    spark: SparkSession, op: str, of: str, options: dict[str, str]
) -> None:
    asked = [aggregate("it", op, of, **options)]
    assert by_key(results(states(events(spark), asked, parts=4), asked))["plain"]["it"] is None


def test_the_sum_of_longs_fails_on_overflow(spark: SparkSession) -> None:
    asked = [aggregate("total", "sum", "whole")]
    rows = spark.createDataFrame(
        [(0, "a", 1, 2**63 - 1), (1, "a", 1, 1)], "id INT, key STRING, at BIGINT, whole BIGINT"
    )
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        results(states(rows, asked, parts=1), asked).collect()


def test_the_average_of_decimals_has_room_before_the_point(spark: SparkSession) -> None:
    asked = [aggregate("mean", "avg", "money")]
    rows = [(number, "a", 1, Decimal(10**14 + number)) for number in range(3)]
    frame = spark.createDataFrame(rows, "id INT, key STRING, at BIGINT, money DECIMAL(38,18)")
    whole = results(states(frame, asked, parts=2), asked)
    own = frame.agg(F.avg("money").alias("mean"))
    assert whole.schema["mean"].dataType == own.schema["mean"].dataType
    assert by_key(whole)["a"]["mean"] == own.first()["mean"] == 10**14 + 1


@pytest.mark.parametrize("scale", [0, 1])
def test_the_average_of_decimals_may_be_as_long_as_its_type(spark: SparkSession, scale: int) -> None:
    asked = [aggregate("mean", "avg", "money")]
    longest = Decimal("9876543210987654321098765432109876"[: 34 - scale])
    # Of one row and of several; of both signs, and with a rest.
    values = {"a": [longest], "b": [longest, -2 * longest, 6], "c": [-longest, 0, 1, 1, 1, 1, 1]}
    rows = [(at, key, 1, Decimal(value)) for key, its in values.items() for at, value in enumerate(its)]
    frame = spark.createDataFrame(rows, f"id INT, key STRING, at BIGINT, money DECIMAL(38,{scale})")
    means = by_key(results(states(frame, asked, parts=2), asked))
    with localcontext(prec=50):
        for key, its in values.items():
            assert abs(means[key]["mean"] * len(its) - sum(its)) < Decimal("0.01"), key


@pytest.mark.parametrize(("digits", "scale"), [(9, 2), (25, 10), (28, 18), (30, 4), (38, 10), (38, 18)])
def test_the_average_of_decimals_has_all_of_its_digits(spark: SparkSession, digits: int, scale: int) -> None:
    asked = [aggregate("mean", "avg", "money")]
    # Six places before the point, and as many behind it as there are; sevenths never end.
    some = [Decimal(f"123456.{'7' * scale}"), Decimal(f"-1.{'3' * scale}")]
    some += [Decimal(number).scaleb(-scale) for number in range(-2, 3)]
    rows = [(number, "a", 1, value) for number, value in enumerate(some)]
    frame = spark.createDataFrame(rows, f"id INT, key STRING, at BIGINT, money DECIMAL({digits},{scale})")
    whole = results(states(frame, asked, parts=2), asked)
    own = frame.agg(F.avg("money").alias("mean"))
    assert by_key(whole)["a"]["mean"] == own.first()["mean"]


@pytest.mark.parametrize("scale", [28, 30, 35])
def test_the_sum_of_decimals_keeps_all_digits_after_the_point(spark: SparkSession, scale: int) -> None:
    asked = [aggregate("total", "sum", "money")]
    smallest = Decimal(1).scaleb(-scale)
    rows = [(0, "a", 1, smallest), (1, "a", 1, smallest), (2, "a", 1, None)]
    frame = spark.createDataFrame(rows, f"id INT, key STRING, at BIGINT, money DECIMAL(38,{scale})")
    whole = results(states(frame, asked, parts=2), asked)
    assert whole.schema["total"].dataType == frame.agg(F.sum("money")).schema[0].dataType
    assert by_key(whole)["a"]["total"] == 2 * smallest


def test_states_and_results_may_be_null_within_for_delta_takes_no_others(spark: SparkSession) -> None:
    partials = states(events(spark), AGGREGATES, parts=2)
    for rows in (partials, found(spark)):
        within = [field.dataType.jsonValue() for field in rows.schema]
        assert [
            kind for kind in map(str, within) if "'nullable': False" in kind or "Null': False" in kind
        ] == []
