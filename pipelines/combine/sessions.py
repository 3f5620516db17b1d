"""Partial sessions of all sources and batches into sessions: those that a batch can have changed.

A session depends on what overlaps it and on nothing else. So the areas that a batch touched, grown by the
open sessions that they meet, are built again from all partial sessions inside; what stood there and is not
built again is gone. Sessions that had closed are left alone, with all that is inside them, unless a batch
that runs again takes events out of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import combine_columns, part_columns
from pipelines.combine.frames import TOUCHED
from pipelines.intervals import LATEST_US
from pipelines.spec import Pipeline, Window
from pipelines.windows import (
    ISLAND,
    ISLAND_END,
    Gone,
    by_window,
    grace_us,
    is_apart,
    is_in_order,
    keeps_apart,
    with_cuts,
    with_islands,
)

ClosedAt = Callable[[Window], int | None]
"""The watermark that closes the windows of a definition, in their time; `None`: no window has closed."""

OUTER = "_around_"
WHOLE = "_is_whole"


@dataclass(frozen=True, slots=True)
class Standing:
    """The sessions that stand, parted by the watermark before the batch: open and closed ones."""

    opened: DataFrame
    closed: DataFrame


def standing(
    sessions: DataFrame, windows: Sequence[Window], *, closed_at_us: ClosedAt, gone: Gone | None
) -> Standing:
    """The sessions that an event may still join, and the others: also those of which parts have gone."""
    timed = _timed(sessions).withColumn(WHOLE, _is_whole(gone))
    is_open = by_window(windows, lambda it: _is_open(it, closed_at_us(it))) & F.col(WHOLE)
    return Standing(timed.where(is_open), timed.where(~is_open))


def reopened(stand: Standing, of_batch: DataFrame, *, key: Sequence[str]) -> Standing:
    """The same, where closed sessions that are whole are open if they lose a partial session: one `of_batch`
    without events.

    No event joins a closed session, but one that was taken in while lateness was ignored may leave it.
    """
    place = (*key, "window")
    gone = _around(_timed(of_batch.where("event_count = 0")), place)
    loses = _same(place) & _spans() & F.col(WHOLE)
    losing = stand.closed.join(gone, on=loses, how="left_semi")
    others = stand.closed.join(gone, on=loses, how="left_anti")
    return Standing(stand.opened.unionByName(losing), others)


def among_kept(
    of_batch: DataFrame, sessions: DataFrame, *, windows: Sequence[Window], key: Sequence[str], gone: Gone
) -> DataFrame:
    """Of the partial sessions of a batch those that overlap one, or a session, that ends after what has gone,
    by themselves or by others of the batch: they are, or were, part of one that is whole.
    """
    place, timed = (*key, "window"), _timed(of_batch)
    is_kept = F.col("end_us") > F.lit(gone.until_us)
    spans = [rows.select(*place, "start_us", "end_us") for rows in (timed, _timed(sessions).where(is_kept))]
    islands = with_islands(spans[0].unionByName(spans[1]), windows, key=key)
    runs = islands.groupBy(*place, ISLAND).agg(F.max("end_us").alias("end_us")).where(is_kept)
    around = _around(runs.withColumnRenamed(ISLAND, "start_us"), place)
    return timed.join(around, on=_within(place), how="left_semi")


def open_after_us(windows: Sequence[Window], *, closed_at_us: ClosedAt) -> int | None:
    """The instant that the ends of all open sessions are after; `None`: wherever they end."""
    closed = [(it, closed_at_us(it)) for it in windows]
    if any(at_us is None for _, at_us in closed):
        return None
    return min(
        at_us - it.allowed_lateness_us - grace_us(it.shape) for it, at_us in closed if at_us is not None
    )


def _is_whole(gone: Gone | None) -> Column:
    return F.lit(True) if gone is None else gone.leaves_whole(F.col("start_us"), F.col("end_us"))


def _is_open(window: Window, watermark_us: int | None) -> Column:
    if watermark_us is None:
        return F.lit(True)
    if watermark_us >= LATEST_US:
        return F.lit(False)
    return F.col("end_us") > F.lit(watermark_us - window.allowed_lateness_us - grace_us(window.shape))


def areas(
    touched: DataFrame, stand: Standing, *, windows: Sequence[Window], key: Sequence[str], in_turn: bool
) -> DataFrame:
    """Key, `window` and bounds of the stretches of event time in which sessions are to be built again.

    Each name has `OUTER` before it. An open session may have begun anew beside another and overlap it: only
    those that meet what is touched are built again, and where they are cut those before them too, unless the
    batch is `in_turn`.
    """
    place = (*key, "window")
    spans = _timed(touched).select(*place, "start_us", "end_us", F.lit(True).alias(TOUCHED))
    first = spans.groupBy(*place).agg(F.min("start_us").alias("start_us"), F.max("end_us").alias("end_us"))
    # Where sessions are cut in order, those that ended before stay, unless others overlap them.
    may_change = F.lit(not in_turn) | ~is_in_order(windows) | (F.col("end_us") >= F.col(f"{OUTER}start_us"))
    near = stand.opened.join(_around(first, place), on=_same(place) & may_change, how="left_semi")
    if not all(keeps_apart(it.shape) for it in windows):
        runs = (
            with_islands(spans, windows, key=key).groupBy(*place, ISLAND).agg(F.max("end_us").alias("end_us"))
        )
        mine = _around(runs.withColumnRenamed(ISLAND, "start_us"), place)
        # Where sessions are cut, one may depend on those before it.
        meets = is_apart(windows) | _meets(windows)
        near = near.join(mine, on=_same(place) & meets, how="left_semi")
    beside = near.select(*place, "start_us", "end_us", F.lit(False).alias(TOUCHED))
    islands = with_islands(spans.unionByName(beside), windows, key=key)
    grown = islands.groupBy(*place, ISLAND).agg(
        F.max("end_us").alias("end_us"), F.max(TOUCHED).alias(TOUCHED)
    )
    return _around(grown.where(TOUCHED).withColumnRenamed(ISLAND, "start_us"), place)


def reach_of(areas: DataFrame) -> DataFrame:
    """One row, `first_us` and `last_us`: the first start and the last end of all areas."""
    first_us, last_us = F.min(f"{OUTER}start_us"), F.max(f"{OUTER}end_us")
    return areas.agg(first_us.alias("first_us"), last_us.alias("last_us"))


def combine_sessions(
    partials: DataFrame,
    stand: Standing,
    *,
    windows: Sequence[Window],
    areas: DataFrame,
    pipeline: Pipeline,
) -> DataFrame:
    """The sessions in the areas: key, `window, window_start, window_end`, parts, `event_count`, zero for one
    that is gone.
    """
    place = (*pipeline.key, "window")
    inside = _timed(partials.where("event_count > 0")).join(areas, on=_within(place), how="left_semi")
    free = inside.join(_around(stand.closed, place), on=_within(place), how="left_anti")
    combining = combine_columns(pipeline.aggregates, partials.schema)
    # Of one proto-session, or one instant, there may be a row from every source and batch.
    alone = free.groupBy(*place, "start_us", "end_us").agg(*combining)
    built = with_cuts(alone, windows, key=pipeline.key)
    end_us = F.coalesce(F.col(ISLAND_END), F.max("end_us")).alias("end_us")
    now = built.groupBy(*place, ISLAND, ISLAND_END).agg(end_us, *combining)
    stood = stand.opened.join(areas, on=_within(place), how="left_semi")
    return _with_gone(now.withColumnRenamed(ISLAND, "start_us"), stood, pipeline=pipeline)


def _with_gone(now: DataFrame, stood: DataFrame, *, pipeline: Pipeline) -> DataFrame:
    parts = part_columns(pipeline.aggregates)
    bounds = (*pipeline.key, "window", "start_us", "end_us")
    nothing = [F.lit(None).cast(now.schema[part].dataType).alias(part) for part in parts]
    gone = stood.select(*bounds, *nothing, F.lit(0).cast("bigint").alias("event_count"))
    both = now.select(*bounds, *parts, "event_count").unionByName(gone)
    return (
        both.groupBy(*bounds)
        .agg(*combine_columns(pipeline.aggregates, now.schema))
        .select(
            *pipeline.key,
            "window",
            F.timestamp_micros("start_us").alias("window_start"),
            F.timestamp_micros("end_us").alias("window_end"),
            *parts,
            "event_count",
        )
    )


def _timed(rows: DataFrame) -> DataFrame:
    return rows.withColumns(
        {"start_us": F.unix_micros("window_start"), "end_us": F.unix_micros("window_end")}
    )


def _around(rows: DataFrame, place: Sequence[str]) -> DataFrame:
    """Places and bounds under names of their own, so that rows inside can be joined to them by name."""
    return rows.select(*[F.col(name).alias(f"{OUTER}{name}") for name in (*place, "start_us", "end_us")])


def _within(place: Sequence[str]) -> Column:
    starts = F.col("start_us") >= F.col(f"{OUTER}start_us")
    return _same(place) & starts & (F.col("end_us") <= F.col(f"{OUTER}end_us"))


def _meets(windows: Sequence[Window]) -> Column:
    """Whether a row and what is around it would be one session."""
    grace = by_window(windows, lambda it: F.lit(grace_us(it.shape)))
    starts = F.col("start_us") < F.col(f"{OUTER}end_us") + grace
    return starts & (F.col(f"{OUTER}start_us") < F.col("end_us") + grace)


def _spans() -> Column:
    """Whether what is around a row lies within it."""
    starts = F.col("start_us") <= F.col(f"{OUTER}start_us")
    return starts & (F.col("end_us") >= F.col(f"{OUTER}end_us"))


def _same(place: Sequence[str]) -> Column:
    same = [F.col(name).eqNullSafe(F.col(f"{OUTER}{name}")) for name in place]
    return reduce(lambda one, other: one & other, same)
