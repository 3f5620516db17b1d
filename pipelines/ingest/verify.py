"""Every expression of a spec against the columns that its sources really have.

All problems are told at once, in the words of the spec: which expression, what was found, what is
allowed. Nothing is read but schemas.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from pyspark.errors import AnalysisException, ArithmeticException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DayTimeIntervalType,
    IntegralType,
    NumericType,
    TimestampNTZType,
    TimestampType,
)

from pipelines.aggregates.kinds import (
    MOST_SCALE,
    instead_of,
    is_kept_whole,
    kinds_by,
    kinds_of,
    needs_order,
)
from pipelines.aggregates.options import by_expression, expression
from pipelines.errors import CorrectTheSpec
from pipelines.ingest.declared import UNREADABLE
from pipelines.ingest.duplicates import IDS, known_column
from pipelines.ingest.events import DEFAULT_EVENT_COLUMNS, columns_as_read, select_columns
from pipelines.ingest.fate import FATE, RULES
from pipelines.ingest.holding import HELD
from pipelines.ingest.read import Schemas
from pipelines.spec import Custom, PerElement, Pipeline, Source, Unaligned
from pipelines.spec.places import with_lines
from pipelines.spec.reserved import ILLEGAL, LATE_EVENT_COLUMNS
from pipelines.spec.sql import names_in, shown, taken_for_functions
from pipelines.spec.tokens import fold
from pipelines.windows import window_function

TIMES = (TimestampType, TimestampNTZType)
LENGTHS = (NumericType, DayTimeIntervalType)
PLACED = ("_grid", "_frame_us", "_frame_end_us", "_instant_us", "_is_tallied", "_first_us", "_last_us")
OWN = frozenset({*DEFAULT_EVENT_COLUMNS, UNREADABLE, *IDS, FATE, RULES, "_raw_event_us", "_losses", *PLACED})
"""Columns that Sash adds to events on their way."""

ALONE = "expressions are over the row alone: no subqueries, no aggregates or windows"
FORBIDDEN = f"{ALONE}, nothing that changes by itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An expression of the spec, where it stands, and the types that it may have there (any, if none).

    `ordered`: only types whose values can be compared; `op`: which it is of, if of one.
    """

    sql: str
    place: str
    wanted: tuple[type[DataType], ...] = ()
    ordered: bool = False
    op: str = ""


def verify(spark: SparkSession, pipeline: Pipeline, *, schemas: Schemas) -> tuple[str, ...]:
    """The problems of a pipeline's expressions, over the columns that its sources have; none is an empty
    tuple.
    """
    problems = list(window_problems(pipeline))
    known_types = {}
    for source in pipeline.sources:
        rows = spark.createDataFrame([], schemas[source.name])
        wrong = _wrong_selects(rows, source)
        # A text keeps the place of a column that cannot be had, of which only the name is known.
        select = tuple((name, "''" if name in wrong else sql) for name, sql in source.select)
        known = replace(source, select=select, where=None)
        events = select_columns(rows, known)
        # What `select` has given another name is gone after the source's own expressions.
        kept = events.drop(*set(events.columns).difference(columns_as_read(events, known)))
        asked = (*_asked_of_aggregates(source, pipeline), *_asked_of_windows(source, pipeline))
        problems += (problem for told in wrong.values() for problem in told)
        problems += _column_problems(events, known, pipeline=pipeline)
        problems += _problems(events, _without(_asked_of_source(source), wrong))
        problems += _problems(kept, _without(asked, wrong))
        known_types[source.name] = {
            it.name: it.dataType.simpleString() for it in kept.schema if it.name not in wrong
        }
    return tuple(dict.fromkeys([*problems, *_disagreements(pipeline, known_types)]))


def window_problems(pipeline: Pipeline) -> Iterator[str]:
    """Why custom windows of a pipeline cannot be had; it needs no Spark to tell."""
    for window in pipeline.windows:
        if isinstance(window.shape, Custom):
            try:
                window_function(window.shape.attribute)
            except CorrectTheSpec as error:
                yield from (f"window `{window.name}`: {problem}" for problem in error.problems)


def _wrong_selects(rows: DataFrame, source: Source) -> dict[str, list[str]]:
    """The entries of `select` that cannot be had, by name, with what is wrong with each."""
    asked = {
        name: Asked(sql=sql, place=f"source `{source.name}`: select `{name}`") for name, sql in source.select
    }
    if not list(_problems(rows, list(asked.values()))):
        return {}
    told = {name: list(_problems(rows, [one])) for name, one in asked.items()}
    return {name: problems for name, problems in told.items() if problems}


