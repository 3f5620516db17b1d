"""Predicates on batches and instants, as SQL that both Spark and delta-rs read alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, from_us

ALL, NONE = "true", "false"
"""The predicates that every row fulfils, and none: of which Spark plans nothing."""


@dataclass(frozen=True, slots=True)
class Instant:
    """An instant as a SQL literal."""

    us: int

    def __str__(self) -> str:
        # A string, for delta-rs has no literal that it would compare with a column of instants.
        written = from_us(self.us).replace(tzinfo=None).isoformat(timespec="microseconds")
        return f"'{written}Z'"


def not_before(column: str, at_us: int) -> str:
    """The predicate that an instant comes at another or later. Windows may begin before the first that can be
    written.
    """
    return ALL if at_us <= EARLIEST_US else f"{column} >= {Instant(at_us)}"


def not_after(column: str, at_us: int) -> str:
    """The predicate that an instant comes at another or earlier. Windows may end after the last that can be
    written.
    """
    return ALL if at_us >= LATEST_US else f"{column} <= {Instant(at_us)}"


def is_batch(batch: Interval) -> str:
    """The predicate that a row is of this batch."""
    return f"(batch_start = {Instant(batch.start_us)} AND batch_end = {Instant(batch.end_us)})"


def is_inside(batch: Interval) -> str:
    """The predicate that a row is of a batch inside this one, or of this one."""
    return f"(batch_start >= {Instant(batch.start_us)} AND batch_end <= {Instant(batch.end_us)})"


def on_days_of(batch: Interval) -> str:
    """The predicate on the partition `day` of the tables that are cut by the start of the batch."""
    first, last = (from_us(instant).date().isoformat() for instant in (batch.start_us, batch.end_us - 1))
    return f"(day >= DATE '{first}' AND day <= DATE '{last}')"


def is_of_windows(names: Iterable[str]) -> str:
    """The predicate that a row is of a window definition of one of these names."""
    return is_one_of("window", names)


def is_one_of(column: str, values: Iterable[str]) -> str:
    """The predicate that a column has one of these values."""
    told = ", ".join(map(text, values))
    return f"{column} IN ({told})" if told else NONE


def text(value: str) -> str:
    """A string as a SQL literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
