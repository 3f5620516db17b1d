"""`sash show`: rows of a table, newest first, for people or for machines.

Notes go to standard error, so that what is piped on is the rows and nothing else.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from typing import cast

import pyarrow as pa

from pipelines.cli.arguments import Arguments
from pipelines.cli.place import pipeline_of, store_of
from pipelines.cli.written import Value, instant, plain, table, text
from pipelines.store.reader import count_rows, read_table

DAY_US = 86_400_000_000
SHOWN_ROWS = 20
"""How many rows a table for people has unless they say."""


def show(arguments: Arguments) -> None:
    """Print the rows that are asked for, and say how many more there are."""
    pipeline = pipeline_of(arguments)
    store = store_of(arguments, pipeline)
    limit = SHOWN_ROWS if arguments.limit is None and arguments.format == "table" else arguments.limit
    found = read_table(store, pipeline.name, table=arguments.table, where=arguments.where, limit=limit)
    names = list(found.column_names)
    rows = rows_of(found)
    _print(arguments.format, names, rows=rows)
    if not rows and limit != 0:
        print("no rows", file=sys.stderr)
    if limit is not None and len(rows) == limit:
        more = count_rows(store, pipeline.name, table=arguments.table, where=arguments.where) - limit
        if more > 0:
            print(f"{more:,} more; --limit says how many are shown, --where which", file=sys.stderr)


def rows_of(found: pa.Table) -> list[list[Value]]:
    """The rows, instants and dates as text."""
    columns: list[list[Value]] = []
    for name, kind in zip(found.column_names, found.schema.types, strict=True):
        values = found.column(name).cast(_in_numbers(kind)).to_pylist()
        columns.append([_told(value, kind) for value in values])
    return [list(row) for row in zip(*columns, strict=True)]


def _in_numbers(kind: pa.DataType) -> pa.DataType:
    """The type with numbers in the place of instants, which Delta has in microseconds, and of dates: Python
    has no word for some.
    """
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_map(kind):
        return pa.map_(_in_numbers(kind.key_type), _in_numbers(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_numbers(field.type)) for field in kind])
    for is_one, of in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if is_one(kind):
            return of(kind.value_field.with_type(_in_numbers(kind.value_type)))
    return kind


def _told(value: object, kind: pa.DataType) -> Value:
    """A value with instants and dates as text, and every map in it by the text of its keys, which may be
    lists or structs.
    """
    if value is None:
        return None
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        return _moment(cast(int, value), kind)
    if pa.types.is_map(kind):
        pairs = cast(Sequence[tuple[object, object]], value)
        return {text(_told(key, kind.key_type)): _told(item, kind.item_type) for key, item in pairs}
    if pa.types.is_struct(kind):
        fields = cast(Mapping[str, object], value)
        return {field.name: _told(fields[field.name], field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_told(item, kind.value_type) for item in cast(Sequence[object], value)]
    return cast(Value, value)


def _moment(number: int, kind: pa.DataType) -> str:
    if pa.types.is_date32(kind):
        return instant(number * DAY_US).partition("T")[0]
    # One without a zone stands in late events as it was read.
    return instant(number) if kind.tz else instant(number).removesuffix("Z")


def _print(form: str, names: Sequence[str], *, rows: Sequence[Sequence[Value]]) -> None:
    match form:
        case "csv":
            writer = csv.writer(sys.stdout, lineterminator="\n")
            # The writer itself sees no end of a line in a carriage return, as readers do.
            quoting = csv.writer(sys.stdout, lineterminator="\n", quoting=csv.QUOTE_ALL)
            for told in (list(names), *[[text(value) for value in row] for row in rows]):
                (quoting if any("\r" in it for it in told) else writer).writerow(told)
        case "json":
            for row in rows:
                values = {name: plain(value) for name, value in zip(names, row, strict=True)}
                print(json.dumps(values, ensure_ascii=False))
        case _:
            print(table(names, rows))
