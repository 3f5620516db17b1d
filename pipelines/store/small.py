"""The small tables, written and read by delta-rs: milliseconds a commit, where Spark takes a second.

What runs, who writes, how far substreams have come and what checks found are few rows in this process. A
commit here is made against the version that was read, so that whoever comes second reads again and
decides again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Literal, TypeVar

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from pyspark.sql.types import DateType

from pipelines.errors import RunAgain, WaitForTheBatch
from pipelines.intervals import from_us
from pipelines.store.fence import Fence
from pipelines.store.instants import in_microseconds
from pipelines.store.tables import PARTITIONED_BY, Columns, Folder, properties, schema_of

Value = date | str | int | float | bool | None | Mapping[str, int] | Mapping[str, float] | list[str]
Values = Mapping[str, Value]
Asks = Callable[[], object]
"""Asks whether all is as it was, and raises if it is not."""

TRIES = 50
ONCE = CommitProperties(max_commit_retries=0)

Returned = TypeVar("Returned")


def create(store: Folder, table: str, *, columns: Columns) -> None:
    """Make a table unless it is there. Any table: also the large ones, which Spark then writes."""

    def make() -> None:
        if not is_there(store, table):
            _make(store, table, columns=columns, partitions=PARTITIONED_BY[table], mode="ignore")

    # To ignore a table that is there is no help against one that comes meanwhile.
    retried(make, table)


def is_there(store: Folder, table: str) -> bool:
    """Whether there is such a table."""
    return DeltaTable.is_deltatable(location(store, table))


def has_rows(store: Folder, table: str, *, version: int | None = None) -> bool:
    """Whether a table is there and has a file, or had at a version."""
    return is_there(store, table) and bool(open_table(store, table, version=version).file_uris())


def differing(store: Folder, table: str, *, columns: Columns) -> dict[str, tuple[str | None, str | None]]:
    """By name, the type that a column has in a table that is there and the one that it has here, where they
    differ.
    """
    wanted = {field.name: _told(field) for field in Schema.from_json(schema_of(columns).json()).fields}
    found = {field.name: _told(field) for field in open_table(store, table).schema().fields}
    found.pop("day", None)
    both = {name: (found.get(name), wanted.get(name)) for name in (*found, *wanted)}
    return {name: (one, other) for name, (one, other) in both.items() if one != other}


def add_columns(store: Folder, table: str, *, columns: Columns) -> None:
    """Give a table columns that it has not had: its rows have nothing in them."""
    if columns:
        fields = Schema.from_json(schema_of(columns).json()).fields
        retried(lambda: open_table(store, table).alter.add_columns(fields), table)


def _told(field: Field) -> str:
    return field.type.to_json().strip('"')


def certainly() -> None:
    """Says `still_mine` where nobody else can be at work."""


def recreate(store: Folder, table: str, *, columns: Columns, still_mine: Asks = certainly) -> None:
    """Let a table be empty, with these columns and no others; its history stays. Unless `still_mine` raises:
    whoever slept may find that others write there. What they write meanwhile stands.
    """
    create(store, table, columns=columns)
    _empty(store, table, still_mine=still_mine)
    if not differing(store, table, columns=columns):
        return
    opened = open_table(store, table)
    known = opened.metadata()
    still_mine()
    # As it was cut when it was made.
    made = _make(store, table, columns=columns, partitions=known.partition_columns, mode="overwrite")
    if made.version() != opened.version() + 1:
        # delta-rs makes a table anew whatever stands there by then.
        made.restore(made.version() - 1, commit_properties=ONCE)
        still_mine()
        raise RunAgain(
            f"table `{table}`: others have written while it was made anew; what they wrote stands. "
            "Run it again"
        )
    for name, value in known.configuration.items():
        if not name.startswith("delta."):
            set_property(store, table, name=name, value=value, still_mine=still_mine)


def _make(
    store: Folder,
    table: str,
    *,
    columns: Columns,
    partitions: Sequence[str],
    mode: Literal["ignore", "overwrite"],
) -> DeltaTable:
    whole = {**columns, "day": DateType()} if "day" in partitions else columns
    # Not by way of Arrow, which has no intervals of Spark's.
    schema = Schema.from_json(schema_of(whole).json())
    place, settings = location(store, table), properties(table, columns=columns)
    return DeltaTable.create(place, schema, mode=mode, partition_by=list(partitions), configuration=settings)


def read(opened: DeltaTable, *, where: list[tuple[str, str, date]] | None = None) -> list[dict[str, Value]]:
    """The rows of a table as it was opened, or those that `where` is true of; instants are microseconds."""
    rows = opened.to_pyarrow_table(filters=where)
    return list(in_microseconds(rows).to_pylist(maps_as_pydicts="strict"))


def open_table(store: Folder, table: str, *, version: int | None = None) -> DeltaTable:
    """The table as it now is, or was at a version."""
    return DeltaTable(location(store, table), version=version)


def append(opened: DeltaTable, rows: Iterable[Values]) -> None:
    """Add rows. Raises `CommitFailedError` if anything was written since the table was opened."""
    write_deltalake(opened, to_arrow(opened, rows), mode="append", commit_properties=ONCE)


def overwrite(opened: DeltaTable, rows: Iterable[Values], *, where: str | None = None) -> None:
    """Let the table hold these rows alone, or these in the place of those that match `where`. Raises
    `CommitFailedError` likewise.
    """
    new = to_arrow(opened, rows)
    write_deltalake(opened, new, mode="overwrite", predicate=where, commit_properties=ONCE)


def property_of(store: Folder, table: str, *, name: str) -> str:
    """A property of ours that a table has, empty where it has none or is not there."""
    try:
        return str(open_table(store, table).metadata().configuration.get(name) or "")
    except TableNotFoundError:
        return ""


def set_property(store: Folder, table: str, *, name: str, value: str, still_mine: Asks = certainly) -> None:
    """Let a table have a property of ours, unknown to Delta itself; unless `still_mine` raises."""
    change_property(store, table, name=name, change=lambda _: value, still_mine=still_mine)


def change_property(
    store: Folder, table: str, *, name: str, change: Callable[[str], str], still_mine: Asks = certainly
) -> None:
    """The same, told what it is now, also by others meanwhile; nothing is written where it stays so."""

    def commit() -> None:
        opened = open_table(store, table)
        still_mine()
        before = str(opened.metadata().configuration.get(name) or "")
        after = change(before)
        if after != before:
            opened.alter.set_table_properties({name: after}, raise_if_not_exists=False)

    retried(commit, table)


def let_be_empty(store: Folder, table: str, *, still_mine: Asks = certainly) -> None:
    """Take all rows out of a table, if it is there; unless `still_mine` raises."""
    if has_rows(store, table):
        _empty(store, table, still_mine=still_mine)


def _empty(store: Folder, table: str, *, still_mine: Asks) -> None:
    def commit() -> None:
        opened = open_table(store, table)
        # Asked between reading and writing: if others write after this, the commit fails.
        still_mine()
        overwrite(opened, [])

    retried(commit, table)


def put(store: Folder, table: str, *, rows: Sequence[Values], where: str, fence: Fence) -> None:
    """Put rows in the place of those that match `where`, once per attempt; the rows have to match it too."""

    def commit() -> None:
        opened = open_table(store, table)
        written = opened.transaction_version(fence.lane)
        if written is not None and written > fence.attempt:
            raise WaitForTheBatch(
                f"table `{table}`: attempt {written} has taken over from this one, number "
                f"{fence.attempt}, which has stopped and "
                "changed nothing since. Look at the newer one; there is nothing to do here",
                is_over=True,
            )
        new = to_arrow(opened, rows)
        write_deltalake(opened, new, mode="overwrite", predicate=where, commit_properties=marked(fence))

    retried(commit, table)


def take_away(store: Folder, table: str, *, where: str, fence: Fence, still_mine: Asks) -> None:
    """Take away the rows that match `where`, of whatever lane; unless `still_mine` raises."""

    def commit() -> None:
        opened = open_table(store, table)
        still_mine()
        none = to_arrow(opened, [])
        write_deltalake(opened, none, mode="overwrite", predicate=where, commit_properties=marked(fence))

    retried(commit, table)


def say_written(store: Folder, table: str, *, fence: Fence) -> None:
    """Let no attempt before this one write in its lane any more, though this one has nothing to write."""

    def commit() -> None:
        opened = open_table(store, table)
        written = opened.transaction_version(fence.lane)
        if written is None or written < fence.attempt:
            write_deltalake(opened, to_arrow(opened, []), mode="append", commit_properties=marked(fence))

    retried(commit, table)


def marked(fence: Fence) -> CommitProperties:
    return CommitProperties(app_transactions=[Transaction(fence.lane, fence.attempt)], max_commit_retries=0)


def retried(commit: Callable[[], Returned], table: str) -> Returned:
    """What `commit` returns; it is done again, from the reading on, as long as others commit before it."""
    for _ in range(TRIES):
        try:
            return commit()
        except CommitFailedError as conflict:
            last = conflict
    raise RunAgain(f"table `{table}`: {TRIES} tries met other writers; run the same command again") from last


def to_arrow(opened: DeltaTable, rows: Iterable[Values]) -> pa.Table:
    """Rows in the table's own schema; instants are given in microseconds, and what is not given is null."""
    schema = pa.schema(opened.schema().to_arrow())
    listed = [_dated(row) for row in rows]
    columns = []
    for column in schema:
        values = [row.get(column.name) for row in listed]
        if pa.types.is_timestamp(column.type):
            columns.append(pa.array(values, pa.int64()).cast(column.type))
        elif pa.types.is_map(column.type):
            maps = [list(it.items()) if isinstance(it, Mapping) else None for it in values]
            columns.append(pa.array(maps, column.type))
        else:
            columns.append(pa.array(values, column.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _dated(row: Values) -> Values:
    return {**row, "day": from_us(int(str(row["batch_start"]))).date()} if "batch_start" in row else row


def location(store: Folder, table: str) -> str:
    """The table's address as delta-rs writes it: Spark says `s3a` where all others say `s3`."""
    return store.path(table).replace("s3a://", "s3://", 1)
