"""Rows that go from one table into another as they are, by delta-rs: a fifth of what Spark takes for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from deltalake import WriterProperties, write_deltalake
from deltalake.schema import PrimitiveType

from pipelines.store import small
from pipelines.store.fence import Fence
from pipelines.store.files import bytes_on
from pipelines.store.reader import quoted, stream
from pipelines.store.tables import Folder

FEW_DAYS = 8
MOST_BYTES, MOST_BYTES_OF_MANY_DAYS = 100_000_000, 10_000_000
"""On disk, of panes fifteen million and one: so many rows this process writes in a sixth of Spark's time, and
takes a bit more than a gigabyte of memory.
"""
ROWS_OF_GROUP = 250_000
"""So few that each core of whoever reads a file next has some of it."""


class Stored(NamedTuple):
    """The rows of a table on one of its days of which a predicate is true."""

    table: str
    day: date
    where: str


def may_copy(store: Folder, rows: Stored, *, days: int) -> bool:
    """Whether rows are few and plain enough, which come on so many days of another table."""
    # Lists and maps may be small on disk and thousands of times that in memory.
    types = [field.type for field in small.open_table(store, rows.table).schema().fields]
    is_plain = all(isinstance(it, PrimitiveType) and it.type != "binary" for it in types)
    size = bytes_on(store, rows.table, days=[rows.day])
    return is_plain and size <= (MOST_BYTES if days <= FEW_DAYS else MOST_BYTES_OF_MANY_DAYS)


def copy(store: Folder, table: str, *, rows: Stored, columns: Mapping[str, str], fence: Fence) -> None:
    """Add rows of another table, unless this attempt or a later one has.

    `columns` are those that the other table does not have, each as SQL over a row of it. Some ten thousands
    of rows are in this process's memory at once, and of plain values up to fourteen times the bytes of
    their files.
    """
    names = [field.name for field in small.open_table(store, table).schema().fields]
    listed = ", ".join(f"{columns.get(name, quoted(name))} AS {quoted(name)}" for name in names)

    def commit() -> None:
        opened = small.open_table(store, table)
        written = opened.transaction_version(fence.lane)
        if written is None or written < fence.attempt:
            sql = f"SELECT {listed} FROM {rows.table} WHERE {rows.where}"
            found = stream(store.root, (rows.table,), sql=sql)
            written_as = WriterProperties(max_row_group_size=ROWS_OF_GROUP, compression="SNAPPY")
            marked = small.marked(fence)
            write_deltalake(
                opened, found, mode="append", writer_properties=written_as, commit_properties=marked
            )

    small.retried(commit, table)
