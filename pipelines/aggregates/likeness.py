"""When two values of a state or a result count as the same.

Exact types are the same when they are equal. Doubles that were added up in another order differ by
rounding, and that is no change.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, FloatType

RESUMMING_ERROR = 1e-12
"""Relative: some thousand roundings of a double's 53 bits."""


def are_alike(one: Column, other: Column, *, kind: DataType) -> Column:
    """Whether two columns of a type are the same; null is like null, NaN like NaN. Never null."""
    equal = one.eqNullSafe(other)
    if not isinstance(kind, DoubleType | FloatType):
        return equal
    near = F.abs(one - other) <= F.lit(RESUMMING_ERROR) * (F.abs(one) + F.abs(other))
    return equal | F.coalesce(near, F.lit(False))
