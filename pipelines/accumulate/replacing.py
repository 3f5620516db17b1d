"""Partial frames and sessions in the place of older ones: what vanished, and what changed.

One that lost all its events is kept as an empty state, so that it is touched too and combined anew
without them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates import combine_columns, is_unchanged, part_columns, part_names
from pipelines.spec import Pipeline

FRAME = ("grid", "frame_start", "frame_end")
PROTO = ("window", "window_start", "window_end")


def with_vanished(
    partials: DataFrame, earlier: DataFrame, *, pipeline: Pipeline, bounds: Sequence[str]
) -> DataFrame:
    """The partials, and an empty one for each that stood there earlier and is not among them.

    `bounds` tells what they are: `FRAME` or `PROTO`.
    """
    parts = part_columns(pipeline.aggregates)
    nothing = [F.lit(None).cast(partials.schema[part].dataType).alias(part) for part in parts]
    vanished = earlier.select(*pipeline.key, *bounds, *nothing, F.lit(0).cast("bigint").alias("event_count"))
    both = partials.unionByName(vanished)
    return both.groupBy(*pipeline.key, *bounds).agg(*combine_columns(pipeline.aggregates, partials.schema))


def changed(
    partials: DataFrame, earlier: DataFrame, *, pipeline: Pipeline, bounds: Sequence[str]
) -> DataFrame:
    """One row: `changed`, how many partials differ from those that stood there earlier."""
    places = changed_places(partials, earlier, pipeline=pipeline, bounds=bounds)
    return places.agg(F.count(F.lit(1)).alias("changed"))


def changed_places(
    partials: DataFrame, earlier: DataFrame, *, pipeline: Pipeline, bounds: Sequence[str]
) -> DataFrame:
    """Key and bounds of the partials that differ from those that stood there earlier.

    Every earlier one is among `partials`.
    """
    state = [*part_columns(pipeline.aggregates), "event_count"]
    now = partials.select(
        *pipeline.key, *bounds, F.struct(*state).alias("_now"), _none(partials, state).alias("_was")
    )
    was = earlier.select(
        *pipeline.key, *bounds, _none(partials, state).alias("_now"), F.struct(*state).alias("_was")
    )
    paired = now.unionByName(was).groupBy(*pipeline.key, *bounds)
    sides = paired.agg(
        F.first("_now", ignorenulls=True).alias("_now"),
        F.first("_was", ignorenulls=True).alias("_was"),
        (F.count("_was") > 1).alias("_stood_for_several"),
    )
    # Several stand there where a source is gone since: one takes the place of all.
    alike = ~F.col("_stood_for_several") & F.col("_now.event_count").eqNullSafe(F.col("_was.event_count"))
    for aggregate in pipeline.aggregates:
        for name in part_names(aggregate):
            new, old = F.col(f"_now.{name}"), F.col(f"_was.{name}")
            alike &= is_unchanged(new, old, kind=_type(partials, name), op=aggregate.op)
    return sides.where(~alike).select(*pipeline.key, *bounds)


def _none(partials: DataFrame, state: list[str]) -> Column:
    return F.lit(None).cast(partials.select(F.struct(*state).alias("state")).schema["state"].dataType)


def _type(partials: DataFrame, name: str) -> DataType:
    return partials.schema[name].dataType
