"""Generated windows of every shape, with triggers and modes, whose batches run again with other rows: what
each run publishes keeps the laws of a restatement, told from the events alone.

Nothing closes before the last batch, so that a window holds all events that there are of it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pipelines.intervals import LATEST_US, Interval
from pipelines.stages import Request, run_batch
from tests.oracle.publishing import Definition, Event, Row
from tests.oracle.shapes import Bounds
from tests.walk.published import in_microseconds
from tests.walk.shaped import SECOND
from tests.walk.story import LENGTH, Story, write_events
from tests.walk.test_generated import examples
from tests.walk.test_generated_shapes import (
    BATCHES,
    Told,
    all_shapes,
    are_many,
    happened,
    has_much,
    some_shapes,
)

Place = tuple[str, str, int, int]
Contents = dict[Place, frozenset[Event]]
again = st.lists(st.tuples(st.integers(0, BATCHES - 1), st.integers(0, 2**32)), min_size=3, max_size=3)


def open_for_long(told: Told) -> Told:
    """The same windows, none of which closes before all do."""
    return {name: (text, replace(it, lateness=900 * SECOND)) for name, (text, it) in told.items()}


@dataclass(frozen=True)
class Standing:
    """What there is between two runs: all events by window, what `windows` holds, and the watermarks."""

    contents: Contents
    windows: dict[Place, tuple[int, int]]
    by_event: int | None
    by_arrival: int | None

    def reached(self, definition: Definition) -> int | None:
        """The watermark of a definition's windows."""
        return self.by_arrival if definition.by_arrival else self.by_event


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


def value(events: frozenset[Event]) -> tuple[int, int]:
    """What `windows` holds of these."""
    return sum(it.number for it in events), len(events)


def broken(
    definition: Definition, told: Sequence[Row], *, before: Standing, after: Standing, restates: bool
) -> list[object]:
    """What of one definition breaks a law, after a run that told this."""
    found: list[object] = []
    held = {place: it for place, it in after.contents.items() if place[0] == definition.name}
    same = {place for place, it in held.items() if before.contents.get(place) == it}
    # Of events that only moved within a window its states may tell, and need not.
    alike = {
        place for place, it in held.items() if value(before.contents.get(place, frozenset())) == value(it)
    }
    for row in told:
        place = (row.window, row.key, row.start, row.end)
        is_due = row.timing == "ON_TIME"
        takes_back = row.kind == "retract" and definition.mode == "accumulating"
        # A session that is gone is taken back when the one in its place is told of.
        if place in held and row.timing != timing_of(definition, row.end, before=before, after=after):
            found.append(("timing", row))
        if restates and place in same and (row.timing == "EARLY" or (is_due and takes_back)):
            found.append(("told of nothing", row))
        if not restates and takes_back and place in held:
            found.append(("taken back in its turn", row))
    for place, events in held.items():
        timing = timing_of(definition, place[3], before=before, after=after)
        is_said = timing == "ON_TIME" or (restates and place not in alike and may_tell(definition, timing))
        wanted = value(events) if is_said else None
        stands = after.windows.get(place)
        if is_said and stands != wanted:
            found.append(("not told", timing, place, stands, wanted))
        if not is_said and stands not in (before.windows.get(place), value(events)):
            found.append(("told otherwise", timing, place, stands, value(events)))
    if definition.sessions_of is None:
        stand = {place for place in after.windows if place[0] == definition.name}
        found += [("stands though gone", place) for place in stand - set(held)]
    return found


def may_tell(definition: Definition, timing: str) -> bool:
    return timing != "EARLY" or definition.early != "none"


def timing_of(definition: Definition, end: int, *, before: Standing, after: Standing) -> str:
    """Why a window publishes, if it does."""
    if not definition.is_due(end, after.reached(definition)):
        return "EARLY"
    return "LATE" if definition.is_due(end, before.reached(definition)) else "ON_TIME"


@given(told=some_shapes.filter(has_much), events=happened().filter(are_many), changes=again)
@examples(1)
def test_some_windows_keep_the_laws_of_a_restatement(
    spark: SparkSession, told: Told, events: list[Event], changes: list[tuple[int, int]]
) -> None:
    walk_through(spark, told, events, changes)


@pytest.mark.slow
@given(told=all_shapes.filter(has_much), events=happened().filter(are_many), changes=again)
@examples(4, always_the_same=False)
def test_all_windows_keep_the_laws_of_a_restatement(
    spark: SparkSession, told: Told, events: list[Event], changes: list[tuple[int, int]]
) -> None:
    walk_through(spark, told, events, changes)


def walk_through(
    spark: SparkSession, told: Told, events: list[Event], changes: list[tuple[int, int]]
) -> None:
    """Batch after batch, one again after each but the first with other rows, and the end of time."""
    with TemporaryDirectory() as folder:
        story = Retold(spark, Path(folder), events, open_for_long(told))
        for number in range(BATCHES):
            run(story, number, final=number == BATCHES - 1)
            if number:
                place, seed = changes[number - 1]
                run(story, place % (number + 1), seed=seed)
        stands = story.stands()
        wanted = {place: value(held) for place, held in stands.contents.items()}
        assert stands.windows == wanted, (told, events, changes)


def run(story: Retold, number: int, *, final: bool = False, seed: int | None = None) -> None:
    """A run, after which all laws hold; with a seed one of other rows."""
    before, restates = story.stands(), seed is not None
    if seed is not None:
        story.change(interval(number), seed)
    published = story.tell(interval(number), final=final)
    after = story.stands()
    definitions = {it.definition.name: it.definition for it in story.publishers}
    for name, definition in definitions.items():
        mine = [row for row in published if row.window == name]
        found = broken(definition, mine, before=before, after=after, restates=restates)
        assert not found, (number, restates, definition, found, before.by_event, after.by_event)
    assert story.adding_up(story.told) == after.windows, (number, restates)


def interval(number: int) -> Interval:
    return Interval(number * LENGTH, (number + 1) * LENGTH)
