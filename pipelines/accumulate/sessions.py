"""Events into partial sessions: those of one source and batch that belong together whatever others bring.

Of a bounded session an earlier event can cut all later ones anew, so there each instant stays by itself.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.accumulate.frames import FIRST_US, LAST_US
from pipelines.accumulate.placing import GRID
from pipelines.aggregates import combine_columns, part_columns
from pipelines.ingest import is_accepted
from pipelines.spec import Pipeline, Session, Window
from pipelines.windows import ISLAND, by_window, is_bounded, session_of, with_islands


def session_windows(pipeline: Pipeline) -> tuple[Window, ...]:
    """The window definitions of a pipeline that are sessions."""
    return tuple(window for window in pipeline.windows if isinstance(window.shape, Session))


def partial_sessions(states: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The accepted states per key and proto-session.

    `window, window_start, window_end`, parts, `event_count`.
    """
    windows = session_windows(pipeline)
    parts = part_columns(pipeline.aggregates)
    bins = states.where(is_accepted()).withColumnRenamed(GRID, "window")
    gap_us = by_window(windows, lambda it: F.lit(session_of(it).gap_us))
    mine = bins.where(F.col("window").isin([window.name for window in windows])).select(
        *pipeline.key,
        "window",
        F.col(FIRST_US).alias("start_us"),
        (F.col(LAST_US) + gap_us).alias("end_us"),
        *parts,
        "event_count",
    )
    alone = F.when(is_bounded(windows), F.col("start_us")).otherwise(F.col(ISLAND))
    grouped = with_islands(mine, windows, key=pipeline.key).withColumn(ISLAND, alone)
    joined = grouped.groupBy(*pipeline.key, "window", ISLAND).agg(
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
