"""Panes in plain loops: early, on time and late, in every mode, of windows of any shape, batch after batch.

Nothing is clever here: a window is a list of events with a set of those already published, and whatever
section 5 of the contract says of it is one line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tests.oracle.shapes import Bounds

Trigger = Literal["none", "each batch"] | tuple[Literal["every", "rows"], int]
LATEST = 253_402_300_799_999_999


class Event(NamedTuple):
    """One event of one key."""

    number: int
    key: str
    event_us: int
    arrival_us: int


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A window definition: the windows of an event, or the sessions of many instants."""

    name: str
    windows_of: Callable[[Event], list[Bounds]] | None = None
    sessions_of: Callable[[Sequence[int]], list[Bounds]] | None = None
    gap: int = 0
    touching: str = "split"
    lateness: int = 0
    early: Trigger = "none"
    late: Trigger = "each batch"
    mode: Literal["accumulating", "discarding", "retracting"] = "accumulating"
    by_arrival: bool = False
    """Whether its time is the arrival time; its watermark is the end of the batch then."""

    def alone(self, event: Event) -> list[Bounds]:
        """The windows of an event, as if there were no other."""
        if self.sessions_of is not None:
            return [(event.event_us, event.event_us + self.gap)]
        return (self.windows_of or no_windows)(event)

    def is_due(self, end: int, watermark: int | None) -> bool:
        return watermark is not None and (
            watermark == LATEST or watermark >= end + (self.touching == "merge")
        )

    def is_closed(self, end: int, watermark: int | None) -> bool:
        return watermark is not None and (
            watermark == LATEST or watermark >= end + self.lateness + (self.touching == "merge")
        )


class Row(NamedTuple):
    """One row of `panes`."""

    window: str
    key: str
    start: int
    end: int
    total: int | None
    event_count: int
    kind: str
    timing: str
    pane_index: int
    is_first: bool
    is_final: bool
    restated: bool = False


class Loss(NamedTuple):
    """One row of `late_events`: how many of an event's windows had closed, how many had not."""

    number: int
    window: str
    missed: int
    kept: int
    watermark: int | None


@dataclass
class Standing:
    """A window: its events, those that a pane has told of, and what was last published."""

    bounds: Bounds
    events: list[Event] = field(default_factory=list)
    told: set[int] = field(default_factory=set)
    index: int | None = None
    last_events: list[Event] = field(default_factory=list)
    since: int | None = None
    """The end of the batch of the last pane, or of the first data."""
    is_gone: bool = False
    """Whether its events are in other sessions now, and it stands only until one of these is published."""
    is_other: bool = False
    """Whether it has come back, and not with all that was told of it."""

    @property
    def news(self) -> list[Event]:
        return [event for event in self.events if event.number not in self.told]


