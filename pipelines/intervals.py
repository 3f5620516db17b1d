"""Half-open intervals `[start, end)` on a line of whole microseconds, and the arithmetic of grids on it.

Floors are true floors, so that times before 1970 fall into the interval that holds them, not into the one
after.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

EARLIEST_US = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // MICROSECOND
LATEST_US = (datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC) - EPOCH) // MICROSECOND
"""The first and last instant that every reader of the tables can hold.

`LATEST_US` is also the final watermark.
"""


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """`[start_us, end_us)`, never empty. Ordered by start, then by end."""

    start_us: int
    end_us: int

    def __post_init__(self) -> None:
        if self.start_us >= self.end_us:
            raise ValueError(f"an interval starts before it ends; found [{self.start_us}, {self.end_us})")

    def __contains__(self, instant_us: int) -> bool:
        return self.start_us <= instant_us < self.end_us

    def __str__(self) -> str:
        return f"[{show_instant(self.start_us)}, {show_instant(self.end_us)})"

    @property
    def length_us(self) -> int:
        return self.end_us - self.start_us

    def overlaps(self, other: Interval) -> bool:
        return self.start_us < other.end_us and other.start_us < self.end_us

    def covers(self, other: Interval) -> bool:
        return self.start_us <= other.start_us and other.end_us <= self.end_us


def floor_to(instant_us: int, length_us: int, *, offset_us: int = 0) -> int:
    """The last multiple of `length_us`, shifted by `offset_us`, that is not after the instant."""
    return instant_us - (instant_us - offset_us) % length_us


def cut(whole: Interval, length_us: int) -> Iterator[Interval]:
    """Consecutive intervals of one length that make up the whole; the last may be shorter."""
    for start_us in range(whole.start_us, whole.end_us, length_us):
        yield Interval(start_us, min(start_us + length_us, whole.end_us))


def merge(intervals: Iterable[Interval]) -> list[Interval]:
    """The fewest intervals that cover the same instants; those that overlap or touch become one."""
    merged: list[Interval] = []
    for interval in sorted(intervals):
        if merged and interval.start_us <= merged[-1].end_us:
            merged[-1] = Interval(merged[-1].start_us, max(merged[-1].end_us, interval.end_us))
        else:
            merged.append(interval)
    return merged


def without(intervals: Iterable[Interval], hole: Interval | None) -> list[Interval]:
    """What of the intervals lies outside the hole."""
    if hole is None:
        return list(intervals)
    pieces = [
        (start_us, end_us)
        for it in intervals
        for start_us, end_us in (
            (it.start_us, min(it.end_us, hole.start_us)),
            (max(it.start_us, hole.end_us), it.end_us),
        )
    ]
    return [Interval(start_us, end_us) for start_us, end_us in pieces if start_us < end_us]


def common_length(lengths_us: Iterable[int]) -> int:
    """The longest length that divides all of them: zeros divide nothing and do not count."""
    return math.gcd(*lengths_us)


def largest(*instants: int | None) -> int | None:
    """The largest of those that there are, `None` where there is none."""
    return max((instant for instant in instants if instant is not None), default=None)


def to_us(instant: datetime) -> int:
    """Microseconds since 1970 in UTC. A datetime without a zone is read as UTC."""
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return (aware - EPOCH) // MICROSECOND


def from_us(instant_us: int) -> datetime:
    """The UTC datetime of an instant, exact to the microsecond."""
    return EPOCH + timedelta(microseconds=instant_us)


def show_instant(instant_us: int) -> str:
    """An instant as people write it: no more digits than it has."""
    instant = from_us(instant_us).replace(tzinfo=None)
    if instant_us % 60_000_000 == 0:
        return instant.isoformat(sep=" ", timespec="minutes")
    return instant.isoformat(sep=" ")
