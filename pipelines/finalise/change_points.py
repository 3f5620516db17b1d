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
from pipelines.intervals import Interval
from pipelines.spec import Cumulate, Sliding

BLOCK, POINT, RANK = "_block_us", "_point_us", "_rank"
FIRST, NEXT = "_is_first", "_next_us"


class Value(NamedTuple):
    """A part's state before the first change point of a block, and that from each change point on."""

    before: Column
    after: Column


def change_points(
    frames: DataFrame, parts: Sequence[StatePart], *, key: Sequence[str], plan: Plan, starts: Interval | None
) -> DataFrame:
    """Each frame where it enters and where it leaves: key, `BLOCK`, `POINT`, `ENTERS`, the parts."""
    sliding, columns = plan.shape, [part.column for part in parts]
    enters, frame_us = F.col(ENTERS), F.col("_frame_us")
    last_us = floored(frame_us, sliding.step_us, offset_us=sliding.offset_us)
    first_us = floored(frame_us - us(sliding.size_us), sliding.step_us, offset_us=sliding.offset_us) + us(
        sliding.step_us
    )
    block_us = floored(frame_us, sliding.size_us, offset_us=sliding.offset_us)
    both = F.explode(F.array(F.lit(False), F.lit(True))).alias(ENTERS)
    matters = F.when(enters, first_us < block_us).otherwise(last_us >= block_us)
    points = (
        frames.select(*key, "_frame_us", *columns, both)
        .where(matters & (first_us <= last_us))
        .select(
            *key,
            F.when(enters, block_us - us(sliding.size_us)).otherwise(block_us).alias(BLOCK),
            F.when(enters, first_us).otherwise(last_us + us(sliding.step_us)).alias(POINT),
            ENTERS,
            *columns,
        )
    )
    if starts is not None:
        meets = (F.col(BLOCK) < us(starts.end_us)) & (
            F.col(BLOCK) + us(sliding.size_us) > us(starts.start_us)
        )
        points = points.where(meets)
    if sliding.step_us <= plan.frame_us:
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
    points: DataFrame, values: Mapping[str, Value], *, key: Sequence[str], plan: Plan, starts: Interval | None
) -> DataFrame:
    """Each value at all the window starts of its run: key, `START`, the values.

    The first change point of a block writes the run before it too. Values are worked out only where
    their windows exist.
    """
    begin_us = _first_start(F.col(BLOCK), plan.shape)
    end_us = F.coalesce(F.col(NEXT), _first_start(F.col(BLOCK) + us(plan.shape.size_us), plan.shape))
    point_us = F.col(POINT)
    exists_before = exists({column: value.before for column, value in values.items()})
    holds_before = F.col(FIRST) & (begin_us < point_us) & exists_before
    holds_after = (end_us > point_us) & exists({column: value.after for column, value in values.items()})
    from_us = F.when(holds_before, begin_us).otherwise(point_us)
    until_us = F.when(holds_after, end_us).otherwise(point_us)
    if starts is not None:
        from_us = F.greatest(from_us, us(_next_start(starts.start_us, plan.shape)))
        until_us = F.least(until_us, us(_next_start(starts.end_us, plan.shape)))
    runs = points.where((holds_before | holds_after) & (from_us < until_us)).select(
        *key,
        POINT,
        from_us.alias("_from_us"),
        until_us.alias("_until_us"),
        *[F.when(holds_before, value.before).alias(f"{column}_before") for column, value in values.items()],
        *[F.when(holds_after, value.after).alias(f"{column}_after") for column, value in values.items()],
    )
    return _at_every_start(runs, list(values), key=key, step_us=us(plan.shape.step_us))


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
            F.when(precedes, F.col(f"{column}_before")).otherwise(F.col(f"{column}_after")).alias(column)
            for column in columns
        ],
    )


def us(length_us: int) -> Column:
    """A literal of microseconds."""
    return F.lit(length_us).cast("bigint")


def _first_start(block_us: Column, shape: Sliding | Cumulate) -> Column:
    """The first window start of a block."""
    if shape.size_us % shape.step_us == 0:
        return block_us
    return block_us + F.pmod(us(shape.offset_us) - block_us, us(shape.step_us))


def _next_start(instant_us: int, shape: Sliding | Cumulate) -> int:
    return instant_us + (shape.offset_us - instant_us) % shape.step_us


def floored(instant_us: Column, length_us: int, *, offset_us: int) -> Column:
    """The last instant `≡ offset (mod length)` at or before a column of instants."""
    return instant_us - F.pmod(instant_us - us(offset_us), us(length_us))


def _over(specification: WindowSpec) -> Over:
    return lambda function: function.over(specification)
