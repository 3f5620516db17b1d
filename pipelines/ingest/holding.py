"""The windows of an event that no arithmetic on its frame tells, kept beside it.

For every window definition that is not sliding stands a column `_held_<window>`, an array of `start_us,
end_us`. An event whose own window has no length is broken.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pipelines.ingest.declared import UNREADABLE
from pipelines.ingest.events import ARRIVAL_US, DEFAULT_EVENT_COLUMNS, EVENT_US, IS_BROKEN
from pipelines.intervals import LATEST_US
from pipelines.spec import Custom, PerElement, Pipeline, Sliding, Unaligned, Window
from pipelines.windows import held, length_us, since

HELD = "_held_"


def held_column(window: Window) -> str:
    """The name of the column with the windows of a definition."""
    return f"{HELD}{window.name}"


def instant_of(window: Window) -> Column:
    """The instant that places an event in the windows of a definition."""
    return F.col(ARRIVAL_US if window.time == "arrival" else EVENT_US)


def with_held(events: DataFrame, pipeline: Pipeline, *, breaks: Column) -> DataFrame:
    """The events with the windows that hold them; none for those that a rule `breaks`."""
    others = [window for window in pipeline.windows if not isinstance(window.shape, Sliding)]
    columns = {}
    for window in others:
        told = _said(events, window, breaks=breaks)
        by_arrival = window.time == "arrival"
        holding = held(window.shape, instant_of(window), key=pipeline.key, told=told, by_arrival=by_arrival)
        columns[held_column(window)] = F.when(~breaks, since(holding, window.from_us))
    return events.withColumns(columns) if columns else events


def _as_told(field: StructField) -> Column:
    """A column as a function is told it: instants in UTC, whatever zone the machine is in, and nothing in the
    place of dates that Python has no word for.
    """
    column, kind = F.col(f"`{field.name}`"), _without_zone(field.dataType)
    if not _holds_dates(kind):
        return column
    return _in_words(column if kind == field.dataType else column.cast(kind), kind).alias(field.name)


def _without_zone(kind: DataType) -> DataType:
    """The type with all instants in it as those of a calendar and a clock."""
    match kind:
        case TimestampType():
            return TimestampNTZType()
        case ArrayType():
            return ArrayType(_without_zone(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(_without_zone(kind.keyType), _without_zone(kind.valueType), kind.valueContainsNull)
        case StructType():
            fields = [StructField(it.name, _without_zone(it.dataType), it.nullable) for it in kind]
            return StructType(fields)
        case _:
            return kind


def _holds_dates(kind: DataType) -> bool:
    match kind:
        case ArrayType():
            return _holds_dates(kind.elementType)
        case MapType():
            return _holds_dates(kind.keyType) or _holds_dates(kind.valueType)
        case StructType():
            return any(_holds_dates(field.dataType) for field in kind)
        case _:
            return isinstance(kind, DateType | TimestampNTZType)


def _in_words(column: Column, kind: DataType) -> Column:
    """The value with null for each date or instant in it outside of the years 1 to 9999, which are Python's;
    an entry of a map goes with its key.
    """
    match kind:
        case DateType() | TimestampNTZType():
            return F.when(F.year(column).between(1, 9999), column)
        case ArrayType():
            return F.transform(column, lambda it: _in_words(it, kind.elementType))
        case MapType():
            told = F.transform_values(column, lambda _, value: _in_words(value, kind.valueType))
            return F.map_filter(told, lambda key, _: _in_words(key, kind.keyType).isNotNull())
        case StructType():
            fields = [_in_words(column.getField(it.name), it.dataType).alias(it.name) for it in kind]
            return F.when(column.isNotNull(), F.struct(*fields))
        case _:
            return column


def lengths_rules(events: DataFrame, windows: Sequence[Window]) -> dict[str, Column]:
    """By name, whether an event says no length for a window that takes its length from it; several windows
    may take it from one column, each from an instant of its own.
    """
    rules: dict[str, Column] = {}
    for window in windows:
        shape = window.shape
        if isinstance(shape, PerElement) and (length := _told(events, window)) is not None:
            fits = (length > 0) & (length <= F.lit(LATEST_US) - instant_of(window))
            breaks = ~F.col(IS_BROKEN) & ~F.coalesce(fits, F.lit(False))
            name = f"{shape.column} is no length"
            rules[name] = rules[name] | breaks if name in rules else breaks
    return rules


def _said(events: DataFrame, window: Window, *, breaks: Column) -> Column | None:
    told = _told(events, window)
    # Spark has Python functions look at every row, also where their result is not asked for.
    return F.when(~breaks, told) if told is not None and isinstance(window.shape, Custom) else told


def _told(events: DataFrame, window: Window) -> Column | None:
    match window.shape:
        case PerElement(column=column):
            said = F.col(f"`{column}`")
        case Unaligned(shift=str(shift)):
            said = F.expr(shift)
        case Custom():
            own = (*DEFAULT_EVENT_COLUMNS, UNREADABLE)
            columns = [_as_told(field) for field in events.schema if field.name not in own]
            return F.struct(*columns, instant_of(window).alias("event_us"))
        case _:
            return None
    kind = events.select(said.alias("said")).schema["said"].dataType
    length = length_us(said, kind)
    return F.coalesce(length, F.lit(0)) if isinstance(window.shape, Unaligned) else length
