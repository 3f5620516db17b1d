"""Window states → results, and what was last published of a window, both in the shape of a pane.

The last pane of a window is that of the newest run, in it the one with the highest index; with the same
index, the insert follows the retract.
"""

from __future__ import annotations

from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import finish_columns, part_columns
from pipelines.spec import Global, Pipeline

RESULT_BOUNDS = ("window", "window_start", "window_end")
WINDOW = ("window", "window_start_us", "window_end_us")


def finished(states: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Key, `RESULT_BOUNDS`, the results, `event_count`, and whatever else window states say of themselves."""
    parts = part_columns(pipeline.aggregates)
    said = (*pipeline.key, *WINDOW, *parts, "event_count")
    return states.select(
        *pipeline.key,
        *bounds(pipeline),
        *finish_columns(pipeline.aggregates, states.schema),
        "event_count",
        *[name for name in states.columns if name not in said],
    )


def bounds(pipeline: Pipeline) -> list[Column]:
    """`RESULT_BOUNDS` of rows with bounds in microseconds."""
    # The one window of all time has no bounds that a reader could see.
    names = [window.name for window in pipeline.windows if isinstance(window.shape, Global)]
    is_bounded = ~F.col("window").isin(names) if names else F.lit(True)
    return [
        F.col("window"),
        F.when(is_bounded, F.timestamp_micros("window_start_us")).alias("window_start"),
        F.when(is_bounded, F.timestamp_micros("window_end_us")).alias("window_end"),
    ]


def last_published(panes: DataFrame, pipeline: Pipeline, *, runs: DataFrame) -> DataFrame:
    """Per window that was ever published.

    Key, `RESULT_BOUNDS`, `_last`, a struct of what its last pane said, the end of its batch and when its run
    started, and `_told`, the last two of its last insert. A session that was retracted may come back with a
    lower index, so `runs` tell what came last.
    """
    said = [aggregate.name for aggregate in pipeline.aggregates]
    run = ["batch_start", "batch_end", "revision"]
    started = F.broadcast(runs.select(*run, F.col("started_at").alias("_started_at")))
    panes = panes.join(started, on=run, how="left")
    pane = F.struct(*said, "event_count", "kind", "pane_index", "batch_end", "_started_at")
    order = [F.col("_started_at"), F.col("pane_index"), (F.col("kind") == "insert").alias("inserts")]
    told = F.max(F.when(F.col("kind") == "insert", F.struct("_started_at", "batch_end")))
    last = F.max_by(pane, F.struct(*order)).alias("_last")
    return panes.groupBy(*pipeline.key, *RESULT_BOUNDS).agg(last, told.alias("_told"))


def with_values(last: DataFrame, values: DataFrame, *, pipeline: Pipeline) -> DataFrame:
    """What was last published, where there are whole `values` of a window with these in place of its last
    pane's.
    """
    place = (*pipeline.key, *RESULT_BOUNDS)
    said = [*[aggregate.name for aggregate in pipeline.aggregates], "event_count"]
    whole = values.select(
        *[F.col(name).alias(f"_whole_{name}") for name in place], F.struct(*said).alias("_whole")
    ).dropDuplicates([f"_whole_{name}" for name in place])
    same = [F.col(name).eqNullSafe(F.col(f"_whole_{name}")) for name in place]
    joined = last.join(whole, on=reduce(and_, same), how="left")
    fields = [
        F.when(F.col("_whole").isNotNull(), F.col(f"_whole.{name}"))
        .otherwise(F.col(f"_last.{name}"))
        .alias(name)
        for name in said
    ]
    others = ("kind", "pane_index", "batch_end", "_started_at")
    told = F.struct(*fields, *[F.col(f"_last.{name}").alias(name) for name in others])
    return joined.select(*place, told.alias("_last"))
