"""Worked examples of custom windows that merge: bounded sessions by hand, sessions of at most n events.

Both assign an event the interval that it would have alone, and then go through the intervals of a burst in
the order of time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pipelines.windows import Proto

SECOND = 1_000_000
MINUTE = 60 * SECOND


@dataclass(frozen=True)
class Burst:
    """Events no further apart than the gap, until the burst is full."""

    gap_us: int
    is_full: Callable[[Sequence[Proto], Proto], bool]
    """Whether a session has no room for the next interval."""
    touching: str = "merge"

    def assign(self, event: Mapping[str, object]) -> list[tuple[int, int]]:
        at_us = int(str(event["event_us"]))
        return [(at_us, at_us + self.gap_us)]

    def merge(self, intervals: Sequence[Proto]) -> list[list[Proto]]:
        sessions: list[list[Proto]] = []
        for interval in intervals:
            if sessions and not self.is_full(sessions[-1], interval):
                sessions[-1].append(interval)
            else:
                sessions.append([interval])
        return sessions


class EveryTen:
    """No value is needed of a class whose function asks nothing of one."""

    @staticmethod
    def assign(event: Mapping[str, object]) -> list[tuple[int, int]]:
        start_us = int(str(event["event_us"])) // (10 * SECOND) * 10 * SECOND
        return [(start_us, start_us + 10 * SECOND)]


def bounded(gap_us: int, max_us: int) -> Burst:
    """Sessions shorter than `max_us`, as `{session: gap, max: max}` has them."""
    return Burst(gap_us, lambda session, interval: interval.end_us - session[0].start_us >= max_us)


def at_most(events: int, gap_us: int) -> Burst:
    """Sessions of so many events; those of one instant stay together."""

    def is_full(session: Sequence[Proto], interval: Proto) -> bool:
        return sum(one.event_count for one in session) + interval.event_count > events

    return Burst(gap_us, is_full)


def apart(gap_us: int) -> Burst:
    """Sessions as `touching: split` has them: one that begins exactly where another ends is not merged."""
    return Burst(gap_us, lambda session, interval: interval.start_us >= session[-1].end_us, touching="split")


BOUNDED = bounded(10 * SECOND, 25 * SECOND)
AT_MOST_THREE = at_most(3, 10 * SECOND)
PAIRS = at_most(2, 8 * SECOND)
AT_MOST_TWO = at_most(2, 10 * MINUTE)
APART = apart(10 * MINUTE)
MANY = at_most(1_000, MINUTE)
LOSING = type("Losing", (), {"assign": lambda self, event: [], "merge": lambda self, held: []})()


@dataclass(frozen=True)
class ByNumber:
    """As many intervals as a column says, each a second longer than the last, and one of them twice."""

    column: str

    def assign(self, event: Mapping[str, object]) -> list[tuple[int, int]]:
        at_us, many = int(str(event["event_us"])), int(str(event[self.column]))
        intervals = [(at_us, at_us + (number + 1) * SECOND) for number in range(many)]
        return [*intervals, *intervals[:1]]


BY_PRICE, BY_ID = ByNumber("price"), ByNumber("_id")


@dataclass(frozen=True)
class ByRemainder:
    """No interval, one or two, as a column says by its remainder; they begin together, every `step_us`."""

    column: str
    step_us: int

    def assign(self, event: Mapping[str, object]) -> list[tuple[int, int]]:
        at_us, many = int(str(event["event_us"])), int(str(event[self.column])) % 3
        start_us = at_us // self.step_us * self.step_us
        return [(start_us, start_us + (2 + number) * self.step_us) for number in range(many)]


NONE_TO_TWO = ByRemainder("number", 20 * SECOND)
NONE_TO_TWO_LONG_ONES = ByRemainder("number", 10 * MINUTE)


class Before:
    """The second before an event, which does not hold it."""

    def assign(self, event: Mapping[str, object]) -> list[tuple[int, int]]:
        at_us = int(str(event["event_us"]))
        return [(at_us - SECOND, at_us)]


BEFORE = Before()


class Sparse:
    """One session of a run of four instants at most; of more each alone. All of it hangs on the last."""

    def assign(self, event: Mapping[str, object]) -> list[tuple[int, int]]:
        at_us = int(str(event["event_us"]))
        return [(at_us, at_us + 10 * SECOND)]

    def merge(self, intervals: Sequence[Proto]) -> list[list[Proto]]:
        instants = [list(same) for _, same in groupby(intervals, key=lambda it: it.start_us)]
        return [list(intervals)] if len(instants) <= 4 else instants


SPARSE = Sparse()


class AsLongAsSaid:
    """As long as the event's column `length` says, in seconds; all that overlaps is one."""

    def assign(self, event: Mapping[str, object]) -> list[tuple[int, int]]:
        at_us = int(str(event["event_us"]))
        return [(at_us, at_us + int(str(event["length"])) * SECOND)]

    def merge(self, intervals: Sequence[Proto]) -> list[list[Proto]]:
        return [list(intervals)]


AS_LONG_AS_SAID = AsLongAsSaid()
