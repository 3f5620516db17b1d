"""When two values of a state or a result count as the same.

Exact types are the same when they are equal. Doubles that were added up in another order differ by
rounding, and that is no change. A sketch is the same as another when what is beside it is: the fingerprint of
the values in it.
"""

from __future__ import annotations

from functools import reduce
from operator import and_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructField, StructType

from pipelines.aggregates.kinds import can_be_ordered

RESUMMING_ERROR = 1e-12
"""Relative: some thousand roundings of a double's 53 bits."""
SKETCH = {"sketch", "fingerprint"}
PICKING = (
    "min",
    "max",
    "first",
    "last",
    "min_by",
    "max_by",
    "top",
    "bottom",
    "distinct",
    "collect_list",
    "collect_set",
    "histogram",
    "approx_top_k",
    "approx_quantile",
)
BY_CHANCE = ("approx_quantile",)
"""What tosses coins: of the same values another result may come, within the error."""
PUT_IN_ORDER = (
    "variance",
    "variance_pop",
    "stddev",
    "stddev_pop",
    "skewness",
    "kurtosis",
    "covariance",
    "correlation",
    "linear_trend",
)


def is_unchanged(now: Column, before: Column, *, kind: DataType, op: str) -> Column:
    """Whether a value of an operation, or a part of its state, is what it was. Never null.

    What is picked out of the values is the same only when it is equal: no order of adding has a part in it.
    Nor has it in the states of moments, whose values are put in order first; and of few values the pivot
    alone says where they are, which may have moved by much beside their spread and little beside itself.
    """
    is_sketch = isinstance(kind, StructType) and set(kind.names) == SKETCH
    if (op in PICKING and not is_sketch) or (op in PUT_IN_ORDER and isinstance(kind, StructType)):
        if can_be_ordered(kind):
            return now.eqNullSafe(before)
        if isinstance(kind, MapType) and can_be_ordered(kind.valueType):
            return _entries(now).eqNullSafe(_entries(before))
    return are_alike(now, before, kind=kind)


def are_alike(one: Column, other: Column, *, kind: DataType) -> Column:
    """Whether two columns of a type are the same; null is like null, NaN like NaN. Never null."""
    match kind:
        case DoubleType() | FloatType():
            distance = F.abs(one - other)
            # Each by itself: the sum of two that are near the largest is infinity.
            error = F.lit(RESUMMING_ERROR)
            near = distance <= error * F.abs(one) + error * F.abs(other)
            # Nothing is near infinity or NaN, which compares as the largest number.
            is_finite = distance < F.lit(float("inf"))
            return one.eqNullSafe(other) | F.coalesce(is_finite & near, F.lit(False))
        case StructType():
            return _both(one, other, alike=_fields_alike(one, other, kind=kind))
        case ArrayType() if not _is_exact(kind):
            return _both(one, other, alike=_items_alike(one, other, kind=kind.elementType))
        case MapType():
            return _both(one, other, alike=_entries_alike(one, other, kind=kind))
        case _:
            return one.eqNullSafe(other)


def _both(one: Column, other: Column, *, alike: Column) -> Column:
    return F.when(one.isNull() | other.isNull(), one.isNull() & other.isNull()).otherwise(alike)


def _fields_alike(one: Column, other: Column, *, kind: StructType) -> Column:
    names = set(kind.names)
    compared = [field for field in kind if names != SKETCH or field.name != "sketch"]
    alike = [are_alike(one[field.name], other[field.name], kind=field.dataType) for field in compared]
    return reduce(and_, alike, F.lit(True))


def _items_alike(one: Column, other: Column, *, kind: DataType) -> Column:
    pairs = F.zip_with(one, other, lambda mine, yours: are_alike(mine, yours, kind=kind))
    return (F.size(one) == F.size(other)) & F.forall(pairs, lambda alike: alike)


def _entries_alike(one: Column, other: Column, *, kind: MapType) -> Column:
    """Maps by their entries in order; where values have none, each key is looked up in the other map."""
    if can_be_ordered(kind.valueType):
        entries = StructType([StructField("key", kind.keyType), StructField("value", kind.valueType)])
        return are_alike(_entries(one), _entries(other), kind=ArrayType(entries))

    def is_unlike(key: Column, value: Column) -> Column:
        alike = are_alike(value, F.try_element_at(other, key), kind=kind.valueType)
        return ~(F.map_contains_key(other, key) & alike)

    unlike = F.size(F.map_filter(one, is_unlike))
    return (F.size(one) == F.size(other)) & (unlike == 0)


def _entries(of: Column) -> Column:
    return F.sort_array(F.map_entries(of))


def _is_exact(kind: DataType) -> bool:
    """Whether values of the type are alike only when they are equal."""
    match kind:
        case DoubleType() | FloatType() | MapType():
            return False
        case ArrayType():
            return _is_exact(kind.elementType)
        case StructType():
            return all(_is_exact(field.dataType) for field in kind)
        case _:
            return True
