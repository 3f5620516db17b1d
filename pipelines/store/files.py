"""The files that the large tables of a pipeline consist of, as Delta's log has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
