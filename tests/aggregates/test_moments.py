"""Moments are right to 1e-9 relative near 1e9 with unit spread, however many states they were combined of."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from math import isnan, sqrt

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from tests.aggregates.states import aggregate, combined, results, states

ERROR = 1e-9
AGGREGATES = [
    *[aggregate(f"{op}_{of}", op, of)
      for op in ("variance", "variance_pop", "stddev", "stddev_pop", "skewness", "kurtosis")
      for of in ("x", "money", "whole")],
    *[aggregate(op, op, "y", by="x") for op in ("covariance", "correlation", "linear_trend")],
]  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> list[tuple[float, float, Decimal, int]]:
    generator = random.Random(1)
    xs = [1e9 + generator.expovariate(1.0) for _ in range(400)]
    return [
        (x, 1e9 + 0.5 * (x - 1e9) + generator.random(), Decimal(x).quantize(Decimal("0.0001")), int(x * 4))
        for x in xs
    ]


@pytest.fixture(scope="module")
def result(spark: SparkSession, rows: list[tuple[float, float, Decimal, int]]) -> Row:
    """Of forty states, combined by fours and then all."""
    numbered = [(number, "a", 0, *row) for number, row in enumerate(rows)]
    schema = "id BIGINT, key STRING, at BIGINT, x DOUBLE, y DOUBLE, money DECIMAL(18,4), whole BIGINT"
    partials = states(spark.createDataFrame(numbered, schema), AGGREGATES, parts=40)
    some = combined(partials.withColumn("part", F.pmod("part", F.lit(10))), AGGREGATES, "key", "part")
    (row,) = results(some, AGGREGATES).collect()
    return row


def power(values: list[Fraction], exponent: int) -> Fraction:
    mean = sum(values) / len(values)
    return sum((value - mean) ** exponent for value in values)


def exact(op: str, values: list[Fraction]) -> float:
    rows, square = len(values), power(values, 2)
    match op:
        case "variance":
            return float(square / (rows - 1))
        case "variance_pop":
            return float(square / rows)
        case "stddev":
            return sqrt(square / (rows - 1))
        case "stddev_pop":
            return sqrt(square / rows)
        case "skewness":
            return sqrt(rows) * float(power(values, 3)) / float(square) ** 1.5
        case _:
            return float(rows * power(values, 4) / square**2) - 3


@pytest.mark.parametrize("op", ["variance", "variance_pop", "stddev", "stddev_pop", "skewness", "kurtosis"])
@pytest.mark.parametrize(("of", "place"), [("x", 0), ("money", 2), ("whole", 3)])
def test_a_moment_is_right(
    rows: list[tuple[float, float, Decimal, int]], result: Row, op: str, of: str, place: int
) -> None:
    wanted = exact(op, [Fraction(row[place]) for row in rows])
    assert abs(result[f"{op}_{of}"] - wanted) <= ERROR * abs(wanted)


@pytest.mark.parametrize("op", ["covariance", "correlation", "linear_trend"])
def test_a_comoment_is_right(rows: list[tuple[float, float, Decimal, int]], result: Row, op: str) -> None:
    xs, ys = ([Fraction(row[place]) for row in rows] for place in (0, 1))
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    product = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    wanted = {
        "covariance": float(product / (len(xs) - 1)),
        "correlation": float(product) / sqrt(power(xs, 2) * power(ys, 2)),
        "linear_trend": float(product / power(xs, 2)),
    }[op]
    assert abs(result[op] - wanted) <= ERROR * abs(wanted)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_the_correlation_with_what_is_no_number_is_none_though_the_other_side_is_constant(
    spark: SparkSession, value: float
) -> None:
    rows = spark.createDataFrame(
        [(0, "a", 0, value), (1, "a", 0, 1.0)], "id INT, key STRING, at INT, x DOUBLE"
    )
    asked = [aggregate("c", "correlation", "x", by="1.0D"), aggregate("d", "correlation", "1.0D", by="x")]
    (result,) = results(states(rows, asked, parts=2), asked).collect()
    (own,) = rows.agg(F.expr("corr(x, 1.0D)"), F.expr("corr(1.0D, x)")).collect()
    assert [isnan(it) for it in (*own, result["c"], result["d"])] == [True] * 4


@pytest.mark.parametrize(
    "values", [(1.0, 1.7976931348623157e308), (0.0, 1e160), (3.0, 5.0, 1.7976931348623157e308, 7.0)]
)
def test_a_spread_that_no_double_holds_is_infinite_as_spark_s_own_is(
    spark: SparkSession, values: tuple[float, ...]
) -> None:
    rows = spark.createDataFrame(
        [(number, "a", 0, value) for number, value in enumerate(values)],
        "id INT, key STRING, at INT, x DOUBLE",
    )
    ops = ("variance", "stddev_pop")
    asked = [aggregate(op, op, "x") for op in ops]
    (result,) = results(states(rows, asked, parts=2), asked).collect()
    (own,) = rows.agg(F.expr("var_samp(x)"), F.expr("stddev_pop(x)")).collect()
    assert [result[op] for op in ops] == list(own) == [float("inf")] * 2


def test_the_same_values_in_another_order_make_the_same_bits(spark: SparkSession) -> None:
    asked = [aggregate("v", "variance", "x"), aggregate("c", "covariance", "x", by="x * x")]
    rows = [(number, "a", 0, 1e9 + number / 7) for number in range(50)]
    schema = "id BIGINT, key STRING, at BIGINT, x DOUBLE"
    once, again = (
        states(spark.createDataFrame(order, schema).coalesce(1), asked, parts=1).collect()
        for order in (rows, rows[::-1])
    )
    assert once == again


def test_a_spread_too_small_for_its_powers_is_none(spark: SparkSession) -> None:
    asked = [aggregate("s", "skewness", "x"), aggregate("k", "kurtosis", "x")]
    rows = [(number, "a", 0, number * 1e-120) for number in range(5)]
    states_of = states(
        spark.createDataFrame(rows, "id BIGINT, key STRING, at BIGINT, x DOUBLE"), asked, parts=2
    )
    (result,) = results(states_of, asked).collect()
    assert (result["s"], result["k"]) == (None, None)
