"""What a soak runs with plain loops beside it: one pipeline whose older batches change and come late, one of
sessions, triggers and modes, whose batches run in order, and again.

Both have sources that differ, ids that repeat inside a batch and across, and rows that break an expectation.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from pipelines.intervals import Interval
from pipelines.stages import Request
from tests.crash.told import Told
from tests.crash.workers import Asked
from tests.generators import CATALOGUE, SECOND
from tests.oracle import Aggregate, Batch, Event, Pipeline, Source, Walk, Window
from tests.oracle.model import Value
from tests.walk.feed import spec_text, write_rows
from tests.walk.shaped import Shaped, session, sliding, tumbling, written
from tests.walk.stand import Stored, same_tables

LENGTH = 20 * SECOND
EVENTS_OF_A_BATCH = 12
LOWEST = -8
EXPECTATIONS = f"""
events:
  - expect_column_values_to_be_between: {{column: number, min_value: {LOWEST}}}
    on_failure: quarantine
"""
SUMMED = ("rows", "total", "mean", "cheap_total", "latest")


def is_too_low(values: Mapping[str, Value]) -> bool:
    number = values["number"]
    return isinstance(number, int) and number < LOWEST


def sources(within: int) -> tuple[Source, ...]:
    east = Source(name="east", max_disorder=5 * SECOND, idle_after=90 * SECOND)
    return tuple(replace(it, event_id="ticket", within=within) for it in (east, Source(name="west")))


FRAMES = Pipeline(
    sources=sources(70 * SECOND),
    aggregates=tuple(it for it in CATALOGUE if it.name in SUMMED),
    windows=(
        Window(name="sliding", size=50 * SECOND, step=10 * SECOND, lateness=30 * SECOND),
        Window(name="whole", size=20 * SECOND, step=20 * SECOND),
    ),
    breaks=is_too_low,
)
SESSIONS = replace(
    FRAMES,
    sources=sources(110 * SECOND),
    aggregates=(Aggregate(name="total", op="sum", of="id"),),
    windows=(),
)
TOLD: dict[str, Shaped] = {
    "visits": session(15, early="each batch", lateness=60 * SECOND, mode="discarding"),
    "bursts": session(15, 40, early=("rows", 2), late=("rows", 2), lateness=40 * SECOND, mode="retracting"),
    "news": sliding(50, 20, early="each batch", late=("rows", 2), lateness=60 * SECOND, mode="discarding"),
    "undone": tumbling(20, early=("every", 40 * SECOND), lateness=30 * SECOND, mode="retracting"),
}


@dataclass(kw_only=True)
class History(ABC):
    """A pipeline in a folder, its rows, and how far its batches have come."""

    name: ClassVar[str]
    pipeline: ClassVar[Pipeline]
    folder: Path
    chosen: random.Random
    batches: int
    number: int = 0
    done: list[Interval] = field(default_factory=list)
    skipped: list[Interval] = field(default_factory=list)
    most_writes: int = 16
    """How often its last undisturbed batch has committed."""

    def __post_init__(self) -> None:
        for path, text in ((self.spec, self.text()), (self.home / "expectations" / "all.yml", EXPECTATIONS)):
            path.parent.mkdir(parents=True)
            path.write_text(text)
        self.events = self._events()
        self.feed()
        self.stored = Stored(self.folder / "store" / self.name)

    @property
    def home(self) -> Path:
        return self.folder / self.name

    @property
    def spec(self) -> Path:
        return self.home / "dags" / f"{self.name}.yml"

    def text(self) -> str:
        """The spec."""
        text = spec_text(self.name, self.pipeline, devices=False)
        return f"expectations: expectations/all.yml\n{text}"

    @abstractmethod
    def next_asked(self) -> Asked:
        """What is asked next: a batch that is new, or one again."""

    def foretell(self, asked: Asked) -> None:
        """Find out what is to come of it, before anything can go wrong."""
        return

    @abstractmethod
    def compare(self, asked: Asked) -> None:
        """Fail where the tables are others than they should be after what was asked."""

    def following(self) -> Interval:
        """The next batch that is new."""
        self.number += 1
        return Interval((self.number - 1) * LENGTH, self.number * LENGTH)

    def last_asked(self) -> Asked:
        """A batch after all, which closes everything."""
        return Request(batch=self.following(), final=True)

    def note(self, asked: Asked) -> None:
        """Remember what has run."""
        if isinstance(asked, Request) and asked.batch not in self.done:
            self.done.append(asked.batch)

    def end(self) -> None:
        """Leave nothing running."""
        return

    def feed(self) -> None:
        """Let the events be the rows of the input."""
        for source in self.pipeline.sources:
            write_rows(self.home / "data", source.name, self.events)

    def _events(self) -> list[Event]:
        return [self._event(number) for number in range(self.batches * EVENTS_OF_A_BATCH)]

    def _event(self, number: int) -> Event:
        """On whole seconds, now and then without a time; its ticket is often that of one near it."""
        chosen = self.chosen
        arrival = chosen.randrange(self.batches * LENGTH // SECOND)
        away = chosen.choice([0, 1, 2, 5, 10, 20, 60, 120])
        ticket = None if chosen.random() < 0.1 else arrival // 7 * 5 + chosen.randrange(8)
        return Event(
            id=number,
            source=chosen.choice(["east", "west"]),
            key=(chosen.choice("abc"),),
            event_us=None if chosen.random() < 0.03 else (arrival - away) * SECOND,
            arrival_us=arrival * SECOND,
            values={"ticket": ticket, "number": chosen.randint(-9, 9), "money": None, "real": None},
        )


@dataclass(kw_only=True)
class Restated(History):
    """Batches run again with other rows, or only after newer ones."""

    name = "frames"
    pipeline = FRAMES

    def __post_init__(self) -> None:
        super().__post_init__()
        self.walk = Walk(pipeline=FRAMES)

    def next_asked(self) -> Asked:
        """The next one; or one again, with the same rows or others; or one that was left out."""
        if self.skipped and self.chosen.random() < 0.3:
            return Request(batch=self.skipped.pop())
        if self.done and self.chosen.random() < 0.2:
            if self.chosen.random() < 0.5:
                self._change_rows()
            return Request(batch=self.chosen.choice(self.done[-6:]))
        if self.done and not self.skipped and self.chosen.random() < 0.1:
            self.skipped.append(self.following())
        return Request(batch=self.following())

    def compare(self, asked: Asked) -> None:
        self.walk.run(batch_of(asked), self.events)
        same_tables(self.stored, self.walk)

    def _change_rows(self) -> None:
        """Some numbers are others now, in batches that have run: each may be run again with them."""
        batch = self.chosen.choice(self.done[-6:])
        mine = [it for it in self.events if batch.start_us <= (it.arrives_us or 0) < batch.end_us]
        for event in self.chosen.sample(mine, min(3, len(mine))):
            changed = replace(event, values={**event.values, "number": self.chosen.randint(-9, 9)})
            self.events[event.id] = changed
        self.feed()


@dataclass(kw_only=True)
class Retold(History):
    """Batches run in order, and again with the same rows, which changes nothing."""

    name = "sessions"
    pipeline = SESSIONS
    shapes: ClassVar[Mapping[str, Shaped]] = TOLD

    def __post_init__(self) -> None:
        super().__post_init__()
        self.told = Told(pipeline=self.pipeline, shapes=self.shapes, keys="abc")

    def text(self) -> str:
        return super().text() + "".join(written(name, *it) for name, it in self.shapes.items())

    def next_asked(self) -> Asked:
        if self.done and self.chosen.random() < 0.15:
            return Request(batch=self.chosen.choice(self.done[-6:]))
        return Request(batch=self.following())

    def compare(self, asked: Asked) -> None:
        self.told.run(batch_of(asked), self.events)
        self.told.compare(self.stored)


def batch_of(asked: Asked) -> Batch:
    """The batch as the plain loops know it."""
    assert isinstance(asked, Request)
    return Batch(start=asked.batch.start_us, end=asked.batch.end_us, final=asked.final)
