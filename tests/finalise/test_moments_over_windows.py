"""Moments of windows are right to 1e-9, of values near 1e9 with unit spread, whatever puts frames together.

In sliding windows the states are gathered along blocks, in growing ones along a prefix.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction
from functools import cache

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.aggregates import accumulate_columns, event_values, finish_columns
from pipelines.finalise.cumulated import END, cumulated_states
from pipelines.finalise.parts import START
from pipelines.finalise.planner import Strategy, plan_of
from pipelines.finalise.sliding import sliding_states
from pipelines.spec import Cumulate, Sliding
from tests.aggregates.states import aggregate
from tests.aggregates.test_moments import ERROR, exact, power
from tests.finalise.test_every_operation import parts_of

OF_ONE = ("variance", "variance_pop", "stddev", "stddev_pop", "skewness", "kurtosis")
OF_TWO = ("covariance", "correlation", "linear_trend")
AGGREGATES = [
    *[aggregate(op, op, "x") for op in OF_ONE],
    *[aggregate(op, op, "y", by="x") for op in OF_TWO],
]
SIZE, EVENTS = 40, 150
Events = list[tuple[int, float, float]]


@cache
def happened() -> Events:
    """An event an instant: of them some are missing, and a stretch."""
    chosen = random.Random(2)
    instants = [at for at in range(EVENTS) if chosen.random() < 0.8 and not 70 < at < 90]
    return [(at, 1e9 + chosen.expovariate(1.0), 1e9 + chosen.gauss()) for at in instants]


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> DataFrame:
    """A frame for each instant."""
    events = spark.createDataFrame(happened(), "_frame_us BIGINT, x DOUBLE, y DOUBLE")
    values = [it.alias(name) for name, it in event_values(AGGREGATES, F.col("_frame_us")).items()]
    of_frames = events.select("_frame_us", *values).groupBy("_frame_us")
    return of_frames.agg(*accumulate_columns(AGGREGATES)).localCheckpoint()


@pytest.mark.parametrize("strategy", ["prefix–suffix", "recombine"])
def test_moments_are_right_in_sliding_windows(
    spark: SparkSession, frames: DataFrame, strategy: Strategy
) -> None:
    parts, shape = parts_of(frames, AGGREGATES), Sliding(size_us=SIZE, step_us=1)
    plan = plan_of(parts, shape=shape, frame_us=1, only=strategy)
    assert plan.gathers == (strategy != "recombine")
    states = sliding_states(frames, parts, key=[], plan=plan)
    are_right(states.withColumn(END, F.col(START) + SIZE), least=EVENTS)


def test_moments_are_right_in_windows_that_grow(spark: SparkSession, frames: DataFrame) -> None:
    parts, shape = parts_of(frames, AGGREGATES), Cumulate(size_us=60, step_us=2)
    plan = plan_of(parts, shape=shape, frame_us=1)
    assert plan.gathers
    are_right(cumulated_states(frames, parts, key=[], plan=plan), least=EVENTS // 3)


def are_right(states: DataFrame, *, least: int) -> None:
    """Of all windows with enough events to have a spread that is not small by chance, and of so many."""
    rows = states.select(START, END, "event_count", *finish_columns(AGGREGATES, states.schema)).collect()
    wrong, seen = [], 0
    for row in rows:
        mine = [it for it in happened() if row[START] <= it[0] < row[END]]
        assert row["event_count"] == len(mine)
        if len(mine) < SIZE // 5:
            continue
        seen += 1
        wanted = moments(mine)
        # Skewness, correlation and the like may be near zero: their terms are near one.
        wrong += [
            (row[START], op, row[op], it)
            for op, it in wanted.items()
            if abs(row[op] - it) > ERROR * max(abs(it), 1.0)
        ]
    assert wrong == []
    assert seen > least


def moments(events: Iterable[tuple[int, float, float]]) -> dict[str, float]:
    """The moments in exact fractions."""
    xs, ys = ([Fraction(it[place]) for it in events] for place in (1, 2))
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    product = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return {
        **{op: exact(op, xs) for op in OF_ONE},
        "covariance": float(product / (len(xs) - 1)),
        "correlation": float(product) / float(power(xs, 2) * power(ys, 2)) ** 0.5,
        "linear_trend": float(product / power(xs, 2)),
    }
