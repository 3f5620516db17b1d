"""The files that the large tables of a pipeline consist of, as Delta's log has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date

import pyarrow as pa

from pipelines.store import small
from pipelines.store.clones import READ_HERE
from pipelines.store.tables import PARTITIONED_BY, Folder

Files = Mapping[str, Mapping[str, int]]
"""By table, the bytes of each file by its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """The files of a table that have gone, and those that have come."""

    table: str
    files_replaced: int
    bytes_replaced: int
    files_written: int
    bytes_written: int


def files_of(store: Folder) -> Files:
    """What each table consists of now, where there is one."""
    found = {}
    for table in PARTITIONED_BY:
        if table not in READ_HERE and small.is_there(store, table):
            files = pa.table(small.open_table(store, table).get_add_actions(flatten=True))
            paths, sizes = files["path"].to_pylist(), files["size_bytes"].to_pylist()
            found[table] = dict(zip(paths, sizes, strict=True))
    return found


def rewritten(before: Files, after: Files) -> tuple[Rewritten, ...]:
    """What is different between the two, by table; tables that are the same are not among them."""
    told = []
    for table in {**before, **after}:
        old, new = before.get(table, {}), after.get(table, {})
        gone = [size for path, size in old.items() if path not in new]
        come = [size for path, size in new.items() if path not in old]
        if gone or come:
            told.append(
                Rewritten(
                    table=table,
                    files_replaced=len(gone),
                    bytes_replaced=sum(gone),
                    files_written=len(come),
                    bytes_written=sum(come),
                )
            )
    return tuple(told)


def bytes_on(store: Folder, table: str, *, days: Collection[date]) -> int:
    """The size of the files of some days."""
    return _sum_on(store, table, what="size_bytes", days=days)


def rows_on(store: Folder, table: str, *, days: Collection[date]) -> int:
    """The number of rows on some days, as Delta's log has it."""
    return _sum_on(store, table, what="num_records", days=days)


def _sum_on(store: Folder, table: str, *, what: str, days: Collection[date]) -> int:
    files = pa.table(small.open_table(store, table).get_add_actions(flatten=True))
    said = zip(files["partition.day"].to_pylist(), files[what].to_pylist(), strict=True)
    wanted = set(days)
    # A writer may have said nothing of a file.
    return sum(1 if it is None else int(it) for day, it in said if day in wanted)
