"""The columns that a spec gives its tables, learned from the schemas of its sources without reading a row."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DayTimeIntervalType,
    MapType,
    StringType,
    StructType,
    YearMonthIntervalType,
)

from pipelines.accumulate import accumulate
from pipelines.aggregates import finish_columns, nullable, part_columns, part_names
from pipelines.aggregates.options import expression
from pipelines.errors import CorrectTheSpec
from pipelines.ingest import fated, to_events
from pipelines.ingest.fate import as_read
from pipelines.ingest.read import Schemas
from pipelines.intervals import Interval
from pipelines.spec import Source
from pipelines.spec.places import with_lines
from pipelines.stages.site import Site
from pipelines.store.tables import Columns, Shapes

ANY_BATCH = Interval(0, 1)
INTERVALS = (DayTimeIntervalType, YearMonthIntervalType, CalendarIntervalType)


def shapes_of(site: Site, *, schemas: Schemas) -> Shapes:
    """The shapes of all tables, for rows with these columns.

    Raises `CorrectTheSpec` where the sources' states would not fit one table.
    """
    events = {source.name: no_events(site, source, schemas=schemas) for source in site.pipeline.sources}
    states = {name: _no_states(site, rows) for name, rows in events.items()}
    _refuse_disagreement(site, states, events=events)
    first = next(iter(states.values()))
    key = _columns(first.select(*site.pipeline.key))
    parts = _columns(first.select(*part_columns(site.pipeline.aggregates)))
    results = _columns(first.select(*finish_columns(site.pipeline.aggregates, first.schema)))
    event = _together([_columns(rows.select(*as_read(rows))) for rows in events.values()])
    ids = {
        name: nullable(events[source.name].schema[name].dataType)
        for source in site.pipeline.sources
        for name in (source.event_id.of if source.event_id else ())
    }
    _refuse_intervals(site, {**key, **parts, **ids})
    return Shapes(key=key, parts=parts, results=results, event=event, event_id=ids)


def _together(sources: Sequence[Columns]) -> Columns:
    """The columns of all sources, as texts where these have them in several types, or in one that Delta does
    not store; names differ by more than their case.
    """
    names: dict[str, str] = {}
    found: dict[str, DataType] = {}
    for columns in sources:
        for name, kind in columns.items():
            known = names.setdefault(name.lower(), name)
            is_kept = found.get(known, kind) == kind and not _holds_an_interval(kind)
            found[known] = kind if is_kept else StringType()
    return found


def _holds_an_interval(kind: DataType) -> bool:
    """Whether a type is an INTERVAL, or has one in it: Delta stores none."""
    match kind:
        case StructType():
            return any(_holds_an_interval(field.dataType) for field in kind)
        case ArrayType():
            return _holds_an_interval(kind.elementType)
        case MapType():
            return _holds_an_interval(kind.keyType) or _holds_an_interval(kind.valueType)
        case _:
            return isinstance(kind, INTERVALS)


def _refuse_intervals(site: Site, columns: Columns) -> None:
    problems = [
        f"{_place(site, name)} would be {kind.simpleString().upper()}, which Delta does not store; "
        "allowed is a number, like `unix_micros(arrived) - unix_micros(happened)`"
        for name, kind in columns.items()
        if _holds_an_interval(kind)
    ]
    if problems:
        raise CorrectTheSpec(site.pipeline.path.name, with_lines(problems, site.pipeline))


def no_events(site: Site, source: Source, *, schemas: Schemas) -> DataFrame:
    """No rows, with the columns that the events of a source have."""
    rows = site.spark.createDataFrame([], schemas[source.name])
    return fated(to_events(rows, source, batch=ANY_BATCH), site.pipeline, watermark_us=None)


def _no_states(site: Site, events: DataFrame) -> DataFrame:
    return accumulate(events, site.pipeline, watermark_us=None, by_substream=False)


def _refuse_disagreement(site: Site, states: dict[str, DataFrame], *, events: dict[str, DataFrame]) -> None:
    columns = (*site.pipeline.key, *part_columns(site.pipeline.aggregates))
    told = [(_place(site, it), {name: rows.select(it) for name, rows in states.items()}) for it in columns]
    # What it counts is in no state, only hashes, which are others for another type.
    hashed = {it.name: expression(it) for it in site.pipeline.aggregates if it.op == "approx_distinct"}
    for aggregate, of in hashed.items():
        counted = {name: rows.select(F.expr(str(of))) for name, rows in events.items()}
        told.append((f"aggregate `{aggregate}`", counted))
    problems = []
    for place, columns_of in told:
        kinds = {name: rows.schema[0].dataType.simpleString() for name, rows in columns_of.items()}
        if len(set(kinds.values())) > 1:
            listed = ", ".join(f"{kind} from `{name}`" for name, kind in kinds.items())
            problems.append(f"{place} would be {listed}; allowed is one type: cast it in `select`")
    if problems:
        raise CorrectTheSpec(site.pipeline.path.name, with_lines(problems, site.pipeline))


def _place(site: Site, column: str) -> str:
    """What of the spec a column of states or results is of."""
    if column in site.pipeline.key:
        return f"key `{column}`"
    of = [it.name for it in site.pipeline.aggregates if column == it.name or column in part_names(it)]
    return f"aggregate `{of[0]}`" if of else f"event_id `{column}`"


def _columns(rows: DataFrame) -> Columns:
    return {field.name: nullable(field.dataType) for field in rows.schema}
