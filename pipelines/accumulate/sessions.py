"""Events into partial sessions: those of one source and batch that belong together whatever others bring.

Of a bounded session an earlier event can cut all later ones anew, so there each instant stays by itself;
what the function of a custom window will do is not known, so there each interval does.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.accumulate.frames import FIRST_US, LAST_US
from pipelines.accumulate.placing import FRAME_END_US, FRAME_US, GRID
from pipelines.aggregates import combine_columns, part_columns
from pipelines.ingest import is_accepted
from pipelines.spec import Pipeline, Session, Window
from pipelines.windows import ISLAND, ISLAND_END, by_window, is_apart, session_windows, with_islands


def partial_sessions(states: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The accepted states per key and proto-session.

    `window, window_start, window_end`, parts, `event_count`.
    """
    windows = session_windows(pipeline)
    parts = part_columns(pipeline.aggregates)
    bins = states.where(is_accepted()).withColumnRenamed(GRID, "window")
    is_bin, gap_us = _bins(windows)
    mine = bins.where(F.col("window").isin([window.name for window in windows])).select(
        *pipeline.key,
        "window",
        F.when(is_bin, F.col(FIRST_US)).otherwise(F.col(FRAME_US)).alias("start_us"),
        F.when(is_bin, F.col(LAST_US) + gap_us).otherwise(F.col(FRAME_END_US)).alias("end_us"),
        *parts,
        "event_count",
    )
    is_alone = is_apart(windows)
    alone = {
        ISLAND: F.when(is_alone, F.col("start_us")).otherwise(F.col(ISLAND)),
        ISLAND_END: F.when(is_alone, F.col("end_us")),
    }
    grouped = with_islands(mine, windows, key=pipeline.key).withColumns(alone)
    joined = grouped.groupBy(*pipeline.key, "window", ISLAND, ISLAND_END).agg(
        F.max("end_us").alias("end_us"), *combine_columns(pipeline.aggregates, states.schema)
    )
    return joined.select(
        *pipeline.key,
        "window",
        F.timestamp_micros(ISLAND).alias("window_start"),
        F.timestamp_micros("end_us").alias("window_end"),
        *parts,
        "event_count",
    )


def _bins(windows: Sequence[Window]) -> tuple[Column, Column]:
    """Whether a row is a bin of events that no gap divides, and the gap; else it is an interval already."""
    gaps = [(it, it.shape.gap_us) for it in windows if isinstance(it.shape, Session)]
    if not gaps:
        return F.lit(False), F.lit(0)
    gap_us = {window.name: gap_us for window, gap_us in gaps}
    of_gap = by_window([window for window, _ in gaps], lambda it: F.lit(gap_us[it.name]))
    return of_gap.isNotNull(), of_gap
