"""Sessions: intervals of one key that overlap become one, and bounded ones are cut again.

In come rows with `window`, the name of their definition, and `start_us` and `end_us`, the bounds of what
each would be alone; they may overlap in any way. Two that touch belong together or not, as the definition
says. All definitions go through one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as W
from pyspark.sql import functions as F

from pipelines.spec.model import Session, Window

ISLAND = "_island_us"


def session_of(window: Window) -> Session:
    """The shape of a definition that is a session."""
    if not isinstance(window.shape, Session):
        raise TypeError(f"window `{window.name}` is no session: {window.shape}")
    return window.shape


def by_window(windows: Sequence[Window], value: Callable[[Window], Column]) -> Column:
    """A value that depends on the definition that a row is of."""
    cases = [F.when(F.col("window") == window.name, value(window)) for window in windows]
    return F.coalesce(*cases)


def is_bounded(windows: Sequence[Window]) -> Column:
    """Whether a row is of a definition whose sessions have a greatest length."""
    names = [window.name for window in windows if session_of(window).max_us is not None]
    return F.col("window").isin(names) if names else F.lit(False)


def with_islands(rows: DataFrame, windows: Sequence[Window], *, key: Sequence[str]) -> DataFrame:
    """The rows and `ISLAND`, the start of the run of overlapping rows that each is in."""
    in_order = W.partitionBy(*key, "window").orderBy("start_us", "end_us")
    reach = F.max("end_us").over(in_order.rowsBetween(W.unboundedPreceding, -1))
    begins = reach.isNull() | (F.col("start_us") > reach) | (_splits(windows) & (F.col("start_us") == reach))
    so_far = in_order.rowsBetween(W.unboundedPreceding, W.currentRow)
    return rows.withColumn(ISLAND, F.max(F.when(begins, F.col("start_us"))).over(so_far))


def with_cuts(rows: DataFrame, windows: Sequence[Window], *, key: Sequence[str]) -> DataFrame:
    """The rows and `ISLAND`, where those of bounded definitions, an instant each, are cut to their length.

    In time order an instant joins while its end is less than `max` after the start, else it starts the next.
    """
    islands = with_islands(rows, windows, key=key)
    if all(session_of(window).max_us is None for window in windows):
        return islands
    whole = [*key, "window", ISLAND]
    instants = islands.where(is_bounded(windows)).groupBy(*whole).agg(F.collect_set("start_us").alias("_all"))
    cuts = F.explode(_cuts(F.sort_array("_all"), _room_us(windows)))
    begins = instants.select(*[F.col(name).alias(f"_cut_{name}") for name in whole], cuts.alias("_begins"))
    same = [F.col(name).eqNullSafe(F.col(f"_cut_{name}")) for name in whole]
    marked = islands.join(begins, on=[*same, F.col("start_us") == F.col("_begins")], how="left")
    so_far = W.partitionBy(*whole).orderBy("start_us").rowsBetween(W.unboundedPreceding, W.currentRow)
    start_us = F.coalesce(F.max("_begins").over(so_far), F.col(ISLAND))
    return marked.withColumn("_start_us", start_us).select(*rows.columns, F.col("_start_us").alias(ISLAND))


def _splits(windows: Sequence[Window]) -> Column:
    splitting = [F.col("window") == it.name for it in windows if session_of(it).touching == "split"]
    return reduce(or_, splitting, F.lit(False))


def _room_us(windows: Sequence[Window]) -> Column:
    """How long after the start of a bounded session an instant begins the next."""
    bounded = [window for window in windows if session_of(window).max_us is not None]
    return by_window(bounded, lambda it: F.lit((session_of(it).max_us or 0) - session_of(it).gap_us))


def _cuts(instants: Column, room_us: Column) -> Column:
    """The starts of the bounded sessions of one island, of its instants in ascending order."""

    def joined(starts: Column, instant: Column) -> Column:
        begins = (F.size(starts) == 0) | (instant - F.element_at(starts, -1) >= room_us)
        return F.when(begins, F.concat(starts, F.array(instant))).otherwise(starts)

    return F.aggregate(instants, F.array().cast("array<bigint>"), joined)
