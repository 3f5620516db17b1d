"""Writes that can be repeated: each replaces what an earlier attempt at the same thing left.

Every write carries a `Fence`: Delta keeps the highest attempt number that wrote in each lane and skips
what comes with a lower or equal one, so that an attempt which was taken over and wakes up later changes
nothing.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import TypeVar

from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.errors import RunAgain
from pipelines.intervals import EARLIEST_US
from pipelines.store import small
from pipelines.store.copies import FEW_DAYS
from pipelines.store.fence import Fence
from pipelines.store.files import rows_on
from pipelines.store.sql import ALL
from pipelines.store.tables import DAY_OF, PARTITIONED_BY, Store, quote

CONFLICTS = (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)
TRIES = 8
PAUSE_SECONDS = 0.2
AS_READ = ("late_events", "event_ids")
TXN = "spark.databricks.delta.write"

Returned = TypeVar("Returned")


def append(store: Store, table: str, *, rows: DataFrame, fence: Fence, days: int = 1) -> None:
    """Add rows of so many days, unless this attempt or a later one has."""
    added = conform(store, table, rows=rows)
    # Each task writes a file for each day: of few, that costs less than to bring those of a day together.
    writer = (
        (added if days <= FEW_DAYS else added.hint("rebalance", F.col("day")))
        .write.format("delta")
        .mode("append")
    )
    retried(lambda: writer.options(**fence.options()).save(store.path(table)), table)


def replace(store: Store, table: str, *, rows: DataFrame, where: str, fence: Fence) -> None:
    """Put rows in the place of those that match `where`. The rows have to match it too."""
    writer = (
        conform(store, table, rows=rows).write.format("delta").mode("overwrite").option("replaceWhere", where)
    )
    retried(lambda: writer.options(**fence.options()).save(store.path(table)), table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which rows new ones replace: those with the same `on` (nulls are equal), on `days` and no others. Of
    all of them `near` is true, a predicate on the columns of `old`, so that other files are not read.
    """

    on: Sequence[str]
    days: Sequence[date]
    near: str = ALL


def merge(store: Store, table: str, *, rows: DataFrame, place: Place, fence: Fence) -> int:
    """Put each row in its place; one without events takes away what stands there.

    There may be one row at most for each `on`. Returns the number of rows that were put or taken away. Of an
    attempt that was taken over, whose write Delta skips without a word, it means nothing.
    """
    if not place.days:
        # Lest an attempt that was taken over, and had rows, writes them when it wakes up.
        small.say_written(store, table, fence=fence)
        return 0
    if fence.is_first and not rows_on(store, table, days=place.days):
        # Nothing to look for: half of the time that a merge takes.
        append(store, table, rows=rows.where("event_count > 0"), fence=fence, days=len(place.days))
        return rows_on(store, table, days=place.days)
    same = " AND ".join(f"old.{quote(name)} <=> new.{quote(name)}" for name in place.on)
    listed = ", ".join(f"DATE '{day.isoformat()}'" for day in place.days)
    with viewed(conform(store, table, rows=rows)) as view, fenced(store, fence):
        statement = (
            f"MERGE INTO delta.{quote(store.path(table))} AS old USING {view} AS new "
            f"ON old.day IN ({listed}) AND old.day = new.day AND ({place.near}) AND {same} "
            "WHEN MATCHED AND new.event_count = 0 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET * "
            "WHEN NOT MATCHED AND new.event_count > 0 THEN INSERT *"
        )
        metrics = retried(lambda: store.spark.sql(statement).collect(), table)
    return int(metrics[0].num_affected_rows) if metrics else 0


def days_of(rows: DataFrame, instant: str) -> list[date]:
    """The days that an instant of the rows falls on."""
    days = rows.select(_day_of(instant).alias("day")).distinct().orderBy("day").collect()
    return [row.day for row in days]


def _day_of(instant: str) -> Column:
    # The window of all time has no bounds; it lies with the first day that there is, like those that begin
    # before it. `greatest` leaves nulls out.
    return F.to_date(F.greatest(F.col(instant), F.timestamp_micros(F.lit(EARLIEST_US))))


@contextmanager
def viewed(rows: DataFrame) -> Iterator[str]:
    """A name under which SQL knows the rows, for as long as it is needed."""
    name = f"sash_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        rows.sparkSession.catalog.dropTempView(name)


@contextmanager
def fenced(store: Store, fence: Fence) -> Iterator[None]:
    """Statements inside carry the fence, by the session's settings; afterwards none does."""
    store.spark.conf.set(f"{TXN}.txnAppId", fence.lane)
    store.spark.conf.set(f"{TXN}.txnVersion", str(fence.attempt))
    try:
        yield
    finally:
        store.spark.conf.unset(f"{TXN}.txnAppId")
        store.spark.conf.unset(f"{TXN}.txnVersion")


def retried(write: Callable[[], Returned], table: str) -> Returned:
    """What `write` returns, tried again while other writers get in its way."""
    for failures in range(TRIES):
        try:
            return write()
        except CONFLICTS as conflict:
            if failures == TRIES - 1:
                what = type(conflict).__name__
                raise RunAgain(
                    f"table `{table}`: {TRIES} tries met other writers ({what}); run the same command again"
                ) from conflict
            time.sleep(PAUSE_SECONDS * 2**failures)
    raise RunAgain(f"table `{table}`: not tried")


def conform(store: Store, table: str, *, rows: DataFrame) -> DataFrame:
    """The rows with exactly the table's columns, in its order and types; `day` is worked out."""
    schema = store.read(table).schema
    dated = rows
    if "day" in PARTITIONED_BY[table]:
        dated = rows.withColumn("day", _day_of(DAY_OF.get(table, "batch_start")))
    return dated.select(
        *[_column(dated, table, name=field.name).cast(field.dataType).alias(field.name) for field in schema]
    )


def _column(rows: DataFrame, table: str, *, name: str) -> Column:
    """A column of the rows. What is kept as it was read may lack columns that other sources have."""
    known = {known.lower() for known in rows.columns}
    return F.lit(None) if table in AS_READ and name.lower() not in known else F.col(quote(name))