def _without(asked: Iterable[Asked], wrong: Collection[str]) -> list[Asked]:
    """The expressions that name none of these columns: of the others nothing can be told yet."""
    names = {fold(name) for name in wrong}
    return [one for one in asked if names.isdisjoint(names_in(one.sql))]


def _asked_of_source(source: Source) -> Iterator[Asked]:
    expressions: dict[str, tuple[str | None, tuple[type[DataType], ...]]] = {
        "where": (source.where, (BooleanType,)),
        "event_time": (source.event_time, TIMES),
        "arrival_time": (source.arrival_time, TIMES),
        "substream": (source.substream, ()),
    }
    for name, (sql, wanted) in expressions.items():
        if sql is not None:
            yield Asked(sql=sql, place=f"source `{source.name}`: {name}", wanted=wanted)


def _asked_of_aggregates(source: Source, pipeline: Pipeline) -> Iterator[Asked]:
    for aggregate in pipeline.aggregates:
        place = f"source `{source.name}`: aggregate `{aggregate.name}`"
        if aggregate.where is not None:
            yield Asked(sql=aggregate.where, place=f"{place}: where", wanted=(BooleanType,))
        ordered = needs_order(aggregate.op)
        of, by = expression(aggregate), by_expression(aggregate)
        if of is not None:
            wanted, op = kinds_of(aggregate.op), aggregate.op
            yield Asked(sql=of, place=f"{place}: {op}", wanted=wanted, ordered=ordered, op=op)
        if by is not None:
            yield Asked(sql=by, place=f"{place}: by", wanted=kinds_by(aggregate.op), ordered=ordered)


def _asked_of_windows(source: Source, pipeline: Pipeline) -> Iterator[Asked]:
    for window in pipeline.windows:
        place = f"source `{source.name}`: window `{window.name}`"
        match window.shape:
            case PerElement(column=column):
                # Spark takes other letters than those of ASCII in quotes alone.
                name = column if column.isascii() and column.isidentifier() else f"`{column}`"
                yield Asked(sql=name, place=f"{place}: tumbling", wanted=LENGTHS)
            case Unaligned(shift=str(shift)):
                yield Asked(sql=shift, place=f"{place}: unaligned", wanted=LENGTHS)
            case _:
                continue


def _column_problems(extended: DataFrame, source: Source, *, pipeline: Pipeline) -> Iterator[str]:
    kept = columns_as_read(extended, source)
    ids = source.event_id.of if source.event_id else ()
    own = OWN.union(known_column(name).lower() for name in ids)
    # What `select` itself may be called was told where it was read.
    for name in (it for it in kept if it not in dict(source.select)):
        is_own = name.lower() in own or name.lower().startswith(HELD)
        if is_own or name.lower() in LATE_EVENT_COLUMNS:
            yield (
                f"source `{source.name}`: its column `{name}` is named like one of Sash's own; "
                f"rename it in `select`, like `{name.strip('_')}_read: {name}`"
            )
        elif any(character in ILLEGAL for character in name):
            renamed = "".join("_" if character in ILLEGAL else character for character in name)
            yield (
                f"source `{source.name}`: its column `{name}` cannot be a column of a table; rename it in "
                f'`select`, like `{renamed}: "`{name}`"`'
            )
    for name in ids:
        if name not in kept:
            yield f"source `{source.name}`: event_id `{name}` is no column of it; {_columns(kept)}"
    for name in pipeline.key:
        if name not in kept:
            yield f"source `{source.name}`: key `{name}` is no column of it; {_columns(kept)}"
    known = {"key": pipeline.key, "event_id": ids}
    for what, name in ((what, name) for what, names in known.items() for name in names if name in kept):
        kind = extended.schema[name].dataType
        if allowed := instead_of(kind):
            found = f"{what} `{name}` is {kind.simpleString().upper()}"
            yield f"source `{source.name}`: {found}; allowed is {allowed}"


def _problems(rows: DataFrame, asked: Sequence[Asked]) -> Iterator[str]:
    """The problems of expressions over the rows."""
    known = []
    for one in asked:
        functions = taken_for_functions(one.sql, rows.columns)
        known += [] if functions else [one]
        for name in functions:
            said = (
                f"{one.place}: `{shown(one.sql)}`: found `{name}`, which is no column, so that Spark takes "
            )
            yield f"{said}it for a function that is not the same in a second run; {_columns(rows.columns)}"
    yield from _analysed(rows, known)


