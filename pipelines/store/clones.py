"""Clones of a pipeline's tables: they look the same, and what is written there is written there alone."""

from __future__ import annotations

from deltalake import DeltaTable, write_deltalake

from pipelines.store import small
from pipelines.store.attempts import forget_versions
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
            store.spark.sql(f"CREATE TABLE delta.{here} SHALLOW CLONE delta.{there}").collect()
    if DeltaTable.is_deltatable(small.location(clones, "attempts")):
        forget_versions(clones)
