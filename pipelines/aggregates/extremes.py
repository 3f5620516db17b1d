"""The smallest and the largest values: one, or `n` of them. Nothing tells what the rest was: no deduct.

The order is Spark's: NaN is the largest number.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates.arrays import loose
from pipelines.aggregates.operation import Operation, Over, Part
from pipelines.aggregates.options import number
from pipelines.spec.model import Aggregate


def _finish(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return parts["extreme"]


def _finish_many(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return parts["extremes"]


def least(states: Column, over: Over) -> Column:
    return over(F.min(states))


def greatest(states: Column, over: Over) -> Column:
    return over(F.max(states))


def lesser(one: Column, other: Column) -> Column:
    return F.least(one, other)


def greater(one: Column, other: Column) -> Column:
    return F.greatest(one, other)


SMALLEST = Part(name="extreme", accumulate=F.min, combine=least, merge=lesser)
LARGEST = Part(name="extreme", accumulate=F.max, combine=greatest, merge=greater)

MIN = Operation(name="min", parts=(SMALLEST,), finish=_finish)
MAX = Operation(name="max", parts=(LARGEST,), finish=_finish)


def top(aggregate: Aggregate) -> Operation:
    """The `n` largest values, the largest first; fewer where there are not so many, none of nothing."""
    return Operation(name="top", parts=(_extremes(aggregate, ascending=False),), finish=_finish_many)


def bottom(aggregate: Aggregate) -> Operation:
    """The `n` smallest values, the smallest first."""
    return Operation(name="bottom", parts=(_extremes(aggregate, ascending=True),), finish=_finish_many)


def _extremes(aggregate: Aggregate, *, ascending: bool) -> Part:
    def first(values: Column) -> Column:
        return F.slice(F.sort_array(values, asc=ascending), 1, number(aggregate, "n"))

    def combine(states: Column, over: Over) -> Column:
        return loose(first(F.flatten(over(F.collect_list(states)))))

    return Part(
        name="extremes",
        accumulate=lambda values: loose(first(F.collect_list(values))),
        combine=combine,
        merge=lambda one, other: loose(first(F.concat(one, other))),
        gathers=True,
    )
