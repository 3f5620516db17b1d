"""The documented errors of the approximate operations, over states that were combined."""

from __future__ import annotations

from collections import Counter
from math import sqrt

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from pipelines.aggregates import are_alike
from pipelines.aggregates.frequent import TRACKED
from tests.aggregates.states import aggregate, results, states

VALUES = 30_000
Q = (0.01, 0.25, 0.5, 0.9, 0.99)
ASKED = [
    aggregate("values", "approx_distinct", "value"),
    aggregate("ranks", "approx_quantile", "value", q=Q),
    aggregate("frequent", "approx_top_k", "word", k=5),
]


def word_of(number: int) -> int:
    """Half of the rows have one of ten words, the others one of some nine thousand."""
    return number % 10 if number % 2 else 10 + number * 7 % 9000


@pytest.fixture(scope="module")
def result(spark: SparkSession) -> Row:
    number = F.col("id")
    word = F.when(number % 2 == 1, number % 10).otherwise(10 + number * 7 % 9000)
    events = spark.range(VALUES).select(
        "id", F.lit("a").alias("key"), number.alias("at"), number.alias("value"), word.alias("word")
    )
    (row,) = results(states(events, ASKED, parts=8), ASKED).collect()
    return row


def test_distinct_values_are_counted_within_four_standard_errors(result: Row) -> None:
    assert abs(result["values"] - VALUES) <= 4 * 1.04 / sqrt(4096) * VALUES


def test_the_rank_of_a_quantile_is_within_two_hundredths(result: Row) -> None:
    """1.33 % at 99 % confidence for each: 2 % for all five, as often as not to be seen."""
    assert [abs(found / VALUES - q) < 0.02 for found, q in zip(result["ranks"], Q, strict=True)] == [True] * 5


def test_a_count_is_never_too_high_and_too_low_by_no_more_than_its_share(result: Row) -> None:
    true = Counter(map(word_of, range(VALUES)))
    assert len(true) < TRACKED or len(true) > TRACKED
    for item, count in result["frequent"]:
        assert true[item] - VALUES / (TRACKED + 1) <= count <= true[item]
    assert {item for item, _ in result["frequent"]} == {1, 3, 5, 7, 9}


def test_two_sketches_of_the_same_values_are_alike_and_of_others_are_not(spark: SparkSession) -> None:
    asked = [aggregate("ranks", "approx_quantile", "value", q=0.5)]

    def state(shift: int, name: str):
        events = spark.range(5000).select(
            "id",
            F.lit("a").alias("key"),
            F.col("id").alias("at"),
            (F.col("id") % 4999 + shift).alias("value"),
        )
        return states(events, asked, parts=1).select(F.col("ranks__sketch").alias(name))

    one, again, other = state(0, "one"), state(0, "again"), state(1, "other")
    kind = one.schema["one"].dataType
    row = one.crossJoin(again).crossJoin(other).select(
        are_alike(F.col("one"), F.col("again"), kind=kind), are_alike(F.col("one"), F.col("other"), kind=kind)
    )  # fmt: skip
    assert tuple(row.first()) == (True, False)
