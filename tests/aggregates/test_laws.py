"""The laws of every operation: however events are split into states, combining and finishing gives the same.

Each law is also tried on a planted operation that breaks it, and has to refuse that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from operator import add

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.aggregates import (
    Operation,
    accumulate_columns,
    combine_columns,
    event_values,
    finish_columns,
    operation_of,
)
from pipelines.aggregates.registry import OPERATIONS
from pipelines.aggregates.sums import COUNT, ROWS
from pipelines.spec.model import Aggregate

EVENTS = [
    ("a", 5, Decimal("1.50"), 0.5),
    ("a", -5, Decimal("-1.50"), -0.5),
    ("a", None, None, None),
    ("a", 2**40, Decimal("0.01"), 1e17),
    ("a", 7, None, 1.0),
    ("b", None, None, None),
    (None, 3, Decimal("2.00"), float("inf")),
]
SCHEMA = "key STRING, whole BIGINT, money DECIMAL(9,2), weight DOUBLE"
SPLITS = [1, 2, 3, len(EVENTS)]
OF = ("whole", "money")
"""Exact types: what is promised of these is promised to the bit."""


def aggregates_of(name: str) -> list[Aggregate]:
    plain = [Aggregate(name=f"{name}_{of}", op=name, of=of) for of in OF]
    return [*plain, Aggregate(name="some", op=name, of="whole", where="whole > 0")]


def states(events: DataFrame, aggregates: list[Aggregate], *, parts: int) -> DataFrame:
    """The states of the events, dealt into so many parts."""
    values = [value.alias(name) for name, value in event_values(aggregates, F.lit(0)).items()]
    dealt = events.withColumn("part", F.pmod(F.xxhash64("*"), F.lit(parts)))
    return dealt.select("key", "part", *values).groupBy("key", "part").agg(*accumulate_columns(aggregates))


def finished(states_of_parts: DataFrame, aggregates: list[Aggregate]) -> dict[str | None, tuple[object, ...]]:
    combined = states_of_parts.groupBy("key").agg(*combine_columns(aggregates, states_of_parts.schema))
    results = combined.select("key", *finish_columns(aggregates, combined.schema), "event_count")
    return {row[0]: tuple(row[1:]) for row in results.collect()}


def keeps_the_law(spark: SparkSession, name: str) -> bool:
    """Whether all splits, and splits combined twice, finish like the whole."""
    events, aggregates = spark.createDataFrame(EVENTS, SCHEMA), aggregates_of(name)
    whole = finished(states(events, aggregates, parts=1), aggregates)
    split = [finished(states(events, aggregates, parts=parts), aggregates) for parts in SPLITS]
    again = finished(combined_by_twos(states(events, aggregates, parts=5), aggregates), aggregates)
    return all(found == whole for found in (*split, again))


def combined_by_twos(states_of_parts: DataFrame, aggregates: list[Aggregate]) -> DataFrame:
    pairs = states_of_parts.withColumn("part", F.pmod("part", F.lit(2)))
    return pairs.groupBy("key", "part").agg(*combine_columns(aggregates, states_of_parts.schema))


@contextmanager
def planted(operation: Operation) -> Iterator[str]:
    OPERATIONS["planted"] = operation
    try:
        yield "planted"
    finally:
        del OPERATIONS["planted"]


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_combining_any_split_finishes_like_the_whole(spark: SparkSession, name: str) -> None:
    assert keeps_the_law(spark, name)


def test_an_operation_whose_parts_do_not_add_up_is_refused(spark: SparkSession) -> None:
    forgetful = replace(COUNT, parts=(replace(ROWS, combine=lambda states, over: over(F.max(states))),))
    with planted(forgetful) as name:
        assert not keeps_the_law(spark, name)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_deduct_undoes_merge_wherever_it_is_there(spark: SparkSession, name: str) -> None:
    aggregate = Aggregate(name="it", op=name, of="whole")
    events = spark.createDataFrame(EVENTS, SCHEMA).where("key = 'a'")
    one = states(events.where("whole > 0"), [aggregate], parts=1)
    other = states(events.where("whole < 0"), [aggregate], parts=1)
    for part in operation_of(aggregate).parts:
        if part.deduct is not None:
            x, y = F.lit(one.first()[f"it__{part.name}"]), F.lit(other.first()[f"it__{part.name}"])
            assert spark.range(1).select(part.deduct(part.merge(x, y), x) == y).first()[0]


def test_what_cannot_deduct_has_no_deduct() -> None:
    able = {name for name, operation in OPERATIONS.items() if all(part.deduct for part in operation.parts)}
    assert able == {"count", "sum", "avg"}


def test_a_sum_of_no_values_is_null_and_a_sum_of_zero_is_zero(spark: SparkSession) -> None:
    aggregate = [Aggregate(name="total", op="sum", of="whole")]
    rows = [("none", None), ("zero", 5), ("zero", -5)]
    events = spark.createDataFrame(rows, "key STRING, whole BIGINT")
    assert finished(states(events, aggregate, parts=2), aggregate) == {"none": (None, 1), "zero": (0, 2)}


def test_the_sum_of_longs_fails_on_overflow(spark: SparkSession) -> None:
    aggregate = [Aggregate(name="total", op="sum", of="whole")]
    events = spark.createDataFrame([("a", 2**63 - 1), ("a", 1)], "key STRING, whole BIGINT")
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        finished(states(events, aggregate, parts=1), aggregate)


def test_an_average_has_the_type_of_sparks_own(spark: SparkSession) -> None:
    events = spark.createDataFrame(EVENTS, SCHEMA)
    aggregates = [Aggregate(name=of, op="avg", of=of) for of in ("whole", "money", "weight")]
    ours = states(events, aggregates, parts=2)
    results = ours.select(*finish_columns(aggregates, ours.schema)).schema
    assert results == events.select(*[F.avg(of).alias(of) for of in ("whole", "money", "weight")]).schema


def test_merging_adds_what_combining_adds() -> None:
    assert [part.merge for part in COUNT.parts] == [add]
