"""The strategy `recombine`: give each frame to every window that covers it, and combine what each window got.

As many combines per result as a window has frames; nothing has to be sorted, and windows of all
definitions share one pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import combine_columns, part_columns
from pipelines.combine import TOUCHED
from pipelines.finalise.concern import Concern
from pipelines.spec import Pipeline
from pipelines.windows import closes_us, starts_of

WINDOW = ("window", "window_start_us", "window_end_us")


def window_states(
    frames: DataFrame, touched: DataFrame, *, pipeline: Pipeline, concerns: Sequence[Concern]
) -> DataFrame:
    """The states of the windows concerned: key, `WINDOW`, `is_due` (in this batch), `TOUCHED`, parts,
    `event_count`.

    `frames` are whole, `touched` names those that the batch changed (key and `frame_start`), also when
    they are gone.
    """
    parts = part_columns(pipeline.aggregates)
    whole = frames.select(*pipeline.key, "frame_start", *parts, "event_count", F.lit(False).alias(TOUCHED))
    nothing = [F.lit(None).cast(frames.schema[part].dataType).alias(part) for part in parts]
    marks = touched.select(
        *pipeline.key,
        "frame_start",
        *nothing,
        F.lit(0).cast("bigint").alias("event_count"),
        F.lit(True).alias(TOUCHED),
    )
    frame_us = F.unix_micros("frame_start")
    windows = F.concat(*[_windows_over(frame_us, concern) for concern in concerns])
    given = whole.unionByName(marks).select(*pipeline.key, *parts, "event_count", TOUCHED, F.inline(windows))
    combined = given.groupBy(*pipeline.key, *WINDOW, "is_due").agg(
        *combine_columns(pipeline.aggregates, frames.schema), F.max(TOUCHED).alias(TOUCHED)
    )
    return combined.where(F.col("is_due") | F.col(TOUCHED))


def _windows_over(frame_us: Column, concern: Concern) -> Column:
    """An array of the windows over a frame that the batch is about."""

    def window(start_us: Column) -> Column:
        end_us = start_us + F.lit(concern.sliding.size_us)
        return F.struct(
            F.lit(concern.window).alias("window"),
            start_us.alias("window_start_us"),
            end_us.alias("window_end_us"),
            _is_due(end_us, concern).alias("is_due"),
        )

    windows = F.transform(starts_of(frame_us, concern.sliding), window)
    return F.filter(windows, lambda it: it["is_due"] | _is_open(it["window_end_us"], concern))


def _is_due(end_us: Column, concern: Concern) -> Column:
    if concern.due_until_us is None:
        return F.lit(False)
    reached = _reached(end_us) <= F.lit(concern.due_until_us)
    return (
        reached
        if concern.due_after_us is None
        else reached & (_reached(end_us) > F.lit(concern.due_after_us))
    )


def _is_open(end_us: Column, concern: Concern) -> Column:
    if concern.due_after_us is None:
        return F.lit(False)
    was_due = _reached(end_us) <= F.lit(concern.due_after_us)
    return (
        was_due
        if concern.open_after_us is None
        else was_due & (_reached(end_us) > F.lit(concern.open_after_us))
    )


def _reached(end_us: Column) -> Column:
    # The final watermark reaches also an end that lies after the last instant there is.
    return closes_us(end_us, 0)
