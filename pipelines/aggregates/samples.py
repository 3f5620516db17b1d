"""Sample events of any type, small and few, on which the laws are tried."""

from __future__ import annotations

from decimal import Decimal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

NUMBERS = (3, -1, None, 8, 0, 3, 5, -7, 2, None, 9, -1, 4, 6, -2, 3, 1, 7)
"""Not symmetric, so that nothing is zero by chance."""
SOME = 2
"""Above it are some of the numbers, and some are not."""


def sample_events(spark: SparkSession, kind: DataType) -> DataFrame:
    """Events of `value`, of the type, `by_value`, `instant_us`, and `part`: each is dealt to one of three."""
    place = F.col("id").cast("int")
    number = F.get(F.array(*[F.lit(number).cast("int") for number in NUMBERS]), place)
    return spark.range(len(NUMBERS), numPartitions=1).select(
        sample(number, kind).alias("value"),
        ((place * 5) % 7).cast("double").alias("by_value"),
        # Two events at a time, so that there are ties.
        (place / 2).cast("bigint").alias("instant_us"),
        (place % 3).alias("part"),
    )


def sample(number: Column, kind: DataType) -> Column:
    """A value of the type for each small whole number; null for null, and for a type without samples."""
    match kind:
        case DecimalType():
            value = number.cast("decimal(2,0)") * F.lit(Decimal(1).scaleb(-kind.scale))
        case DoubleType() | FloatType():
            value = number / F.lit(4.0)
        case BinaryType():
            value = number.cast("string")
        case BooleanType():
            value = number > SOME
        case DateType() | TimestampType() | TimestampNTZType():
            value = F.timestamp_seconds(number * 3600)
        case ArrayType():
            value = F.array(sample(number, kind.elementType))
        case MapType():
            value = F.create_map(sample(number, kind.keyType), sample(number, kind.valueType))
        case StructType():
            value = F.struct(*[sample(number, field.dataType).alias(field.name) for field in kind])
        case IntegralType() | StringType():
            value = number
        case _:
            value = F.lit(None)
    return F.when(number.isNotNull(), value.cast(kind))
