"""Cumulating windows from prefixes are what plain loops give."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType

from pipelines.aggregates.sums import ROWS, TOTAL
from pipelines.finalise.cumulated import cumulated_states
from pipelines.finalise.parts import StatePart
from pipelines.finalise.planner import plan_of
from pipelines.intervals import Interval
from pipelines.spec import Cumulate
from tests.finalise.loops import Shape, State, frames_by_chance, growing_by_loops
from tests.finalise.test_sliding import EMPTY, MERGES, PARTS, frames_of

Growing = tuple[str | None, int, int, State]
SHAPES = [Shape(10, 1, 0, 1), Shape(12, 3, 2, 1), Shape(60, 10, 0, 10), Shape(1000, 10, -30, 5)]


def in_order(windows: list[Growing]) -> list[Growing]:
    return sorted(windows, key=lambda window: (window[0] or "", window[1], window[2]))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("ends", [None, Interval(-17, 34), Interval(10, 11), Interval(-3000, 1)], ids=str)
def test_windows_that_grow_are_what_loops_give(
    spark: SparkSession, shape: Shape, ends: Interval | None
) -> None:
    frames = frames_by_chance(SHAPES.index(shape), shape)
    growing = Cumulate(size_us=shape.size_us, step_us=shape.step_us, offset_us=shape.offset_us)
    plan = plan_of(PARTS, shape=growing, frame_us=shape.frame_us)
    assert {choice.strategy for choice in plan.choices} == {"prefix"}
    states = cumulated_states(frames_of(spark, frames), PARTS, key=["key"], plan=plan, ends=ends)
    found = [(row[0], row[1], row[2], tuple(row[3:])) for row in states.collect()]
    wanted = [
        (
            *bounds,
            tuple(zero if value is None else value for value, zero in zip(state, EMPTY, strict=True)),
        )
        for *bounds, state in growing_by_loops(frames, shape, MERGES)
        if ends is None or bounds[2] in ends
    ]
    assert in_order(found) == in_order(wanted)


def totals(spark: SparkSession, values: Mapping[int, int]) -> dict[tuple[int, int], int]:
    """The sum of each window that grows from three frames to three, up to nine; a frame is one long."""
    parts = [
        StatePart(column="event_count", part=ROWS, kind=LongType()),
        StatePart(column="sum__total", part=TOTAL, kind=LongType()),
    ]
    schema = "_frame_us BIGINT, event_count BIGINT, sum__total BIGINT"
    frames = spark.createDataFrame([(at, 1, value) for at, value in values.items()], schema)
    plan = plan_of(parts, shape=Cumulate(size_us=9, step_us=3), frame_us=1)
    return {(row[0], row[1]): row[3] for row in cumulated_states(frames, parts, key=[], plan=plan).collect()}


@pytest.mark.parametrize("sign", [1, -1])
def test_a_long_sum_that_does_not_fit_fails_where_it_grows_and_never_wraps(
    spark: SparkSession, sign: int
) -> None:
    most = (1 << 63) - 1
    found = totals(spark, {0: sign * most, 3: -sign, 6: sign, 9: sign * most})
    assert found == {
        (0, 3): sign * most,
        (0, 6): sign * (most - 1),
        (0, 9): sign * most,
        **dict.fromkeys([(9, 12), (9, 15), (9, 18)], sign * most),
    }
    with pytest.raises(ArithmeticException, match=r"(?i)overflow"):
        totals(spark, {0: sign * most, 3: sign * 2})
