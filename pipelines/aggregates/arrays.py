"""Arrays as states: gathered, put in order, counted. The same values make the same array, in any order."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.aggregates.operation import Over, to_group


def once(value: Column, use: Callable[[Column], Column]) -> Column:
    """`use(value)`, with the value computed once, however often it is used."""
    return F.transform(F.array(value), use)[0]


def record(**fields: Column) -> Column:
    """A struct whose fields may be null: within arrays and maps Delta takes no others."""
    return F.struct(*[_loose(field).alias(name) for name, field in fields.items()])


def ordered(values: Column, over: Over = to_group) -> Column:
    """The values of a group that are not null, ascending."""
    return loose(F.sort_array(over(F.collect_list(values))))


def ordered_together(states: Column, over: Over = to_group) -> Column:
    """The items of all arrays of a group, ascending."""
    return loose(F.sort_array(F.flatten(over(F.collect_list(states)))))


def distinct(ascending: Column) -> Column:
    """Each item once. NaN is one value, and 0.0 and -0.0 are, as where Spark groups by them."""
    return once(
        ascending,
        lambda items: F.filter(items, lambda item, at: ~item.eqNullSafe(F.get(items, at - 1))),
    )


def counted(ascending: Column) -> Column:
    """Each item of an array with how often it is there: `array<struct<value, count>>`, by value."""
    return tally(F.transform(ascending, lambda item: record(value=item, count=F.lit(1).cast("bigint"))))


def tally(entries: Column) -> Column:
    """Entries of `value, count`, ascending by value, added up: one per value, none with a count of zero."""

    def summed(items: Column) -> Column:
        places = F.transform(items, lambda item, at: F.when(_begins(items, at), at))
        return once(F.array_compact(places), lambda starts: F.transform(starts, entry_of(items, starts)))

    def entry_of(items: Column, starts: Column) -> Callable[[Column, Column], Column]:
        def entry(start: Column, at: Column) -> Column:
            end = F.coalesce(F.get(starts, at + 1), F.size(items))
            run = F.slice(items, start + 1, end - start)
            return record(value=F.get(items, start)["value"], count=total(run, lambda item: item["count"]))

        return entry

    return loose(F.filter(once(entries, summed), lambda entry: entry["count"] != 0))


def total(items: Column, of: Callable[[Column], Column], *, kind: str = "bigint") -> Column:
    """The sum of something over an array's items, of none of them zero."""
    return F.aggregate(items, F.lit(0).cast(kind), lambda so_far, item: so_far + of(item))


def _begins(items: Column, at: Column) -> Column:
    """Whether a run of equal values begins there. Before the first is nothing, which equals none."""
    return ~F.get(items, at)["value"].eqNullSafe(F.get(items, at - 1)["value"])


def loose(items: Column) -> Column:
    """The same array, of which Delta is told that items may be null."""
    return F.transform(items, _loose)


def _loose(value: Column) -> Column:
    """The value, as one that may be null. Of a literal `true` Spark would see that it never is."""
    return F.when(F.lit(1) == F.lit(1), value)
