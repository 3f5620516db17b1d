"""Aggregates that keep their values: as a set, counted, or as they came.

States are arrays in ascending order, so the same values make the same state. Where values are counted, or
kept each with its instant, they can be taken away again. Lists are not gathered for sliding windows: to
collect all items is what their `combine` is for, and gathering took a third longer.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates.arrays import counted, distinct, loose, ordered, ordered_together, tally
from pipelines.aggregates.operation import Operation, Over, Part
from pipelines.aggregates.picked import at_its_instant


def _gather_set(values: Column) -> Column:
    return distinct(loose(F.sort_array(F.collect_set(values))))


def _join_sets(states: Column, over: Over) -> Column:
    return distinct(ordered_together(states, over))


def _join_two_sets(one: Column, other: Column) -> Column:
    return distinct(loose(F.sort_array(F.concat(one, other))))


def _add_counts(states: Column, over: Over) -> Column:
    return tally(ordered_together(states, over))


def _add_two_counts(one: Column, other: Column) -> Column:
    return tally(F.sort_array(F.concat(one, other)))


def _take_counts(one: Column, other: Column) -> Column:
    taken = F.transform(other, lambda entry: entry.withField("count", -entry["count"]))
    return tally(F.sort_array(F.concat(one, taken)))


def _join_two_lists(one: Column, other: Column) -> Column:
    return loose(F.sort_array(F.concat(one, other)))


def _take_items(one: Column, other: Column) -> Column:
    left = _take_counts(counted(one), counted(other))
    repeated = F.transform(left, lambda entry: F.array_repeat(entry["value"], entry["count"].cast("int")))
    return loose(F.flatten(repeated))


SET = Part(
    name="values",
    accumulate=_gather_set,
    combine=_join_sets,
    merge=_join_two_sets,
    gathers=True,
    grows=True,
)
COUNTS = Part(
    name="counts",
    accumulate=lambda values: counted(ordered(values)),
    combine=_add_counts,
    merge=_add_two_counts,
    deduct=_take_counts,
    gathers=True,
    grows=True,
)
ITEMS = Part(
    name="items",
    accumulate=ordered,
    combine=ordered_together,
    merge=_join_two_lists,
    deduct=_take_items,
)


def _finish_distinct(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return F.coalesce(F.size(parts["values"]), F.lit(0)).cast("bigint")


def _finish_set(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return parts["values"]


def _finish_histogram(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return F.map_from_entries(parts["counts"])


def _finish_list(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return F.transform(parts["items"], lambda item: item["value"])


DISTINCT = Operation(name="distinct", parts=(SET,), finish=_finish_distinct)
COLLECT_SET = Operation(name="collect_set", parts=(SET,), finish=_finish_set)
HISTOGRAM = Operation(name="histogram", parts=(COUNTS,), finish=_finish_histogram)
COLLECT_LIST = Operation(name="collect_list", parts=(ITEMS,), finish=_finish_list, value=at_its_instant)
