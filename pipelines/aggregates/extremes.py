"""The smallest and the largest value. Once combined, nothing tells what the rest was: there is no deduct."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates.operation import Operation, Over, Part


def _finish(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return parts["extreme"]


def _least(states: Column, over: Over) -> Column:
    return over(F.min(states))


def _greatest(states: Column, over: Over) -> Column:
    return over(F.max(states))


def _lesser(one: Column, other: Column) -> Column:
    return F.least(one, other)


def _greater(one: Column, other: Column) -> Column:
    return F.greatest(one, other)


SMALLEST = Part(name="extreme", accumulate=F.min, combine=_least, merge=_lesser)
LARGEST = Part(name="extreme", accumulate=F.max, combine=_greatest, merge=_greater)

MIN = Operation(name="min", parts=(SMALLEST,), finish=_finish)
MAX = Operation(name="max", parts=(LARGEST,), finish=_finish)
