"""Batches whose rows change after they have run, and that run again, late, or in the place of others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

from pipelines.intervals import Interval
from pipelines.stages import Request
from tests.crash.histories import LENGTH, History
from tests.crash.workers import Asked
from tests.generators import SECOND
from tests.oracle import Event
from tests.walk.feed import write_rows

RECENT = 6


@dataclass(kw_only=True)
class Changing(History):
    """A history of such batches: what is asked of one that has run, or was left out."""

    away: set[int] = field(default_factory=set)
    """Rows that have not come yet, or have gone again."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.away = {it.id for it in self.events if self.chosen.random() < 0.1}
        self.feed()

    def feed(self) -> None:
        there = [it for it in self.events if it.id not in self.away]
        for source in self.pipeline.sources:
            write_rows(self.home / "data", source.name, there)

    def note(self, asked: Asked) -> None:
        if isinstance(asked, Request):
            self.done = [it for it in self.done if not asked.batch.covers(it)] + [asked.batch]

    def _in_the_place_of_others(self) -> Asked:
        """Two that follow one another, and what was left out between them."""
        ordered = sorted(self.done)
        pairs = [Interval(one.start_us, other.end_us) for one, other in pairwise(ordered)]
        short = [it for it in pairs[-RECENT:] if it.end_us - it.start_us <= 4 * LENGTH]
        if not short:
            return self._again()
        whole = self.chosen.choice(short)
        self.skipped = [it for it in self.skipped if not whole.covers(it)]
        return Request(batch=whole, replace=True, ignore_lateness=self.chosen.random() < 0.2)

    def _again(self) -> Asked:
        """With the same rows, or with others."""
        batch = self.chosen.choice(self.done[-RECENT:])
        if self.chosen.random() < 0.6:
            self._change_rows(batch)
        return Request(batch=batch, ignore_lateness=self.chosen.random() < 0.25)

    def _left_out(self) -> Asked:
        return Request(batch=self.skipped.pop() if self.skipped else self.following())

    def _change_rows(self, batch: Interval) -> None:
        """Some rows of a batch that has run have other numbers or times now, some go, and some come."""
        mine = [it for it in self.events if batch.start_us <= (it.arrival_us or 0) < batch.end_us]
        for event in self.chosen.sample(mine, min(4, len(mine))):
            what = self.chosen.choice(["number", "time", "presence"])
            if what == "presence":
                self.away ^= {event.id}
            else:
                self.events[event.id] = self._changed(event, what=what)
        self.feed()

    def _changed(self, event: Event, *, what: str) -> Event:
        if what == "number" or event.event_us is None:
            return replace(event, values={**event.values, "number": self.chosen.randint(-9, 9)})
        return replace(event, event_us=event.event_us + self.chosen.randint(-20, 20) * SECOND)
