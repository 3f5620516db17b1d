"""One value picked by another: by the event's time, or by an expression.

Among equals the smallest value wins for `first` and `min_by`, the largest for `last` and `max_by`, so that
no result depends on the order of rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates.arrays import record
from pipelines.aggregates.extremes import greater, greatest, least, lesser
from pipelines.aggregates.operation import Given, Operation, Part

SMALLEST = Part(name="picked", accumulate=F.min, combine=least, merge=lesser)
LARGEST = Part(name="picked", accumulate=F.max, combine=greatest, merge=greater)


def at_its_instant(given: Given) -> Column:
    """A value that is not null, behind its event time."""
    return F.when(given.of.isNotNull(), record(instant_us=given.instant_us, value=given.of))


def _by(given: Given) -> Column:
    """A value behind what picks it; as in Spark's own, that may not be null, the value may."""
    by = F.lit(None) if given.by is None else given.by
    return F.when(by.isNotNull(), record(by=by, value=given.of))


def _finish(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return parts["picked"]["value"]


FIRST = Operation(name="first", parts=(SMALLEST,), finish=_finish, value=at_its_instant)
LAST = Operation(name="last", parts=(LARGEST,), finish=_finish, value=at_its_instant)
MIN_BY = Operation(name="min_by", parts=(SMALLEST,), finish=_finish, value=_by)
MAX_BY = Operation(name="max_by", parts=(LARGEST,), finish=_finish, value=_by)
