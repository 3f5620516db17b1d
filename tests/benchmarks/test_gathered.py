"""States that Spark cannot combine, in sliding windows: gathered a block at a time, or collected anew at
each point. Variance, whose states do not grow, and how many values there are, whose states do.
"""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from pipelines.aggregates import accumulate_columns, event_values, finish_columns, operation_of
from pipelines.aggregates.sums import ROWS
from pipelines.finalise.parts import StatePart
from pipelines.finalise.planner import plan_of
from pipelines.finalise.sliding import sliding_states
from pipelines.spec import Aggregate, Sliding

Measured = list[tuple[str, str, str]]
KEYS, FRAMES, EVENTS_A_FRAME = 40, 1_440, 2
AGGREGATES = {op: Aggregate(name="it", op=op, of="number") for op in ("variance", "distinct")}
ROUNDS = 2


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """A frame a minute of each key over a day."""
    return spark.range(KEYS * FRAMES * EVENTS_A_FRAME).select(
        F.pmod("id", F.lit(KEYS)).alias("key"),
        (F.col("id") / (KEYS * EVENTS_A_FRAME)).cast("bigint").alias("_frame_us"),
        F.pmod(F.xxhash64("id"), F.lit(1_000)).alias("number"),
    )


def frames_of(events: DataFrame, aggregate: Aggregate) -> DataFrame:
    values = [it.alias(name) for name, it in event_values([aggregate], F.col("_frame_us")).items()]
    of_frames = events.select("key", "_frame_us", *values).groupBy("key", "_frame_us")
    return of_frames.agg(*accumulate_columns([aggregate])).localCheckpoint()


def seconds(frames: DataFrame, aggregate: Aggregate, *, size: int, gathers: bool) -> tuple[float, int, float]:
    """The time of the better round, the number of windows and the sum of all results."""
    (part,) = operation_of(aggregate).parts
    column = f"it__{part.name}"
    kind = frames.schema[column].dataType
    parts = [
        StatePart(column="event_count", part=ROWS, kind=LongType()),
        StatePart(column=column, part=replace(part, gathers=gathers), kind=kind),
    ]
    plan = plan_of(parts, shape=Sliding(size_us=size, step_us=1), frame_us=1)
    states = sliding_states(frames, parts, key=["key"], plan=plan)
    times = []
    for _ in range(ROUNDS):
        started = time.monotonic()
        found = states.select(*finish_columns([aggregate], states.schema))
        windows, total = found.agg(F.count(F.lit(1)), F.sum("it")).collect()[0]
        times.append(time.monotonic() - started)
    return min(times), windows, total


@pytest.mark.parametrize("size", [40, 100, 400])
@pytest.mark.parametrize("op", AGGREGATES)
def test_gathered_states_against_collected_ones(
    events: DataFrame, measured: Measured, *, op: str, size: int
) -> None:
    aggregate = AGGREGATES[op]
    frames = frames_of(events, aggregate)
    gathered, windows, total = seconds(frames, aggregate, size=size, gathers=True)
    collected, again, same = seconds(frames, aggregate, size=size, gathers=False)
    assert windows == again
    assert total == pytest.approx(same, rel=1e-9)
    what = f"{op}, {size} frames a window: collected at each change point ÷ gathered"
    measured.append((what, f"{collected / gathered:.1f} ({collected:.1f} s ÷ {gathered:.1f} s)", ""))
