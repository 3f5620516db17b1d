"""Stories whose batches run again with other rows, and the laws that hold after each of their runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from pipelines.intervals import LATEST_US, Interval
from pipelines.stages import Request, run_batch
from tests.oracle.publishing import Definition, Event, Row
from tests.oracle.shapes import Bounds
from tests.walk.published import in_microseconds
from tests.walk.shaped import SECOND
from tests.walk.story import LENGTH, Story, write_events
from tests.walk.test_generated_shapes import BATCHES

Place = tuple[str, str, int, int]
Value = tuple[int, int]
Contents = dict[Place, frozenset[Event]]
Changes = list[tuple[int, int]]
again = st.lists(st.tuples(st.integers(0, BATCHES - 1), st.integers(0, 2**32)), min_size=3, max_size=3)


@dataclass(frozen=True)
class Standing:
    """What there is between two runs: all events by window, what `windows` holds, and the watermarks."""

    contents: Contents
    windows: dict[Place, Value]
    by_event: int | None
    by_arrival: int | None

    def reached(self, definition: Definition) -> int | None:
        """The watermark of a definition's windows."""
        return self.by_arrival if definition.by_arrival else self.by_event


@dataclass(frozen=True)
class Run:
    """A run of a batch, first or again: what it told, and what there was before and after it."""

    number: int
    restates: bool
    told: Sequence[Row]
    before: Standing
    after: Standing

    def timing_of(self, definition: Definition, end: int) -> str:
        """Why a window publishes, if it does."""
        if not definition.is_due(end, self.after.reached(definition)):
            return "EARLY"
        return "LATE" if definition.is_due(end, self.before.reached(definition)) else "ON_TIME"


# What of a definition breaks a law after a run.
Laws = Callable[[Definition, Run], list[object]]


class Retold(Story):
    """A story whose batches run again with other rows."""

    ran: frozenset[Interval] = frozenset()
    told: tuple[Row, ...] = ()

    def stands(self) -> Standing:
        """What there is after the last run."""
        rows = in_microseconds(self.store / "watermarks")
        whole = [it for it in rows if it["source"] is None]
        newest = max(whole, key=lambda it: it["batch_end"], default={"watermark": None, "batch_end": None})
        contents: Contents = {}
        for publisher in self.publishers:
            mine = [it for it in self.arrived() if it.key == publisher.key]
            contents |= {
                (publisher.definition.name, publisher.key, *bounds): held
                for bounds, held in held_by(publisher.definition, mine).items()
            }
        by_event = newest["watermark"]
        by_arrival = LATEST_US if by_event == LATEST_US else newest["batch_end"]
        return Standing(contents, self.windows(), by_event, by_arrival)

    def arrived(self) -> list[Event]:
        """The events of batches that have run."""
        return [it for it in self.events if any(b.start_us <= it.arrival_us < b.end_us for b in self.ran)]

    def tell(self, batch: Interval, *, final: bool = False) -> list[Row]:
        """What the walk publishes in a run of a batch."""
        stood = self.panes()
        list(run_batch(self.site, Request(batch=batch, final=final)))
        self.ran |= {batch}
        told = self.panes()
        for row in stood:
            told.remove(row)
        # Of one window the retract comes first.
        told.sort(key=lambda it: it.kind == "insert")
        self.told = (*self.told, *told)
        return told

    def change(self, batch: Interval, seed: int) -> None:
        """Let rows of a batch be gone, moved and new."""
        chosen, events = random.Random(seed), []
        for event in self.events:
            chance = chosen.random()
            if not batch.start_us <= event.arrival_us < batch.end_us or chance < 0.7:
                events.append(event)
            elif chance < 0.85:
                away = chosen.choice((-30, -10, -3, 3, 10)) * SECOND
                events.append(event._replace(event_us=event.event_us + away))
        number = max(it.number for it in self.events)
        for more in range(1, 1 + chosen.randrange(3)):
            arrival = batch.start_us + chosen.randrange(60) * SECOND
            away = chosen.choice((0, 10, 25, 90)) * SECOND
            events.append(Event(number + more, chosen.choice(("ann", "bob")), arrival - away, arrival))
        self.events = events
        write_events(self.store.parent.parent / "data", events)


def held_by(definition: Definition, events: Sequence[Event]) -> dict[Bounds, frozenset[Event]]:
    """The windows of one key's events."""
    if definition.by_arrival:
        events = [it._replace(event_us=it.arrival_us) for it in events]
    if definition.sessions_of is None:
        named = {bounds for event in events for bounds in definition.alone(event)}
        return {one: frozenset(it for it in events if one in definition.alone(it)) for one in named}
    found = definition.sessions_of([it.event_us for it in events]) if events else []
    return {
        one: frozenset(it for it in events if max(b for b in found if b[0] <= it.event_us) == one)
        for one in found
    }


def value(events: frozenset[Event]) -> Value:
    """What `windows` holds of these."""
    return sum(it.number for it in events), len(events)


def may_tell(definition: Definition, timing: str) -> bool:
    return timing != "EARLY" or definition.early != "none"


def walk_through(story: Retold, changes: Changes, broken: Laws) -> None:
    """Batch after batch, one again after each but the first with other rows, and the end of time."""
    for number in range(BATCHES):
        run(story, number, broken, final=number == BATCHES - 1)
        if number:
            place, seed = changes[number - 1]
            run(story, place % (number + 1), broken, seed=seed)


def run(story: Retold, number: int, broken: Laws, *, final: bool = False, seed: int | None = None) -> None:
    """A run, after which all laws hold; with a seed one of other rows."""
    before = story.stands()
    if seed is not None:
        story.change(interval(number), seed)
    told = story.tell(interval(number), final=final)
    one = Run(number, restates=seed is not None, told=told, before=before, after=story.stands())
    for definition in {it.definition.name: it.definition for it in story.publishers}.values():
        found = broken(definition, one)
        assert not found, (number, one.restates, definition, found, before.by_event, one.after.by_event)
    assert story.adding_up(story.told) == one.after.windows, (number, one.restates)


def interval(number: int) -> Interval:
    return Interval(number * LENGTH, (number + 1) * LENGTH)
