"""Raw rows → events of one batch: the columns as read and selected, and Sash's own view of their time beside
them.

Beside the columns of the source stand `EVENT_US` and `ARRIVAL_US` (microseconds of UTC, null where
unknown or outside the years 1 to 9999), `SUBSTREAM`, and `BROKEN`, the built-in rules that the row
breaks. Rows of other batches are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType

from pipelines.ingest.declared import UNREADABLE
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.spec import Source, span_of
from pipelines.spec.reserved import ILLEGAL, LATE_EVENT_COLUMNS

EVENT_US = "_event_us"
ARRIVAL_US = "_arrival_us"
SUBSTREAM = "_substream"
BROKEN = "_broken"
IS_BROKEN = "_is_broken"
DEFAULT_EVENT_COLUMNS = (EVENT_US, ARRIVAL_US, SUBSTREAM, BROKEN, IS_BROKEN)

TO_THE_MICROSECOND = dict.fromkeys(("timestampFormat", "timestampNTZFormat"), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
IS_UNREADABLE = "unreadable"
HAS_NO_EVENT_TIME = "event_time is null"
IS_OUT_OF_RANGE = "event_time is out of range"


def to_events(rows: DataFrame, source: Source, *, batch: Interval) -> DataFrame:
    """The events of the batch, by arrival time, and those that no batch can claim: rows with neither time."""
    selected = select_columns(rows, source)
    columns = columns_as_read(selected, source)
    event_us = _microseconds(selected, source.event_time)
    arrival_us = _microseconds(selected, source.arrival_time or "NULL")
    timed = selected.select(
        *columns,
        event_us.alias("_raw_event_us"),
        _in_range(event_us).alias(EVENT_US),
        _arrival(selected, source, said=[arrival_us, event_us], batch=batch).alias(ARRIVAL_US),
        _substream(selected, source).alias(SUBSTREAM),
    )
    mine = F.col(ARRIVAL_US).isNull() | (
        (F.col(ARRIVAL_US) >= F.lit(batch.start_us)) & (F.col(ARRIVAL_US) < F.lit(batch.end_us))
    )
    rules = _built_in_rules(timed, source)
    broken = F.array_compact(F.array(*[F.when(breaks, F.lit(rule)) for rule, breaks in rules.items()]))
    is_broken = reduce(or_, rules.values())
    return timed.where(mine).withColumns({BROKEN: broken, IS_BROKEN: is_broken}).drop("_raw_event_us")


def _substream(rows: DataFrame, source: Source) -> Column:
    """The name of a row's substream: those that are not the same have not the same name."""
    if source.substream is None:
        return F.lit(None).cast("string")
    said = _told(rows, source.substream)
    match rows.select(said.alias("said")).schema["said"].dataType:
        case BinaryType():
            # Bytes that are no text would all be told as the same.
            text = said.cast("string")
            is_text = F.is_valid_utf8(text) & ~text.startswith("0x")
            return F.when(is_text, text).otherwise(F.concat(F.lit("0x"), F.hex(said)))
        case StructType() | ArrayType() | MapType():
            return F.to_json(said, {"ignoreNullFields": "false", **TO_THE_MICROSECOND})
        case _:
            return said.cast("string")


def _arrival(rows: DataFrame, source: Source, *, said: Sequence[Column], batch: Interval) -> Column:
    """When a row arrived, in microseconds: the first of what it says that can be written.

    What an unreadable row says may be another value's part. Where that is of a date that its file is not of,
    no batch would read the row: it says nothing then.
    """
    arrival_us = F.coalesce(*[_in_range(it) for it in said])
    span = None if source.path is None else span_of(source.path, batch)
    if span is None or UNREADABLE not in rows.columns:
        return arrival_us
    is_of_file = (arrival_us >= F.lit(span.start_us)) & (arrival_us < F.lit(span.end_us))
    return F.when(F.col(UNREADABLE).isNull() | is_of_file, arrival_us)


def select_columns(rows: DataFrame, source: Source) -> DataFrame:
    """The rows with the spec's extra columns, less those that its `where` leaves out.

    Unreadable rows always stay.
    """
    extra = {name: _told(rows, sql) for name, sql in source.select}
    selected = rows.withColumns(extra) if extra else rows
    if source.where is None:
        return selected
    wanted = F.expr(source.where)
    return selected.where(F.col(UNREADABLE).isNotNull() | wanted if UNREADABLE in rows.columns else wanted)


def _told(rows: DataFrame, sql: str) -> Column:
    """An expression of the spec. Of unreadable rows only columns are told: in a row that does not fit, values
    stand where they do not belong, and an expression may fail on them.
    """
    is_column = sql.strip().strip("`").lower() in {name.lower() for name in rows.columns}
    told = F.expr(sql)
    return told if is_column or UNREADABLE not in rows.columns else F.when(F.col(UNREADABLE).isNull(), told)


def columns_as_read(selected: DataFrame, source: Source) -> list[str]:
    """The names of the source's columns, less those that no table can have and that `select` renamed."""
    renamed = {
        sql.strip().strip("`").lower() for name, sql in source.select if sql.strip().lower() != name.lower()
    }
    extra = {name for name, _ in source.select}
    return [
        name
        for name in selected.columns
        if name in extra or name.lower() not in renamed or _may_be_kept(name.lower())
    ]


def _may_be_kept(name: str) -> bool:
    """Whether a table can have a column of this name beside Sash's own."""
    is_legal = not any(character in ILLEGAL for character in name)
    return is_legal and not name.startswith("_") and name not in LATE_EVENT_COLUMNS


def unreadable(events: DataFrame) -> Column:
    """Whether a row did not fit its schema.

    It names all columns, so that the reader has to parse them all.
    """
    own = (UNREADABLE, *DEFAULT_EVENT_COLUMNS, "_raw_event_us")
    others = [name for name in events.columns if name not in own]
    read = [hashable(events, name) for name in others]
    parsed = F.hash(*read) >= F.lit(-(2**31)) if others else F.lit(True)
    return parsed & F.col(UNREADABLE).isNotNull()


def hashable(events: DataFrame, name: str) -> Column:
    """A column as Spark can hash it: it gives no hash of a map, nor of what holds one."""
    kind, quoted = events.schema[name].dataType.simpleString(), name.replace("`", "``")
    column = F.col(f"`{quoted}`")
    return F.to_json(F.struct(column)) if "map<" in kind or "variant" in kind else column


def _built_in_rules(events: DataFrame, source: Source) -> dict[str, Column]:
    """By name, whether a row breaks a rule that holds for every source; never null."""
    raw_event_us = F.col("_raw_event_us")
    out_of_range = raw_event_us.isNotNull() & F.col(EVENT_US).isNull()
    if source.max_ahead_us is not None:
        ahead = F.col(EVENT_US) - F.col(ARRIVAL_US) > F.lit(source.max_ahead_us)
        out_of_range |= F.coalesce(ahead, F.lit(False))
    rules = {IS_OUT_OF_RANGE: out_of_range, HAS_NO_EVENT_TIME: raw_event_us.isNull()}
    return {IS_UNREADABLE: unreadable(events), **rules} if UNREADABLE in events.columns else rules


def _microseconds(rows: DataFrame, sql: str) -> Column:
    # A TIMESTAMP_NTZ has no zone and is read as UTC, which is the zone of every session of ours.
    return F.unix_micros(_told(rows, sql).cast("timestamp"))


def _in_range(instant_us: Column) -> Column:
    return F.when((instant_us >= F.lit(EARLIEST_US)) & (instant_us <= F.lit(LATEST_US)), instant_us)
