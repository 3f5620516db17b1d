"""Window states → results, and what was last published of a window, both in the shape of a pane.

The last pane of a window is the one with the highest index; with the same index, the insert follows the
retract.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import finish_columns
from pipelines.combine import TOUCHED
from pipelines.spec import Pipeline

RESULT_BOUNDS = ("window", "window_start", "window_end")


def finished(states: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Key, `RESULT_BOUNDS`, the results, `event_count`, `is_due`, `TOUCHED` of window states."""
    return states.select(
        *pipeline.key,
        "window",
        F.timestamp_micros("window_start_us").alias("window_start"),
        F.timestamp_micros("window_end_us").alias("window_end"),
        *finish_columns(pipeline.aggregates, states.schema),
        "event_count",
        "is_due",
        TOUCHED,
    )


def last_published(panes: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Per window that was ever published.

    Key, `RESULT_BOUNDS`, `last`, a struct of what its last pane said.
    """
    said = [aggregate.name for aggregate in pipeline.aggregates]
    pane = F.struct(*said, "event_count", "kind", "pane_index")
    order = F.struct(F.col("pane_index"), (F.col("kind") == "insert").alias("inserts"))
    return panes.groupBy(*pipeline.key, *RESULT_BOUNDS).agg(F.max_by(pane, order).alias("last"))
