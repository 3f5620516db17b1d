"""Events into frames: the first stage of the two-stage aggregation.

`accumulate` makes the only pass over the events. What it returns is a state per key, frame, substream and
fate, small enough to keep, from which the partial frames and the newest times of every substream are both
taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import accumulate_columns, combine_columns, event_values, part_columns
from pipelines.ingest.events import ARRIVAL_US, EVENT_US, SUBSTREAM
from pipelines.ingest.fate import ACCEPTED, FATE, LATE, QUARANTINED, UNCLAIMED, loses, passes
from pipelines.spec import Pipeline, Window

ALIGNED = "aligned"
FRAME_US = "_frame_us"
NEWEST = ("newest_event_us", "newest_arrival_us")


def accumulate(
    fated_events: DataFrame, pipeline: Pipeline, *, frame_us: int, by_substream: bool
) -> DataFrame:
    """Per key, frame and fate, and per substream if asked: the parts, `event_count` and the newest times.

    What is quarantined lies in no frame. Only accepted events bring values: those of the others may be
    what no aggregate can bear.
    """
    is_accepted = F.col(FATE) == ACCEPTED
    frame_start_us = F.col(EVENT_US) - F.pmod(F.col(EVENT_US), F.lit(frame_us))
    values = event_values(pipeline.aggregates, F.col(EVENT_US))
    framed = fated_events.select(
        *[F.col(name) for name in pipeline.key],
        F.when(passes(), frame_start_us).alias(FRAME_US),
        *[F.col(name) for name in (SUBSTREAM, FATE, EVENT_US, ARRIVAL_US)],
        *[F.when(is_accepted, value).alias(name) for name, value in values.items()],
    )
    groups = [*pipeline.key, FRAME_US, FATE, *([SUBSTREAM] if by_substream else [])]
    return framed.groupBy(*groups).agg(
        *accumulate_columns(pipeline.aggregates),
        F.max(EVENT_US).alias("newest_event_us"),
        F.max(ARRIVAL_US).alias("newest_arrival_us"),
    )


def tally_states(windows: Sequence[Window], *, watermark_us: int | None) -> list[Column]:
    """Aggregate expressions over the states of `accumulate`, so that events are counted once they are few.

    `ingested, late, quarantined` count the batch's own rows, `unclaimed` those that no time puts into any
    batch, `losing` the events that at least one window lost; and the newest times of all that passed.
    """
    fate = F.col(FATE)
    counts = {
        "ingested": fate != UNCLAIMED,
        "late": fate == LATE,
        "quarantined": fate == QUARANTINED,
        "unclaimed": fate == UNCLAIMED,
        "losing": passes() & loses(F.col(FRAME_US), windows, watermark_us),
    }
    events = F.col("event_count")
    return [
        *[F.sum(F.when(counted, events).otherwise(F.lit(0))).alias(name) for name, counted in counts.items()],
        *[F.max(F.when(passes(), F.col(name))).alias(name) for name in NEWEST],
    ]


def partial_frames(states: DataFrame, pipeline: Pipeline, *, frame_us: int) -> DataFrame:
    """The accepted states per key and frame: `grid, frame_start, frame_end`, parts, `event_count`."""
    accepted = states.where(F.col(FATE) == ACCEPTED)
    if SUBSTREAM in states.columns:
        groups = accepted.groupBy(*pipeline.key, FRAME_US)
        accepted = groups.agg(*combine_columns(pipeline.aggregates, states.schema))
    return accepted.select(
        *pipeline.key,
        F.lit(ALIGNED).alias("grid"),
        F.timestamp_micros(FRAME_US).alias("frame_start"),
        F.timestamp_micros(F.col(FRAME_US) + F.lit(frame_us)).alias("frame_end"),
        *part_columns(pipeline.aggregates),
        "event_count",
    )


def newest_per_substream(states: DataFrame) -> DataFrame:
    """Per substream the newest event time and arrival among accepted and late events.

    One null substream where there is none.
    """
    substream = F.col(SUBSTREAM) if SUBSTREAM in states.columns else F.lit(None).cast("string")
    newest = (
        states.where(passes())
        .groupBy(substream.alias("substream"))
        .agg(*[F.max(name).alias(name) for name in NEWEST])
    )
    return newest.where(F.col("newest_event_us").isNotNull())
