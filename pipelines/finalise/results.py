"""Window states → results, and what was last published of a window, both in the shape of a pane.

The last pane of a window is the one with the highest index; with the same index, the insert follows the
retract. Of sessions it is that of the newest run.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import finish_columns
from pipelines.combine import TOUCHED
from pipelines.spec import Global, Pipeline, Session

RESULT_BOUNDS = ("window", "window_start", "window_end")


def finished(states: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Key, `RESULT_BOUNDS`, the results, `event_count`, `is_due`, `TOUCHED` of window states."""
    # The one window of all time has no bounds that a reader could see.
    names = [window.name for window in pipeline.windows if isinstance(window.shape, Global)]
    is_bounded = ~F.col("window").isin(names) if names else F.lit(True)
    return states.select(
        *pipeline.key,
        "window",
        F.when(is_bounded, F.timestamp_micros("window_start_us")).alias("window_start"),
        F.when(is_bounded, F.timestamp_micros("window_end_us")).alias("window_end"),
        *finish_columns(pipeline.aggregates, states.schema),
        "event_count",
        "is_due",
        TOUCHED,
    )


def last_published(panes: DataFrame, pipeline: Pipeline, *, runs: DataFrame) -> DataFrame:
    """Per window that was ever published.

    Key, `RESULT_BOUNDS`, `last`, a struct of what its last pane said. A session that was retracted may
    come back with a lower index, so there `runs` tell what came last.
    """
    said = [aggregate.name for aggregate in pipeline.aggregates]
    pane = F.struct(*said, "event_count", "kind", "pane_index")
    order = [F.col("pane_index"), (F.col("kind") == "insert").alias("inserts")]
    if any(isinstance(window.shape, Session) for window in pipeline.windows):
        run = ["batch_start", "batch_end", "revision"]
        started = runs.select(*run, F.col("started_at").alias("_started_at"))
        panes = panes.join(F.broadcast(started), on=run, how="left")
        order = [F.col("_started_at"), *order]
    return panes.groupBy(*pipeline.key, *RESULT_BOUNDS).agg(F.max_by(pane, F.struct(*order)).alias("last"))
