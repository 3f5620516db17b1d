"""What a table has, asked of delta-rs: milliseconds, where a job of Spark's takes half a second."""

from __future__ import annotations

from datetime import date

from pipelines.intervals import EARLIEST_US, Interval
from pipelines.store.reader import ask
from pipelines.store.tables import Folder

DAY_US = 86_400_000_000
FIRST_DAY = EARLIEST_US // DAY_US


def are_any(store: Folder, table: str, *, where: str, version: int | None = None) -> bool:
    """Whether a table has rows of which a predicate is true, or had at a version."""
    sql = f"SELECT 1 AS one FROM {table} WHERE {where} LIMIT 1"
    return bool(ask(store.root, (table,), sql=sql, versions={table: version}).num_rows)


def first_of(store: Folder, table: str, *, instant: str, where: str) -> int | None:
    """The first of the instants in a column, in microseconds, where a predicate is true."""
    sql = f"SELECT CAST(min({instant}) AS BIGINT) AS first FROM {table} WHERE {where}"
    found = ask(store.root, (table,), sql=sql)["first"][0].as_py()
    return None if found is None else int(found)


def days_in(store: Folder, table: str, *, instant: str, where: str) -> list[date]:
    """The days, in order, that an instant of a table's rows falls on where a predicate is true."""
    found = ask(
        store.root, (table,), sql=f"SELECT DISTINCT {day_of(instant)} AS day FROM {table} WHERE {where}"
    )
    return sorted(found["day"].to_pylist())


def stretches_in(store: Folder, table: str, *, instant: str, where: str) -> dict[date, Interval]:
    """The same days, each with the stretch from the first to the last of the instants on it."""
    at_us = _at_us(instant)
    sql = (
        f"SELECT {day_of(instant)} AS day, min({at_us}) AS first, max({at_us}) AS last "
        f"FROM {table} WHERE {where} GROUP BY 1 ORDER BY 1"
    )
    found = ask(store.root, (table,), sql=sql).to_pylist()
    return {row["day"]: Interval(row["first"], row["last"] + 1) for row in found}


def rows_in(store: Folder, table: str, *, where: str) -> int:
    """How many rows there are of which a predicate is true."""
    found = ask(store.root, (table,), sql=f"SELECT count(*) AS rows FROM {table} WHERE {where}")
    return int(found["rows"][0].as_py())


def counts_in(store: Folder, table: str, *, column: str, where: str) -> dict[str, int]:
    """How many rows there are of each value of a column where a predicate is true."""
    sql = f"SELECT {column} AS value, count(*) AS rows FROM {table} WHERE {where} GROUP BY {column}"
    return {row["value"]: row["rows"] for row in ask(store.root, (table,), sql=sql).to_pylist()}


def missed_in(store: Folder, *, where: str, version: int | None = None) -> dict[str, int]:
    """How many windows of each definition late events missed, of those of which a predicate is true, or was
    at a version.
    """
    sql = (
        f"SELECT window, CAST(sum(missed) AS BIGINT) AS missed FROM late_events WHERE {where} GROUP BY window"
    )
    found = ask(store.root, ("late_events",), sql=sql, versions={"late_events": version})
    return {row["window"]: row["missed"] for row in found.to_pylist()}


def day_of(instant: str) -> str:
    """The day that a column of instants falls on, as SQL: without an instant, or before the first that can be
    written, the first there is.
    """
    # Division rounds towards zero.
    return f"arrow_cast(CAST(({_at_us(instant)} - {EARLIEST_US}) / {DAY_US} + {FIRST_DAY} AS INT), 'Date32')"


def _at_us(instant: str) -> str:
    return f"greatest(coalesce(CAST({instant} AS BIGINT), {EARLIEST_US}), {EARLIEST_US})"


def as_instant(at_us: str) -> str:
    """An expression in microseconds as an instant, as SQL."""
    return f"arrow_cast({at_us}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
