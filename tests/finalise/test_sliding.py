"""Every strategy for sliding windows gives what plain loops give."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from operator import add, xor

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, DoubleType, LongType, StringType

from pipelines.aggregates import Part
from pipelines.aggregates.extremes import LARGEST, SMALLEST
from pipelines.aggregates.operation import Over, to_group
from pipelines.aggregates.sums import ROWS, TOTAL
from pipelines.finalise.parts import StatePart
from pipelines.finalise.planner import Strategy, plan_of
from pipelines.finalise.sliding import sliding_states
from pipelines.intervals import Interval
from pipelines.spec import Sliding
from tests.finalise.loops import Frame, Shape, Window, frames_by_chance, windows_by_loops

STRATEGIES: tuple[Strategy, ...] = ("deduct", "prefix–suffix", "recombine")
SHAPES = [
    Shape(10, 1, 0, 1),
    Shape(7, 3, 1, 1),
    Shape(20, 20, 0, 5),
    Shape(30, 20, 10, 10),
    Shape(12, 4, 2, 2),
    Shape(4, 10, 3, 1),
    Shape(5, 7, 0, 1),
    Shape(1000, 7, 0, 1),
    Shape(3, 1, 0, 1),
    Shape(1, 1, 0, 1),
]


def _xor(states: Column, over: Over = to_group) -> Column:
    return F.coalesce(over(F.bit_xor(states)), F.lit(0))


XOR = Part(
    name="bits",
    accumulate=_xor,
    combine=_xor,
    merge=lambda one, other: one.bitwiseXOR(other),
    deduct=lambda one, other: one.bitwiseXOR(other),
)
KINDS: dict[str, tuple[Part, DataType]] = {
    "event_count": (ROWS, LongType()),
    "_touched": (ROWS, LongType()),
    "sum__total": (TOTAL, LongType()),
    "fees__total": (TOTAL, DecimalType(15, 2)),
    "mean__total": (TOTAL, DoubleType()),
    "least__extreme": (SMALLEST, LongType()),
    "most__extreme": (LARGEST, StringType()),
    "bits__bits": (XOR, LongType()),
}
PARTS = [StatePart(column=column, part=part, kind=kind) for column, (part, kind) in KINDS.items()]
EMPTY = (0, 0, 0, Decimal(0), 0.0, None, None, 0)
MERGES = (add, add, add, add, add, min, max, xor)
SCHEMA = "key STRING, _frame_us BIGINT, " + ", ".join(
    f"{column} {kind.simpleString()}" for column, (_, kind) in KINDS.items()
)


def frames_of(spark: SparkSession, frames: Sequence[Frame]) -> DataFrame:
    return spark.createDataFrame([(key, frame_us, *state) for key, frame_us, state in frames], SCHEMA)


def windows_of(
    frames: DataFrame,
    shape: Shape,
    *,
    strategy: Strategy | None = None,
    starts: Interval | None = None,
    parts: Sequence[StatePart] = tuple(PARTS),
) -> list[Window]:
    sliding = Sliding(size_us=shape.size_us, step_us=shape.step_us, offset_us=shape.offset_us)
    plan = plan_of(parts, shape=sliding, frame_us=shape.frame_us, only=strategy)
    states = sliding_states(frames, parts, key=["key"], plan=plan, starts=starts)
    expected = {"key": frames.schema["key"].dataType, "window_start_us": LongType()}
    expected |= {part.column: part.kind for part in parts}
    assert {field.name: field.dataType for field in states.schema} == expected
    return [(row[0], row[1], tuple(row[2:])) for row in states.collect()]


def by_loops(frames: Sequence[Frame], shape: Shape) -> list[Window]:
    """With a zero where the sums of marks alone have one."""
    found = windows_by_loops(frames, shape, MERGES)
    return [
        (key, start_us, tuple(zero if it is None else it for it, zero in zip(state, EMPTY, strict=True)))
        for key, start_us, state in found
    ]


def in_order(windows: Sequence[Window]) -> list[Window]:
    return sorted(windows, key=lambda window: (window[0] or "", window[1]))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_strategy_gives_what_loops_give(spark: SparkSession, shape: Shape) -> None:
    frames = frames_by_chance(SHAPES.index(shape), shape)
    wanted = in_order(by_loops(frames, shape))
    for strategy in STRATEGIES:
        assert in_order(windows_of(frames_of(spark, frames), shape, strategy=strategy)) == wanted, strategy


@pytest.mark.parametrize("name", ["event_count_before", "Event_Count_After", "sum__total_before"])
def test_a_key_may_be_called_as_a_value_beside_a_change_is(spark: SparkSession, name: str) -> None:
    frames = frames_by_chance(3, SHAPES[0])
    plan = plan_of(PARTS, shape=Sliding(size_us=10, step_us=1), frame_us=1)
    assert "deduct" in {choice.strategy for choice in plan.choices}
    named = frames_of(spark, frames).withColumnRenamed("key", name)
    rows = sliding_states(named, PARTS, key=[name], plan=plan).collect()
    assert in_order([(row[0], row[1], tuple(row[2:])) for row in rows]) == in_order(
        by_loops(frames, SHAPES[0])
    )


@pytest.mark.parametrize("shape", [SHAPES[0], SHAPES[1], SHAPES[3]], ids=str)
def test_limits_on_the_starts_leave_the_others_out(spark: SparkSession, shape: Shape) -> None:
    frames = frames_by_chance(7, shape)
    for starts in (Interval(-25, 33), Interval(0, 1), Interval(-1000, 0)):
        wanted = [window for window in by_loops(frames, shape) if window[1] in starts]
        for strategy in STRATEGIES:
            found = windows_of(frames_of(spark, frames), shape, strategy=strategy, starts=starts)
            assert in_order(found) == in_order(wanted), (strategy, starts)
