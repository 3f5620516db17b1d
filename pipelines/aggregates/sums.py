"""Counts, sums and averages: what adds up, and where it is exact can be taken away again.

Longs and decimals stay exact and fail on overflow; doubles add up as Spark adds them, NaN and infinities
included.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import add, sub

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType

from pipelines.aggregates.operation import Operation, Over, Part, to_group

SUM_DIGITS, MOST_DIGITS = 10, 38
"""Spark's `sum` widens a decimal by ten digits, up to as many as there can be."""


def _total(values: Column, over: Over = to_group) -> Column:
    return F.coalesce(over(F.sum(values)), F.lit(0))


ROWS = Part(name="rows", accumulate=F.count, combine=_total, merge=add, deduct=sub)
TOTAL = Part(name="total", accumulate=_total, combine=_total, merge=add, deduct=sub)


def _finish_count(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return parts["rows"]


def _finish_sum(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return F.when(parts["rows"] > 0, parts["total"])


def _finish_avg(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    """The type is that of Spark's own `avg`: four more digits for a decimal, a double for all others.

    Of sums that have all digits there are it is not known how many their values had: so have their averages.
    """
    total = types["total"]
    if not isinstance(total, DecimalType):
        return F.when(parts["rows"] > 0, parts["total"].cast("double") / parts["rows"])
    scale = min(total.scale + 4, MOST_DIGITS)
    digits = MOST_DIGITS if total.precision == MOST_DIGITS else total.precision - SUM_DIGITS + 4
    mean = parts["total"] / parts["rows"].cast("decimal(20,0)")
    return F.when(parts["rows"] > 0, mean.cast(DecimalType(min(max(digits, scale), MOST_DIGITS), scale)))


COUNT = Operation(name="count", parts=(ROWS,), finish=_finish_count)
SUM = Operation(name="sum", parts=(TOTAL, ROWS), finish=_finish_sum)
AVG = Operation(name="avg", parts=(TOTAL, ROWS), finish=_finish_avg)
