"""Cumulating windows from prefixes are what plain loops give."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipelines.finalise.cumulated import cumulated_states
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