def _analysed(rows: DataFrame, asked: Sequence[Asked]) -> Iterator[str]:
    """What Spark says of expressions, all tried at once, one by one only if they do not pass."""
    if not asked:
        return
    try:
        kinds = _kinds(rows, asked)
    except (AnalysisException, ArithmeticException) as error:
        if len(asked) > 1:
            for one in asked:
                yield from _analysed(rows, [one])
            return
        found = f"{asked[0].place}: `{shown(asked[0].sql)}`"
        if isinstance(error, ParseException):
            yield f"{found} does not parse as SQL: {_first_line(error)}; {FORBIDDEN}"
        else:
            yield f"{found}: {_first_line(error)}; {_columns(rows.columns)}"
        return
    for one, kind in zip(asked, kinds, strict=True):
        found = f"{one.place}: `{shown(one.sql)}` is {kind.simpleString().upper()}; allowed"
        if one.wanted and not isinstance(kind, one.wanted):
            yield f"{found} is {_names(one.wanted)}"
        elif one.ordered and (allowed := instead_of(kind)):
            yield f"{found} is {allowed}"
        elif not is_kept_whole(one.op, kind):
            wanted = f"`CAST(… AS DECIMAL(38, {MOST_SCALE}))`"
            yield f"{found} are at most {MOST_SCALE} digits after the point: {wanted}"


def _kinds(rows: DataFrame, asked: Sequence[Asked]) -> list[DataType]:
    """The types of expressions, by analysis alone."""
    # A join's condition may be nothing but deterministic and over the row: Spark itself says what is not.
    # The line break ends a comment that the expression may end with.
    holds = reduce(and_, [F.expr(f"({one.sql}\n) IS NOT NULL") for one in asked])
    joined = rows.select().join(rows, on=holds, how="left")
    selected = rows.select(
        *[F.expr(one.sql).alias(f"expression_{number}") for number, one in enumerate(asked)]
    )
    # Over Connect a plan is looked at only when its schema is asked for.
    _ = joined.schema
    return [field.dataType for field in selected.schema.fields]


def _disagreements(pipeline: Pipeline, schemas: dict[str, dict[str, str]]) -> Iterator[str]:
    ids = {source.name: source.event_id.of if source.event_id else () for source in pipeline.sources}
    spelled: dict[str, str] = {}
    for name in (name for names in ids.values() for name in names):
        first = spelled.setdefault(name.lower(), name)
        if name != first:
            yield f"event_id `{name}` is `{first}` elsewhere; allowed is one spelling: rename it in `select`"
    asked = [("key", name, set(schemas)) for name in pipeline.key]
    for name in sorted({name for names in ids.values() for name in names}):
        asked.append(("event_id", name, {source for source, names in ids.items() if name in names}))
    for what, name, sources in asked:
        types = {schema[name]: it for it, schema in schemas.items() if it in sources and name in schema}
        if len(types) > 1:
            listed = ", ".join(f"{kind} in `{source}`" for kind, source in sorted(types.items()))
            yield f"{what} `{name}` is {listed}; allowed is one type in all sources: cast it in `select`"


def _names(wanted: tuple[type[DataType], ...]) -> str:
    if TimestampType in wanted:
        of_text = "`try_to_timestamp(x, 'yyyy-MM-dd HH:mm:ss')`"
        return f"TIMESTAMP; convert it, like {of_text} or `timestamp_seconds(…)`"
    called: dict[type[DataType], str] = {
        NumericType: "a number",
        IntegralType: "a whole number",
        DayTimeIntervalType: "an interval of days to seconds",
    }
    return " or ".join(called.get(kind, kind.typeName().upper()) for kind in wanted)


def _columns(names: list[str]) -> str:
    return f"its columns are {', '.join(name for name in names if name != UNREADABLE)}"


def _first_line(error: Exception) -> str:
    return shown(str(error).strip().splitlines()[0].removesuffix("."))


def check(spark: SparkSession, pipeline: Pipeline, *, schemas: Schemas) -> None:
    """Raise `CorrectTheSpec` with all problems that `verify` finds."""
    problems = verify(spark, pipeline, schemas=schemas)
    if problems:
        raise CorrectTheSpec(pipeline.path.name, with_lines(problems, pipeline))
