"""Few rows of a data frame in Python: instants as whole microseconds, or every value as text for people to
look at.

Microseconds keep instants exact and free of this machine's own time zone, whichever way the session talks
to Spark.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType


def from_rows(rows: DataFrame) -> list[Row]:
    """The rows, with every instant in microseconds."""
    columns = [
        F.unix_micros(field.name).alias(field.name)
        if isinstance(field.dataType, TimestampType)
        else F.col(field.name)
        for field in rows.schema
    ]
    return rows.select(*columns).collect()


def has_any(rows: DataFrame) -> bool:
    """Whether there is a row. None is fetched: Python has no word for some dates."""
    return bool(rows.select(F.lit(True)).limit(1).collect())


def as_text(rows: DataFrame) -> list[dict[str, object]]:
    """The rows for people to look at: every value as Spark writes it."""
    return [
        row.asDict() for row in rows.select(*[F.col(name).cast("string") for name in rows.columns]).collect()
    ]
