"""Events into frames: the first stage of the two-stage aggregation.

`accumulate` makes the only pass over the events. What it returns is a state per key, frame, substream and
fate, small enough to keep, from which the partial frames, the partial sessions and the newest times of
every substream are all taken.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.accumulate.placing import (
    FRAME_END_US,
    FRAME_US,
    GRID,
    INSTANT_US,
    IS_TALLIED,
    is_one_grid,
    place,
)
from pipelines.aggregates import accumulate_columns, combine_columns, event_values, part_columns
from pipelines.ingest import is_accepted
from pipelines.ingest.events import ARRIVAL_US, EVENT_US, SUBSTREAM
from pipelines.ingest.fate import DIMINISHED, DUPLICATE, FATE, LATE, QUARANTINED, UNCLAIMED, passes
from pipelines.spec import Pipeline
from pipelines.windows import Grid, grids_of

NEWEST = ("newest_event_us", "newest_arrival_us")
FIRST_US, LAST_US = "_first_us", "_last_us"


def accumulate(
    fated_events: DataFrame, pipeline: Pipeline, *, watermark_us: int | None, by_substream: bool
) -> DataFrame:
    """Per key, frame and fate, and per substream if asked: the parts, `event_count` and the newest times.

    Only accepted events bring values: those of the others may be what no aggregate can bear.
    """
    grids = grids_of(pipeline)
    counts = is_accepted() & F.col(FRAME_US).isNotNull()
    values = event_values(pipeline.aggregates, F.col(INSTANT_US))
    own = (GRID, FRAME_US, FRAME_END_US, INSTANT_US, IS_TALLIED, SUBSTREAM, FATE, EVENT_US, ARRIVAL_US)
    framed = place(fated_events, grids, watermark_us=watermark_us).select(
        *[F.col(name) for name in (*pipeline.key, *own)],
        *[F.when(counts, value).alias(name) for name, value in values.items()],
    )
    frame = [FRAME_US] if is_one_grid(grids) else [GRID, FRAME_US, FRAME_END_US, IS_TALLIED]
    groups = framed.groupBy(*pipeline.key, *frame, FATE, *([SUBSTREAM] if by_substream else []))
    reach = [F.min(INSTANT_US).alias(FIRST_US), F.max(INSTANT_US).alias(LAST_US)]
    states = groups.agg(
        *accumulate_columns(pipeline.aggregates),
        F.max(EVENT_US).alias("newest_event_us"),
        F.max(ARRIVAL_US).alias("newest_arrival_us"),
        *(reach if any(grid.of_sessions for grid in grids) else []),
    )
    return _with_end(states, grids[0]) if is_one_grid(grids) else states


def _with_end(states: DataFrame, grid: Grid) -> DataFrame:
    return states.withColumns(
        {
            GRID: F.lit(grid.name),
            FRAME_END_US: F.col(FRAME_US) + F.lit(grid.bin_us),
            IS_TALLIED: F.lit(True),
        }
    )


def tally_states() -> list[Column]:
    """Aggregate expressions over the states of `accumulate`, so that events are counted once they are few.

    `ingested, late, duplicates, quarantined` count the batch's own rows, `unclaimed` those that no time
    puts into any batch, `losing` the events that at least one window lost; and the newest times of all that
    passed.
    """
    fate = F.col(FATE)
    counts = {
        "ingested": fate != UNCLAIMED,
        "late": fate == LATE,
        "duplicates": fate == DUPLICATE,
        "quarantined": fate == QUARANTINED,
        "unclaimed": fate == UNCLAIMED,
        "losing": (fate == DIMINISHED) | (fate == LATE),
        "tallied": is_accepted(),
    }
    events = F.when(F.col(IS_TALLIED), F.col("event_count")).otherwise(F.lit(0))
    return [
        *[F.sum(F.when(counted, events).otherwise(F.lit(0))).alias(name) for name, counted in counts.items()],
        *[F.max(F.when(passes(), F.col(name))).alias(name) for name in NEWEST],
    ]


def partial_frames(states: DataFrame, pipeline: Pipeline, *, watermark_us: int | None) -> DataFrame:
    """The accepted states per key and frame: `grid, frame_start, frame_end`, parts, `event_count`."""
    grids = grids_of(pipeline)
    accepted = states.where(is_accepted() & F.col(FRAME_US).isNotNull())
    sessions = [grid.name for grid in grids if grid.of_sessions]
    if sessions:
        accepted = accepted.where(~F.col(GRID).isin(sessions))
    is_split = watermark_us is not None and not is_one_grid(grids)
    if SUBSTREAM in states.columns or is_split:
        groups = accepted.groupBy(*pipeline.key, GRID, FRAME_US, FRAME_END_US)
        accepted = groups.agg(*combine_columns(pipeline.aggregates, states.schema))
    return accepted.select(
        *pipeline.key,
        F.col(GRID).alias("grid"),
        F.timestamp_micros(FRAME_US).alias("frame_start"),
        F.timestamp_micros(FRAME_END_US).alias("frame_end"),
        *part_columns(pipeline.aggregates),
        "event_count",
    )


def newest_per_substream(states: DataFrame) -> DataFrame:
    """Per substream the newest event time and arrival among accepted and late events.

    One null substream where there is none.
    """
    substream = F.col(SUBSTREAM) if SUBSTREAM in states.columns else F.lit(None).cast("string")
    passed = states.where(passes()).groupBy(substream.alias("substream"))
    newest = passed.agg(*[F.max(name).alias(name) for name in NEWEST])
    return newest.where(F.col("newest_event_us").isNotNull())
