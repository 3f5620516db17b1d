"""Every operation gives the same in sliding windows, whichever strategy puts its states together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from pipelines.aggregates import (
    accumulate_columns,
    combine_columns,
    event_values,
    finish_columns,
    operation_of,
)
from pipelines.aggregates.registry import OPERATIONS
from pipelines.aggregates.sums import ROWS
from pipelines.finalise.cumulated import END, cumulated_states
from pipelines.finalise.parts import START, StatePart
from pipelines.finalise.planner import Strategy, plan_of
from pipelines.finalise.sliding import sliding_states
from pipelines.spec import Aggregate, Cumulate, Sliding
from pipelines.windows import held

OF = {"any": "n > 5", "all": "n > 5", "count": "*"}
BY = ("covariance", "correlation", "linear_trend", "min_by", "max_by")
OPTIONS = {"top": ("n", 2), "bottom": ("n", 2), "approx_quantile": ("q", 0.5), "approx_top_k": ("k", 3)}
AGGREGATES = [
    Aggregate(
        name=f"its_{op}",
        op=op,
        of=OF.get(op, "n"),
        where="n <> 4",
        options=(("by", "m"),) if op in BY else (OPTIONS[op],) if op in OPTIONS else (),
    )
    for op in OPERATIONS
    if op != "custom"
]
SLIDING = Sliding(size_us=40, step_us=10)
GROWING = Cumulate(size_us=80, step_us=20, offset_us=10)


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> DataFrame:
    """Two keys, frames of ten, some far apart; a few events each, of small whole numbers."""
    rows = [
        ("a" if at % 3 else None, at, (at * 7) % 11 - 2, (at * 5) % 13)
        for at in [*range(0, 130, 3), *range(300, 320, 4)]
    ]
    events = spark.createDataFrame(rows, "key STRING, at BIGINT, n BIGINT, m BIGINT")
    values = [column.alias(name) for name, column in event_values(AGGREGATES, F.col("at")).items()]
    of_frames = events.select("key", (F.col("at") - F.pmod("at", F.lit(10))).alias("_frame_us"), *values)
    return of_frames.groupBy("key", "_frame_us").agg(*accumulate_columns(AGGREGATES)).localCheckpoint()


Windows = dict[tuple[object, ...], dict[str, object]]


def parts_of(frames: DataFrame, aggregates: Sequence[Aggregate] = AGGREGATES) -> list[StatePart]:
    parts = [StatePart(column="event_count", part=ROWS, kind=LongType())]
    for aggregate in aggregates:
        for part in operation_of(aggregate).parts:
            column = f"{aggregate.name}__{part.name}"
            parts.append(StatePart(column=column, part=part, kind=frames.schema[column].dataType))
    return parts


def deducting(frames: DataFrame) -> list[Aggregate]:
    """Those of which some part can be deducted: of the others nothing is, whatever is asked for."""
    return [
        aggregate
        for aggregate in AGGREGATES
        if any(part.deducts for part in parts_of(frames, [aggregate])[1:])
    ]


def slid(frames: DataFrame, strategy: Strategy, aggregates: Sequence[Aggregate] = AGGREGATES) -> Windows:
    parts = parts_of(frames, aggregates)
    plan = plan_of(parts, shape=SLIDING, frame_us=10, only=strategy)
    states = sliding_states(frames, parts, key=["key"], plan=plan)
    return finished(states, "key", "window_start_us", aggregates=aggregates)


def finished(states: DataFrame, *window: str, aggregates: Sequence[Aggregate] = AGGREGATES) -> Windows:
    """The results of each window, known by those columns."""
    rows = states.select(*window, *finish_columns(aggregates, states.schema)).collect()
    return {tuple(row[name] for name in window): row.asDict(recursive=True) for row in rows}


def unlike(found: Windows, wanted: Windows) -> set[tuple[object, ...]]:
    assert found.keys() == wanted.keys()
    return {
        (window, name, str(value), str(found[window][name]))
        for window, told in wanted.items()
        for name, value in told.items()
        if not alike(value, found[window][name])
    }


def test_deducted_merged_and_recombined_states_finish_alike(frames: DataFrame) -> None:
    wanted = slid(frames, "recombine")
    assert len(wanted) > 20
    assert unlike(slid(frames, "prefix–suffix"), wanted) == set()
    deducted = deducting(frames)
    assert {aggregate.op for aggregate in deducted} > {"sum", "count", "bit_xor", "histogram"}
    told = {window: {it.name: row[it.name] for it in deducted} for window, row in wanted.items()}
    assert unlike(slid(frames, "deduct", deducted), told) == set()


def test_what_entered_so_far_finishes_like_frames_that_are_given_to_each_window(frames: DataFrame) -> None:
    parts = parts_of(frames)
    plan = plan_of(parts, shape=GROWING, frame_us=10)
    states = cumulated_states(frames, parts, key=["key"], plan=plan)
    given = frames.select("*", F.inline(held(GROWING, F.col("_frame_us"), key=()))).groupBy(
        "key", F.col("start_us").alias(START), F.col("end_us").alias(END)
    )
    wanted = finished(given.agg(*combine_columns(AGGREGATES, frames.schema)), "key", START, END)
    assert len(wanted) > 10
    assert unlike(finished(states, "key", START, END), wanted) == set()


def alike(one: object, other: object) -> bool:
    """Doubles differ by the order of adding."""
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other
