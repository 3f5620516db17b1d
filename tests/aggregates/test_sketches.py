"""The documented errors of the approximate operations, over states that were combined."""

from __future__ import annotations

from collections import Counter
from math import sqrt

import pandas as pd
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from pipelines.aggregates import are_alike, frequent
from pipelines.aggregates.frequent import TRACKED
from tests.aggregates.states import aggregate, results, states

VALUES, SAMPLES = 20_000, 60
Q = (0.01, 0.25, 0.5, 0.9, 0.99)
DISTINCT_ERROR = 1.04 / sqrt(4096)
RANK_ERROR, CONFIDENCE = 0.0133, 0.99
BY_CHANCE = 4
"""How many deviations of what is expected a test allows: such a chance comes once in ten thousand runs."""
ASKED = [
    aggregate("values", "approx_distinct", "value"),
    aggregate("ranks", "approx_quantile", "value", q=Q),
]
WORDS, FREQUENT = 80_000, 10
TOP = [aggregate("frequent", "approx_top_k", "word", k=30)]


def word_of(number: int) -> int:
    """A quarter of the rows have one of ten words, a quarter one of a thousand, the rest one of 20,000."""
    if number % 4 == 3:
        return number // 4 % FREQUENT
    if number % 4 == 2:
        return FREQUENT + number // 4 % 1_000
    return 2_000 + (number // 4 * 2 + number % 4) % 20_000


@pytest.fixture(scope="module")
def sketched(spark: SparkSession) -> list[Row]:
    """The results of many samples, each of so many values that are its own, in an order by chance."""
    number = F.col("id")
    events = spark.range(VALUES * SAMPLES).select(
        F.xxhash64("id").alias("id"),
        F.pmod("id", F.lit(SAMPLES)).cast("string").alias("key"),
        number.alias("at"),
        number.alias("value"),
    )
    return results(states(events, ASKED, parts=8), ASKED).collect()


def test_distinct_values_are_counted_with_the_standard_error_that_is_stated(sketched: list[Row]) -> None:
    """The error of many samples is known to one part in √(2 n)."""
    errors = [row["values"] / VALUES - 1 for row in sketched]
    found = sqrt(sum(error**2 for error in errors) / SAMPLES)
    assert found <= DISTINCT_ERROR * (1 + BY_CHANCE / sqrt(2 * SAMPLES))
    assert max(map(abs, errors)) <= BY_CHANCE * DISTINCT_ERROR
    assert found > DISTINCT_ERROR / 3


def test_the_rank_of_a_quantile_is_as_near_as_is_stated_and_as_often(sketched: list[Row]) -> None:
    ranks = [
        (found // SAMPLES / VALUES, q) for row in sketched for found, q in zip(row["ranks"], Q, strict=True)
    ]
    wrong = sum(abs(rank - q) > RANK_ERROR for rank, q in ranks)
    expected = (1 - CONFIDENCE) * len(ranks)
    assert wrong <= expected + BY_CHANCE * sqrt(expected)
    assert max(abs(rank - q) for rank, q in ranks) > 0


def test_a_count_is_never_too_high_and_too_low_by_no_more_than_its_share(spark: SparkSession) -> None:
    true = Counter(map(word_of, range(WORDS)))
    assert len(true) > 20_000 > TRACKED
    rows = [(number, "a", number, word_of(number)) for number in range(WORDS)]
    events = spark.createDataFrame(pd.DataFrame(rows, columns=["id", "key", "at", "word"]))
    (row,) = results(states(events, TOP, parts=3), TOP).collect()
    found, share = dict(row["frequent"]), WORDS / (TRACKED + 1)
    assert all(true[item] - share <= count <= true[item] for item, count in found.items())
    assert any(count < true[item] for item, count in found.items())
    assert len(found) == 30 and set(range(FREQUENT)) <= set(found)
    left_out = max(count for item, count in true.items() if item not in found)
    assert left_out <= min(found.values()) + share


def test_what_has_no_place_again_and_again_gets_one(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four values have all places; a fifth comes once in each of twelve states that are merged to theirs.

    It may not be missing, for 12 is more than 52 / 5, the error that is stated: the others lose for it.
    """
    monkeypatch.setattr(frequent, "TRACKED", 4)
    (part,) = frequent.approx_top_k(aggregate("it", "approx_top_k", "word", k=4)).parts
    rows = [([(word, 10) for word in range(4)], [(9, 1)])]
    kind = "ARRAY<STRUCT<value: INT, count: BIGINT>>"
    merged = spark.createDataFrame(rows, f"state {kind}, other {kind}")
    for _ in range(12):
        state = part.merge(F.col("state"), F.col("other")).alias("state")
        merged = merged.select(state, "other").localCheckpoint()
    (row,) = merged.collect()
    found = Counter(dict(row["state"]))
    assert 12 - 52 / 5 <= found[9] <= 12
    assert all(10 - 52 / 5 <= found[word] <= 10 for word in range(4))


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
