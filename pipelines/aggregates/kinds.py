"""Which types an operation takes."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    CalendarIntervalType,
    DataType,
    DecimalType,
    IntegralType,
    MapType,
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
    not there.
    """
    if not can_be_ordered(kind):
        return "what has an order: no maps"
    return "text without a collation, like `lower(…) COLLATE UTF8_BINARY`" if _is_collated(kind) else None


def can_be_ordered(kind: DataType) -> bool:
    """Whether Spark has an order for values of the type: it has none for maps, and for what holds one."""
    if isinstance(kind, MapType | VariantType | CalendarIntervalType):
        return False
    if isinstance(kind, ArrayType):
        return can_be_ordered(kind.elementType)
    return not isinstance(kind, StructType) or all(can_be_ordered(field.dataType) for field in kind)


def _is_collated(kind: DataType) -> bool:
    match kind:
        case StringType():
            return not kind.isUTF8BinaryCollation()
        case ArrayType():
            return _is_collated(kind.elementType)
        case StructType():
            return any(_is_collated(field.dataType) for field in kind)
        case _:
            return False
