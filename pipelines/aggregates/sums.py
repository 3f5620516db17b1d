"""Counts, sums and averages: what adds up, and where it is exact can be taken away again.

Longs and decimals stay exact and fail on overflow; doubles add up as Spark adds them, NaN and infinities
included.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from operator import add, sub

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType

from pipelines.aggregates.operation import Operation, Over, Part, to_group

SUM_DIGITS, MOST_DIGITS = 10, 38
"""Spark's `sum` widens a decimal by ten digits, up to as many as there can be."""
MOST_ROWS_DIGITS = 12
"""Of the number of rows that an average of decimals is of: fewer leave the quotient more digits."""
QUOTIENT_DIGITS = 32
"""Before the point of a quotient of Spark's, which keeps six behind it."""
LOW = Decimal(10**6)
"""Parts a total into one that leaves a quotient of so many digits, and a rest."""


def _total(values: Column, over: Over = to_group) -> Column:
    # Of a whole number's narrowest type, so that a decimal keeps its digits after the point: up to 35.
    return F.coalesce(over(F.sum(values)), F.lit(0).cast("byte"))


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
    places = MOST_DIGITS if total.precision == MOST_DIGITS else total.precision - SUM_DIGITS + 4
    kind = DecimalType(min(max(places, scale), MOST_DIGITS), scale)
    # In two steps, whole and rest: of a long total Spark's division would keep six digits after the point.
    rows = parts["rows"].cast(DecimalType(MOST_ROWS_DIGITS, 0))
    rest = parts["total"] % rows
    digits = max(kind.precision - scale, 1)
    divided = _long_divided if digits > QUOTIENT_DIGITS else _divided
    whole = divided(parts["total"], rows).cast(DecimalType(digits, 0))
    fraction = (rest / rows).cast(DecimalType(min(scale + 1, MOST_DIGITS), scale))
    mean = (whole + fraction).cast(kind)
    if digits > 1 and digits + scale == MOST_DIGITS:
        # To add two Spark wants a digit to spare: where there is none in front, it takes the last one behind.
        has_room = F.abs(whole) < F.lit(Decimal(10 ** (digits - 1)))
        roomy = whole.cast(DecimalType(digits - 1, 0)) + fraction
        mean = F.when(has_room, roomy.cast(kind)).otherwise(mean)
    return F.when(parts["rows"] > 0, mean)


def _divided(total: Column, rows: Column) -> Column:
    """How many times the rows go into a total."""
    return (total - total % rows) / rows


def _long_divided(total: Column, rows: Column) -> Column:
    """The same as by hand, in two steps, each of which has room for its quotient."""
    low = total % LOW
    high = _divided(total, F.lit(LOW)).cast(DecimalType(QUOTIENT_DIGITS, 0))
    first = _divided(high, rows).cast(DecimalType(QUOTIENT_DIGITS, 0))
    return first * LOW + _divided((high % rows) * LOW + low, rows).cast(DecimalType(MOST_ROWS_DIGITS, 0))


COUNT = Operation(name="count", parts=(ROWS,), finish=_finish_count)
SUM = Operation(name="sum", parts=(TOTAL, ROWS), finish=_finish_sum)
AVG = Operation(name="avg", parts=(TOTAL, ROWS), finish=_finish_avg)
