"""A pipeline's aggregates over data frames: event values → states → states → results.

A state is the parts of all aggregates beside `event_count`, the exact number of its events: a window
exists when that is above zero, never because a value looks like one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from pipelines.aggregates.operation import Given, Over, Part, to_group
from pipelines.aggregates.options import by_expression, expression
from pipelines.aggregates.registry import operation_of
from pipelines.aggregates.sharing import shared
from pipelines.spec.model import Aggregate

Aggregates = Sequence[Aggregate]


def event_values(aggregates: Aggregates, instant_us: Column) -> dict[str, Column]:
    """One column per aggregate: what an event at that instant brings to it.

    Null where its `where` leaves the event out. An aggregate whose parts all repeat others' has none.
    """
    repeated = shared(aggregates)
    own = {aggregate.name: aggregate for aggregate, _, column in _parts(aggregates) if column not in repeated}
    return {name: _value(aggregate, instant_us) for name, aggregate in own.items()}


def accumulate_columns(aggregates: Aggregates) -> list[Column]:
    """Aggregate expressions over the columns of `event_values`: a state and its `event_count`."""
    repeated = shared(aggregates)
    parts = {
        column: part.accumulate(F.col(aggregate.name))
        for aggregate, part, column in _parts(aggregates)
        if column not in repeated
    }
    return _whole(parts | {"event_count": F.count(F.lit(1))}, aggregates)


def combine_columns(aggregates: Aggregates, schema: StructType, *, over: Over = to_group) -> list[Column]:
    """Aggregate expressions over the states of a data frame with that schema; types stay what they are."""
    repeated = shared(aggregates)
    parts = {
        column: part.combine(F.col(column), over).cast(nullable(schema[column].dataType))
        for _, part, column in _parts(aggregates)
        if column not in repeated
    }
    event_count = F.coalesce(over(F.sum("event_count")), F.lit(0))
    return _whole(parts | {"event_count": event_count}, aggregates)


def finish_columns(aggregates: Aggregates, schema: StructType) -> list[Column]:
    """One column per aggregate under its name: the results of the states of a data frame with that schema."""
    results = []
    for aggregate in aggregates:
        operation = operation_of(aggregate)
        columns = {part.name: F.col(f"{aggregate.name}__{part.name}") for part in operation.parts}
        types: dict[str, DataType] = {
            part.name: schema[f"{aggregate.name}__{part.name}"].dataType for part in operation.parts
        }
        results.append(operation.finish(columns, types).alias(aggregate.name))
    return results


def part_columns(aggregates: Aggregates) -> list[str]:
    """The names of all part columns, in the spec's order."""
    return [column for _, _, column in _parts(aggregates)]


def nullable(kind: DataType) -> DataType:
    """The same type, where whatever is within it may be null."""
    match kind:
        case StructType():
            return StructType([StructField(field.name, nullable(field.dataType)) for field in kind])
        case ArrayType():
            return ArrayType(nullable(kind.elementType))
        case MapType():
            return MapType(nullable(kind.keyType), nullable(kind.valueType))
        case _:
            return kind


def _value(aggregate: Aggregate, instant_us: Column) -> Column:
    of, by = expression(aggregate), by_expression(aggregate)
    given = Given(
        of=F.lit(1) if of is None else F.expr(of),
        by=None if by is None else F.expr(by),
        instant_us=instant_us,
    )
    value = operation_of(aggregate).value(given)
    return value if aggregate.where is None else F.when(F.expr(aggregate.where), value)


def _whole(parts: Mapping[str, Column], aggregates: Aggregates) -> list[Column]:
    """Every part under its own name; Spark works out once what several of them are."""
    repeated = shared(aggregates)
    columns = [*part_columns(aggregates), "event_count"]
    return [parts[repeated.get(column, column)].alias(column) for column in columns]


def _parts(aggregates: Aggregates) -> Iterator[tuple[Aggregate, Part, str]]:
    for aggregate in aggregates:
        for part in operation_of(aggregate).parts:
            yield aggregate, part, f"{aggregate.name}__{part.name}"
