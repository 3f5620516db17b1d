"""Clones of a pipeline's tables: they look the same, and what is written there is written there alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from deltalake import write_deltalake
from pyspark.sql import SparkSession

from pipelines.store import small
from pipelines.store.attempts import first_of, say_versions
from pipelines.store.ledger import read_rows
from pipelines.store.ledger_rows import unfinished
from pipelines.store.tables import PARTITIONED_BY, Store, quote

READ_HERE = ("runs", "attempts", "watermarks", "checks")
"""Small tables that delta-rs reads: it looks for files in the folder of the table, so they are copied."""


TYPES_ARE_CHECKED = "spark.databricks.delta.schema.typeCheck.enabled"
"""Delta refuses to make tables with INTERVAL columns itself; it writes and reads those that there are."""


def clone_tables(store: Store, clones: Store) -> None:
    """Clone all tables that there are. The large ones share their files, and begin a history."""
    versions = _before_what_is_unfinished(store)
    for table in PARTITIONED_BY:
        if not small.is_there(store, table):
            continue
        if table in READ_HERE:
            # Of substreams some are told by what they stood at before the batch, as of large tables.
            is_told = table == "watermarks" and bool(versions)
            opened = small.open_table(store, table, version=versions.get(table, 0) if is_told else None)
            write_deltalake(
                small.location(clones, table),
                opened.to_pyarrow_table(),
                partition_by=list(PARTITIONED_BY[table]),
                # Of our own properties delta-rs knows none here, and what they say is not about rows.
                configuration={
                    name: value
                    for name, value in opened.metadata().configuration.items()
                    if name.startswith("delta.")
                },
            )
        else:
            there, here = quote(store.path(table)), quote(clones.path(table))
            # One that came with the batch was empty at first.
            as_of = f" VERSION AS OF {versions.get(table, 0)}" if versions else ""
            with _any_type(store.spark):
                store.spark.sql(f"CREATE TABLE delta.{here} SHALLOW CLONE delta.{there}{as_of}").collect()
    if small.is_there(clones, "attempts"):
        say_versions(clones, None)


def _before_what_is_unfinished(store: Store) -> Mapping[str, int]:
    """The versions of the tables before an unfinished batch: what attempts at it have left is replaced, and
    some of it compared with what stood before.
    """
    if not small.is_there(store, "runs"):
        return {}
    pending = unfinished(read_rows(store))
    first = None if pending is None else first_of(store, pending.batch, revision=pending.revision)
    return {} if first is None else first.counts


@contextmanager
def _any_type(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(TYPES_ARE_CHECKED, "false")
    try:
        yield
    finally:
        spark.conf.unset(TYPES_ARE_CHECKED)
