"""Sessions: intervals of one key that overlap become one, and bounded ones are cut again.

In come rows with `window`, the name of their definition, and `start_us` and `end_us`, the bounds of what
each would be alone; they may overlap in any way. Two that touch belong together or not, as the definition
says. All definitions go through one pass, but custom ones are asked one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as W
from pyspark.sql import functions as F

from pipelines.spec.model import Custom, Session, Window
from pipelines.windows.custom import grouped
from pipelines.windows.merging import is_bounded, keeps_apart, touching

ISLAND, ISLAND_END = "_island_us", "_island_end_us"


def by_window(windows: Sequence[Window], value: Callable[[Window], Column]) -> Column:
    """A value that depends on the definition that a row is of."""
    cases = [F.when(F.col("window") == window.name, value(window)) for window in windows]
    return F.coalesce(*cases)


def is_apart(windows: Sequence[Window]) -> Column:
    """Whether a row is of a definition whose windows others may cut anew."""
    return _is_of([window for window in windows if keeps_apart(window.shape)])


def _splits(windows: Sequence[Window]) -> Column:
    """Whether a row is of a definition whose sessions stay two where they touch."""
    return _is_of([window for window in windows if touching(window.shape) == "split"])


def is_in_order(windows: Sequence[Window]) -> Column:
    """Whether a row is of a definition that is cut in order of event time: what ended before is as it was."""
    return _is_of([window for window in windows if is_bounded(window.shape)])


def with_islands(rows: DataFrame, windows: Sequence[Window], *, key: Sequence[str]) -> DataFrame:
    """The rows and `ISLAND`, the start of the run of overlapping rows that each is in."""
    in_order = W.partitionBy(*key, "window").orderBy("start_us", "end_us")
    reach = F.max("end_us").over(in_order.rowsBetween(W.unboundedPreceding, -1))
    begins = reach.isNull() | (F.col("start_us") > reach) | (_splits(windows) & (F.col("start_us") == reach))
    so_far = in_order.rowsBetween(W.unboundedPreceding, W.currentRow)
    return rows.withColumn(ISLAND, F.max(F.when(begins, F.col("start_us"))).over(so_far))


def with_cuts(rows: DataFrame, windows: Sequence[Window], *, key: Sequence[str]) -> DataFrame:
    """The rows and the session that each is in: `ISLAND`, its start, and `ISLAND_END`.

    The end is null where it is the last end in it. Rows of bounded definitions, an instant each, are cut to
    their length; those of custom ones, an interval each with `event_count`, go where their function says.
    """
    islands = with_islands(rows, windows, key=key).withColumn(ISLAND_END, F.lit(None).cast("bigint"))
    cut = [window for window in windows if is_bounded(window.shape)]
    custom = [(window, window.shape) for window in windows if isinstance(window.shape, Custom)]
    others = islands.where(~_is_of([*cut, *[window for window, _ in custom]]))
    bounded = [_cut(islands.where(_is_of(cut)), cut, key=key)] if cut else []
    merged = [_merged(islands.where(_is_of([it])), shape.attribute, key=key) for it, shape in custom]
    return reduce(DataFrame.unionByName, [*bounded, *merged], others)


def _cut(islands: DataFrame, windows: Sequence[Window], *, key: Sequence[str]) -> DataFrame:
    """Bounded sessions: an instant joins while its end is less than `max` after the start, else it begins
    the next.
    """
    whole = [*key, "window", ISLAND]
    room_us = by_window(windows, lambda it: F.lit(_room_us(it)))
    instants = islands.groupBy(*whole).agg(F.collect_set("start_us").alias("_all"))
    begins = instants.select(*whole, F.explode(_cuts(F.sort_array("_all"), room_us)).alias("_begins"))
    marked = _beside(islands, begins, on=whole, equal={"start_us": "_begins"})
    so_far = W.partitionBy(*whole).orderBy("start_us").rowsBetween(W.unboundedPreceding, W.currentRow)
    start_us = F.coalesce(F.max("_begins").over(so_far), F.col(ISLAND))
    return marked.withColumn("_start_us", start_us).select(
        *[F.col("_start_us").alias(ISLAND) if name == ISLAND else F.col(name) for name in islands.columns]
    )


def _merged(islands: DataFrame, attribute: str, *, key: Sequence[str]) -> DataFrame:
    """Custom windows: their function is asked about each run of overlapping intervals."""
    whole = [*key, "window", ISLAND]
    intervals = F.collect_list(F.struct("start_us", "end_us", "event_count"))
    asked = islands.groupBy(*whole).agg(intervals.alias("_all"))
    told = asked.select(*whole, F.inline(grouped(attribute, F.col("_all")))).select(
        *whole,
        F.col("start_us").alias("_of_start_us"),
        F.col("end_us").alias("_of_end_us"),
        "group_start_us",
        "group_end_us",
    )
    found = _beside(islands, told, on=whole, equal={"start_us": "_of_start_us", "end_us": "_of_end_us"})
    new = {ISLAND: F.col("group_start_us"), ISLAND_END: F.col("group_end_us")}
    return found.select(*[new.get(name, F.col(name)).alias(name) for name in islands.columns])


def _beside(rows: DataFrame, others: DataFrame, *, on: Sequence[str], equal: Mapping[str, str]) -> DataFrame:
    """The rows, and the columns of the others that are of the same place; null where none is."""
    named = others.select(
        *[F.col(name).alias(f"_other_{name}") if name in on else F.col(name) for name in others.columns]
    )
    same = [F.col(name).eqNullSafe(F.col(f"_other_{name}")) for name in on]
    return rows.join(named, on=[*same, *[F.col(a) == F.col(b) for a, b in equal.items()]], how="left")


def _is_of(windows: Sequence[Window]) -> Column:
    names = [window.name for window in windows]
    return F.col("window").isin(names) if names else F.lit(False)


def _room_us(window: Window) -> int | None:
    """How long after the start of a bounded session an instant begins the next."""
    shape = window.shape
    return shape.max_us - shape.gap_us if isinstance(shape, Session) and shape.max_us is not None else None


def _cuts(instants: Column, room_us: Column) -> Column:
    """The starts of the bounded sessions of one island, of its instants in ascending order."""

    def joined(starts: Column, instant: Column) -> Column:
        begins = (F.size(starts) == 0) | (instant - F.element_at(starts, -1) >= room_us)
        return F.when(begins, F.concat(starts, F.array(instant))).otherwise(starts)

    return F.aggregate(instants, F.array().cast("array<bigint>"), joined)
