"""Which types an operation takes."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    CalendarIntervalType,
    DataType,
    DecimalType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    VariantType,
)

Kinds = tuple[type[DataType], ...]

OF_TWO_NUMBERS = ("covariance", "correlation", "linear_trend")
OF_NUMBERS = (
    *("sum", "avg", "variance", "variance_pop", "stddev", "stddev_pop", "skewness", "kurtosis"),
    *(*OF_TWO_NUMBERS, "approx_quantile"),
)
OF: dict[str, Kinds] = {
    **dict.fromkeys(OF_NUMBERS, (NumericType,)),
    **dict.fromkeys(("any", "all"), (BooleanType,)),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), (IntegralType,)),
}
OF_ANYTHING = ("count", "custom")
OF_TOTALS, MOST_SCALE = ("sum", "avg"), 35
"""What keeps a total of decimals, which has room for so many digits after the point."""


def kinds_of(op: str) -> Kinds:
    """The types that an operation's expression may have; none: any."""
    return OF.get(op, ())


def kinds_by(op: str) -> Kinds:
    """The types that its `by` may have; none: any."""
    return (NumericType,) if op in OF_TWO_NUMBERS else ()


def needs_order(op: str) -> bool:
    """Whether its values have to be ones that can be put in order: to compare, to break ties, to group."""
    return op not in OF_ANYTHING


def is_kept_whole(op: str, kind: DataType) -> bool:
    """Whether the operation's state has all digits of values of the type."""
    return op not in OF_TOTALS or not isinstance(kind, DecimalType) or kind.scale <= MOST_SCALE


def instead_of(kind: DataType) -> str | None:
    """What is allowed where values are compared and grouped, if this type is not.

    Tables, hashes and states compare text by its bytes; with a collation two of them would be equal here and
    not there. And no table keeps a column of which it is not known what may stand in it.
    """
    if _holds(kind, lambda it: isinstance(it, NullType)):
        return "what has a type, like `CAST(NULL AS INT)`"
    if not can_be_ordered(kind):
        return "what has an order: no maps"
    return "text without a collation, like `lower(…) COLLATE UTF8_BINARY`" if _is_collated(kind) else None


def can_be_ordered(kind: DataType) -> bool:
    """Whether Spark has an order for values of the type: it has none for maps, and for what holds one."""
    return not _holds(kind, lambda it: isinstance(it, MapType | VariantType | CalendarIntervalType))


def _is_collated(kind: DataType) -> bool:
    return _holds(kind, lambda it: isinstance(it, StringType) and not it.isUTF8BinaryCollation())


def _holds(kind: DataType, is_one: Callable[[DataType], bool]) -> bool:
    """Whether the type, or one of those that it is made of, is such a one."""
    match kind:
        case ArrayType():
            return _holds(kind.elementType, is_one)
        case StructType():
            return any(_holds(field.dataType, is_one) for field in kind)
        case _:
            return is_one(kind)
