"""Sliding windows change only where a frame enters or leaves: frames → change points → windows.

On the line of window starts, a frame enters at the first start whose window holds it and leaves one step
after the last. Blocks of starts are as long as a window, and whole in themselves: the frames that lie in a
block leave during it, those of the next one enter. So one hot key spreads over all of its blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, WindowSpec
from pyspark.sql import Window as W
from pyspark.sql import functions as F

from pipelines.aggregates.operation import Over
from pipelines.finalise.parts import ENTERS, START, Reach, StatePart, exists
from pipelines.finalise.planner import Plan
from pipelines.finalise.slides import Slides, floored

BLOCK, POINT, RANK = "_block_us", "_point_us", "_rank"
FIRST, NEXT = "_is_first", "_next_us"


class Value(NamedTuple):
    """A part's state before the first change point of a block, and that from each change point on."""

    before: Column
    after: Column


def change_points(
    frames: DataFrame, parts: Sequence[StatePart], *, key: Sequence[str], plan: Plan, slides: Slides
) -> DataFrame:
    """Each frame where it enters and where it leaves: key, `BLOCK`, `POINT`, `ENTERS`, the parts."""
    columns = [part.column for part in parts]
    enters, frame_us = F.col(ENTERS), F.col("_frame_us")
    size_us, step_us, offset_us = slides.size_us, slides.step_us, slides.offset_us
    last_us = floored(frame_us, step_us, offset_us=offset_us)
    first_us = floored(frame_us - size_us, step_us, offset_us=offset_us) + step_us
    block_us = floored(frame_us, size_us, offset_us=offset_us)
    both = F.explode(F.array(F.lit(False), F.lit(True))).alias(ENTERS)
    matters = F.when(enters, first_us < block_us).otherwise(last_us >= block_us)
    points = (
        frames.select(*key, "_frame_us", *columns, both)
        .where(matters & (first_us <= last_us))
        .select(
            *key,
            F.when(enters, block_us - size_us).otherwise(block_us).alias(BLOCK),
            F.when(enters, first_us).otherwise(last_us + step_us).alias(POINT),
            ENTERS,
            *columns,
        )
    )
    if slides.starts:
        begins_before, ends_after = F.col(BLOCK) < slides.end_us, F.col(BLOCK) + size_us > slides.first_us
        points = points.where(begins_before & ends_after)
    if slides.have_steps_within(plan.frame_us):
        return points
    combined = [part.combine(F.col(part.column)).alias(part.column) for part in parts]
    return points.groupBy(*key, BLOCK, POINT, ENTERS).agg(*combined)


def reach_of(key: Sequence[str], plan: Plan) -> Reach:
    """The change points of a block, ahead and back.

    Those at one start come in some order: looking back takes the one of looking ahead, reversed, and both
    that of points which were gathered, so that nothing is seen twice and nothing is missed.
    """
    block = W.partitionBy(*key, BLOCK)
    descending = block.orderBy(F.col(RANK) if plan.gathers else F.desc(POINT))
    is_ranked = plan.looks_ahead or plan.gathers
    ascending = block.orderBy(F.desc(RANK) if is_ranked else F.col(POINT))
    return Reach(
        so_far=_over(ascending.rowsBetween(W.unboundedPreceding, W.currentRow)),
        block=_over(ascending.rowsBetween(W.unboundedPreceding, W.unboundedFollowing)),
        to_come=_over(descending.rowsBetween(W.unboundedPreceding, -1)),
        ascending=_over(ascending),
        descending=_over(descending),
    )


def written_out(
    points: DataFrame, values: Mapping[str, Value], *, key: Sequence[str], slides: Slides
) -> DataFrame:
    """Each value at all the window starts of its run: key, `START`, the values.

    The first change point of a block writes the run before it too. Values are worked out only where
    their windows exist.
    """
    begin_us = slides.start_of(F.col(BLOCK))
    end_us = F.coalesce(F.col(NEXT), slides.start_of(F.col(BLOCK) + slides.size_us))
    point_us = F.col(POINT)
    exists_before = exists({column: value.before for column, value in values.items()})
    holds_before = F.col(FIRST) & (begin_us < point_us) & exists_before
    holds_after = (end_us > point_us) & exists({column: value.after for column, value in values.items()})
    from_us = F.when(holds_before, begin_us).otherwise(point_us)
    until_us = F.when(holds_after, end_us).otherwise(point_us)
    if slides.starts:
        from_us = F.greatest(from_us, slides.start_from(slides.first_us))
        until_us = F.least(until_us, slides.start_from(slides.end_us))
    runs = points.where((holds_before | holds_after) & (from_us < until_us)).select(
        *key,
        POINT,
        from_us.alias("_from_us"),
        until_us.alias("_until_us"),
        *[F.when(holds_before, value.before).alias(f"_{column}_before") for column, value in values.items()],
        *[F.when(holds_after, value.after).alias(f"_{column}_after") for column, value in values.items()],
    )
    return _at_every_start(runs, list(values), key=key, step_us=slides.step_us)


def _at_every_start(
    runs: DataFrame, columns: Sequence[str], *, key: Sequence[str], step_us: Column
) -> DataFrame:
    every = F.explode(F.sequence(F.col("_from_us"), F.col("_until_us") - step_us, step_us))
    written = runs.select("*", every.alias(START))
    precedes = F.col(START) < F.col(POINT)
    return written.select(
        *key,
        START,
        *[
            F.when(precedes, F.col(f"_{column}_before")).otherwise(F.col(f"_{column}_after")).alias(column)
            for column in columns
        ],
    )


def _over(specification: WindowSpec) -> Over:
    return lambda function: function.over(specification)
