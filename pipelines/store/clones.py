"""Clones of a pipeline's tables: they look the same, and what is written there is written there alone."""

from __future__ import annotations

from deltalake import DeltaTable, write_deltalake

from pipelines.store import small
from pipelines.store.attempts import first_of, say_versions
from pipelines.store.ledger import read_rows
from pipelines.store.ledger_rows import unfinished
from pipelines.store.tables import PARTITIONED_BY, Store, quote

READ_HERE = ("runs", "attempts", "watermarks", "checks")
"""Small tables that delta-rs reads: it looks for files in the folder of the table, so they are copied."""


def clone_tables(store: Store, clones: Store) -> None:
    """Clone all tables that there are. The large ones share their files, and begin a history."""
    for table in PARTITIONED_BY:
        if not DeltaTable.is_deltatable(small.location(store, table)):
            continue
        if table in READ_HERE:
            opened = small.open_table(store, table)
            write_deltalake(
                small.location(clones, table),
                opened.to_pyarrow_table(),
                partition_by=list(PARTITIONED_BY[table]),
                configuration=opened.metadata().configuration,
            )
        else:
            there, here = quote(store.path(table)), quote(clones.path(table))
            clone = f"CREATE TABLE delta.{here} SHALLOW CLONE delta.{there}{_as_of(store, table)}"
            store.spark.sql(clone).collect()
    if DeltaTable.is_deltatable(small.location(clones, "attempts")):
        say_versions(clones, None)


def _as_of(store: Store, table: str) -> str:
    """`windows` as it was before an unfinished batch, for `publish` undoes what an attempt at it has left."""
    pending = unfinished(read_rows(store)) if table == "windows" else None
    first = None if pending is None else first_of(store, pending.batch, revision=pending.revision)
    return "" if first is None or table not in first.counts else f" VERSION AS OF {first.counts[table]}"
