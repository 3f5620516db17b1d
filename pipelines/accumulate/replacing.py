"""Partial frames and sessions in the place of older ones: what vanished, and what changed.

One that lost all its events is kept as an empty state, so that it is touched too and combined anew
without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import is_unchanged, part_columns, part_names
from pipelines.aggregates.sums import ROWS, TOTAL
from pipelines.spec import Aggregate, Pipeline

FRAME = ("grid", "frame_start", "frame_end")
DIFFERS = "_differs"
PROTO = ("window", "window_start", "window_end")
IN_ANY_ORDER = 2
"""Of so many values the sum is the same to the bit, whichever comes first."""


def with_vanished(
    partials: DataFrame,
    earlier: DataFrame,
    *,
    pipeline: Pipeline,
    bounds: Sequence[str],
    before: DataFrame | None = None,
) -> DataFrame:
    """The partials, and an empty one for each that stood there earlier and is not among them; `DIFFERS` tells
    whether one differs from what stood there.

    `bounds` tells what they are: `FRAME` or `PROTO`. `before` stood there before the run, where that may be
    something else: an attempt under another spec may have taken some of it away without a trace.
    """
    state = [*part_columns(pipeline.aggregates), "event_count"]
    sides = _sides(partials, earlier, pipeline=pipeline, bounds=bounds, before=before)
    differs = ~_are_alike(partials, pipeline=pipeline) | (F.col("_was").isNull() & F.col("_was_before"))
    return sides.select(*pipeline.key, *bounds, *[f"_now.{name}" for name in state], differs.alias(DIFFERS))


def changed_places(
    partials: DataFrame, earlier: DataFrame, *, pipeline: Pipeline, bounds: Sequence[str]
) -> DataFrame:
    """Key and bounds of the partials that differ from those that stood there earlier, and of those that
    vanished.
    """
    sides = _sides(partials, earlier, pipeline=pipeline, bounds=bounds)
    return sides.where(~_are_alike(partials, pipeline=pipeline)).select(*pipeline.key, *bounds)


def at_places(rows: DataFrame, others: DataFrame, *, place: Sequence[str]) -> DataFrame:
    """The rows that are of the same place as one of the others; null is the same as null."""
    named = others.select(*[F.col(name).alias(f"_of_{name}") for name in place])
    return rows.join(named, on=_is_at(place), how="left_semi")


def marked(rows: DataFrame, others: DataFrame, *, mark: str) -> DataFrame:
    """The rows, and whether they are of the same place as one of the others, which are places alone."""
    place = others.columns
    named = others.distinct().select(
        *[F.col(name).alias(f"_of_{name}") for name in place], F.lit(True).alias(mark)
    )
    beside = rows.join(named, on=_is_at(place), how="left")
    return beside.select(*rows.columns, F.coalesce(mark, F.lit(False)).alias(mark))


def _is_at(place: Sequence[str]) -> Column:
    return reduce(and_, [F.col(name).eqNullSafe(F.col(f"_of_{name}")) for name in place])


def _sides(
    partials: DataFrame,
    earlier: DataFrame,
    *,
    pipeline: Pipeline,
    bounds: Sequence[str],
    before: DataFrame | None = None,
) -> DataFrame:
    """By key and bounds the state that is and the one that was, whether several were, and whether one was
    before; what vanished is an empty one.
    """
    place = (*pipeline.key, *bounds)
    state = [*part_columns(pipeline.aggregates), "event_count"]
    kind = partials.select(F.struct(*state).alias("state")).schema["state"].dataType
    none = F.lit(None).cast(kind)
    now = partials.select(*place, F.struct(*state).alias("_now"), none.alias("_was"))
    was = earlier.select(*place, none.alias("_now"), F.struct(*state).alias("_was"))
    sides = now.unionByName(was).withColumn("_was_before", F.lit(False))
    if before is not None:
        there = before.where("event_count > 0").select(*place, none.alias("_now"), none.alias("_was"))
        sides = sides.unionByName(there.withColumn("_was_before", F.lit(True)))
    nothing = [F.lit(None).cast(partials.schema[part].dataType).alias(part) for part in state[:-1]]
    empty = F.struct(*nothing, F.lit(0).cast("bigint").alias("event_count"))
    return sides.groupBy(*place).agg(
        F.coalesce(F.first("_now", ignorenulls=True), empty).alias("_now"),
        F.first("_was", ignorenulls=True).alias("_was"),
        (F.count("_was") > 1).alias("_stood_for_several"),
        F.max("_was_before").alias("_was_before"),
    )


def _are_alike(partials: DataFrame, *, pipeline: Pipeline) -> Column:
    alike = F.col("_now.event_count").eqNullSafe(F.col("_was.event_count"))
    for aggregate in pipeline.aggregates:
        if aggregate.op in ("sum", "avg"):
            alike &= _are_same_sums(aggregate)
        for name in part_names(aggregate):
            new, old = F.col(f"_now.{name}"), F.col(f"_was.{name}")
            alike &= is_unchanged(new, old, kind=partials.schema[name].dataType, op=aggregate.op)
    # However an empty state is written, or not written at all.
    empty = (F.col("_now.event_count") == 0) & (F.coalesce("_was.event_count", F.lit(0)) == 0)
    # Several stand there where a source is gone since: one takes the place of all.
    return ~F.col("_stood_for_several") & (empty | alike)


def _are_same_sums(aggregate: Aggregate) -> Column:
    """Whether totals are the same, if they are of so few values that no order of adding tells."""
    now, was = (F.col(f"{side}.{aggregate.name}__{TOTAL.name}") for side in ("_now", "_was"))
    are_many = F.col(f"_now.{aggregate.name}__{ROWS.name}") > IN_ANY_ORDER
    return now.eqNullSafe(was) | F.coalesce(are_many, F.lit(False))
