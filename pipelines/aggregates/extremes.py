"""The smallest and the largest value. Once combined, nothing tells what the rest was: there is no deduct."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates.operation import Operation, Part


def _finish(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return parts["extreme"]


def _least(one: Column, other: Column) -> Column:
    return F.least(one, other)


def _greatest(one: Column, other: Column) -> Column:
    return F.greatest(one, other)


SMALLEST = Part(name="extreme", accumulate=F.min, combine=F.min, merge=_least)
LARGEST = Part(name="extreme", accumulate=F.max, combine=F.max, merge=_greatest)

MIN = Operation(name="min", parts=(SMALLEST,), finish=_finish)
MAX = Operation(name="max", parts=(LARGEST,), finish=_finish)