@dataclass
class Publisher:
    """The windows of one definition and key, batch after batch."""

    definition: Definition
    key: str
    windows: list[Standing] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    ended: int | None = None
    """Where the batch before ended, which is the watermark by arrival time."""

    def run(self, events: Sequence[Event], *, end: int, before: int | None, after: int | None) -> list[Row]:
        """The rows of a batch that ends at `end`, between two watermarks."""
        if self.definition.by_arrival:
            events = [event._replace(event_us=event.arrival_us) for event in events]
            before = LATEST if before == LATEST else self.ended
            after = LATEST if after == LATEST else end
        self.ended = end
        self._lose(events, before=before)
        if self.definition.sessions_of is None:
            self._fill(events, end=end, before=before)
        else:
            self._regroup(events, end=end, before=before)
        published: list[Row] = []
        for window in [it for it in self.windows if not it.is_gone]:
            timing = self._timing(window, before=before, after=after)
            if timing is None or not self._publishes(window, timing, end=end, after=after):
                continue
            for old in [it for it in self.windows if it.is_gone and shares(it, window)]:
                index, closes = next_index(window), self.definition.is_closed(window.bounds[1], after)
                row = self._row(old, "retract", timing, index=index, events=old.last_events, after=after)
                published.append(row._replace(is_first=index == 0, is_final=closes))
                self.windows.remove(old)
            published += self._publish(window, timing, end=end, after=after)
        return published

    def _lose(self, events: Sequence[Event], *, before: int | None) -> None:
        """Keep in mind which events were dropped from a window, a session's by its own proto-session."""
        for event in events:
            closed = [self.definition.is_closed(end, before) for _, end in self.definition.alone(event)]
            missed, kept = closed.count(True), closed.count(False)
            if missed:
                self.losses.append(Loss(event.number, self.definition.name, missed, kept, before))

    def _fill(self, events: Sequence[Event], *, end: int, before: int | None) -> None:
        for event in events:
            for bounds in self.definition.alone(event):
                if self.definition.is_closed(bounds[1], before):
                    continue
                window = self._window(bounds)
                window.events.append(event)
                window.since = end if window.since is None else window.since

    def _regroup(self, events: Sequence[Event], *, end: int, before: int | None) -> None:
        """Sessions anew, of all events that are in no closed one."""
        closes, gap = self.definition.is_closed, self.definition.gap
        kept = [it for it in events if not closes(it.event_us + gap, before)]
        opened = [it for it in self.windows if not closes(it.bounds[1], before)]
        stand = [it for it in opened if not it.is_gone]
        pool = [event for it in stand for event in it.events] + kept
        bounds = (self.definition.sessions_of or no_sessions)([event.event_us for event in pool])
        found = []
        for one in bounds:
            inside = [it for it in pool if max(b for b in bounds if b[0] <= it.event_us) == one]
            known = next((it for it in stand if it.bounds == one), None) or self._back(one, inside)
            found.append(known or self._grown(one, inside, end=end))
            found[-1].events = inside
        for window in opened:
            window.is_gone = window not in found
        # What was published stands until another is in its place; what was not is forgotten.
        closed = [it for it in self.windows if it not in opened]
        left = [it for it in opened if it.is_gone and it.index is not None]
        self.windows = closed + left + found

    def _back(self, bounds: Bounds, inside: Sequence[Event]) -> Standing | None:
        """A session that is gone and published, whose bounds one has again; what was told of any is told."""
        there = [it for it in self.windows if it.is_gone and it.index is not None and it.bounds == bounds]
        for window in there:
            window.told = {number for it in self.windows for number in it.told} & {it.number for it in inside}
            window.is_other = window.told != {it.number for it in window.last_events}
        return next(iter(there), None)

    def _grown(self, bounds: Bounds, inside: Sequence[Event], *, end: int) -> Standing:
        """A session with new bounds keeps the oldest timer and the unpublished rows of those it came from."""
        numbers = {event.number for event in inside}
        before = [it for it in self.windows if numbers & {event.number for event in it.events}]
        told = {number for it in before for number in it.told}
        timers = [it.since for it in before if it.since is not None]
        return Standing(bounds=bounds, told=told & numbers, since=min(timers, default=end))

    def _window(self, bounds: Bounds) -> Standing:
        for window in self.windows:
            if window.bounds == bounds:
                return window
        self.windows.append(Standing(bounds=bounds))
        return self.windows[-1]

    def _timing(self, window: Standing, *, before: int | None, after: int | None) -> str | None:
        end = window.bounds[1]
        if self.definition.is_closed(end, before):
            return None
        if not self.definition.is_due(end, after):
            return "EARLY"
        return "LATE" if self.definition.is_due(end, before) else "ON_TIME"

    def _publishes(self, window: Standing, timing: str, *, end: int, after: int | None) -> bool:
        if timing == "ON_TIME" or window.is_other:
            return True
        is_new = self.definition.sessions_of is not None and window.index is None
        has_news = bool(window.news) or is_new
        if timing == "LATE" and has_news and self.definition.is_closed(window.bounds[1], after):
            return True
        match self.definition.early if timing == "EARLY" else self.definition.late:
            case "none":
                return False
            case "each batch":
                return has_news
            case ("rows", most):
                return len(window.news) >= int(most)
            case ("every", length):
                return has_news and window.since is not None and end - window.since >= int(length)
        raise AssertionError(timing)

    def _publish(self, window: Standing, timing: str, *, end: int, after: int | None) -> list[Row]:
        index = next_index(window)
        again, mode = window.index is not None, self.definition.mode
        told = window.last_events
        is_news = again and mode == "discarding" and not window.is_other
        values = window.news if is_news else window.events
        rows = [self._row(window, "insert", timing, index=index, events=values, after=after)]
        if again and (mode == "retracting" or (mode == "discarding" and window.is_other)):
            rows.insert(0, self._row(window, "retract", timing, index=index, events=told, after=after))
        window.index, window.since, window.is_other = index, end, False
        window.told = {event.number for event in window.events}
        window.last_events = list(window.events)
        return rows

    def _row(
        self,
        window: Standing,
        kind: str,
        timing: str,
        *,
        index: int,
        events: Sequence[Event],
        after: int | None,
    ) -> Row:
        return Row(
            window=self.definition.name,
            key=self.key,
            start=window.bounds[0],
            end=window.bounds[1],
            total=sum(event.number for event in events) if events else None,
            event_count=len(events),
            kind=kind,
            timing=timing,
            pane_index=index,
            is_first=window.index is None,
            is_final=self.definition.is_closed(window.bounds[1], after),
        )

    def standing(self) -> dict[tuple[str, str, int, int], tuple[int, int]]:
        """What `windows` holds: the whole value as last published."""
        return {
            (self.definition.name, self.key, *it.bounds): (
                sum(event.number for event in it.last_events),
                len(it.last_events),
            )
            for it in self.windows
            if it.index is not None
        }


def next_index(window: Standing) -> int:
    """Of the next pane of a window."""
    return 0 if window.index is None else window.index + 1


def shares(one: Standing, other: Standing) -> bool:
    """Whether two sessions have an event in common."""
    return bool({event.number for event in one.last_events} & {event.number for event in other.events})


def no_windows(_event: Event) -> list[Bounds]:
    return []


def no_sessions(_instants: Sequence[int]) -> list[Bounds]:
    return []
