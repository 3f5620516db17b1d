"""Partial frames in the place of older ones: what vanished, and what changed.

A frame that lost all its events is kept as an empty state, so that it is touched too and combined anew
without them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates import are_alike, combine_columns, part_columns
from pipelines.spec import Pipeline

FRAME = ("grid", "frame_start", "frame_end")


def with_vanished(partials: DataFrame, earlier: DataFrame, *, pipeline: Pipeline) -> DataFrame:
    """The partial frames, and an empty one for each that stood there earlier and is not among them."""
    parts = part_columns(pipeline.aggregates)
    nothing = [F.lit(None).cast(partials.schema[part].dataType).alias(part) for part in parts]
    vanished = earlier.select(*pipeline.key, *FRAME, *nothing, F.lit(0).cast("bigint").alias("event_count"))
    both = partials.unionByName(vanished)
    return both.groupBy(*pipeline.key, *FRAME).agg(*combine_columns(pipeline.aggregates, partials.schema))


def changed_frames(partials: DataFrame, earlier: DataFrame, *, pipeline: Pipeline) -> DataFrame:
    """One row: `changed`, how many frames differ from those that stood there earlier.

    Every earlier one is among `partials`.
    """
    state = [*part_columns(pipeline.aggregates), "event_count"]
    now = partials.select(
        *pipeline.key, *FRAME, F.struct(*state).alias("now"), _none(partials, state).alias("was")
    )
    was = earlier.select(
        *pipeline.key, *FRAME, _none(partials, state).alias("now"), F.struct(*state).alias("was")
    )
    paired = now.unionByName(was).groupBy(*pipeline.key, *FRAME)
    # There is one of each at most.
    sides = paired.agg(
        F.first("now", ignorenulls=True).alias("now"), F.first("was", ignorenulls=True).alias("was")
    )
    alike = F.lit(True)
    for name in state:
        alike &= are_alike(F.col(f"now.{name}"), F.col(f"was.{name}"), kind=_type(partials, name))
    return sides.agg(F.count_if(~alike).alias("changed"))


def _none(partials: DataFrame, state: list[str]) -> Column:
    return F.lit(None).cast(partials.select(F.struct(*state).alias("state")).schema["state"].dataType)


def _type(partials: DataFrame, name: str) -> DataType:
    return partials.schema[name].dataType
