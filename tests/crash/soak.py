"""`make soak`: batches by the hundred, and something goes wrong in most; after each the tables are those that
the plain loops have, which nothing ever happened to.

`python -m tests.crash.soak BATCHES SEED`. Ends at the first difference; the folder that it named at the start
stays, to be looked at.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from pipelines.intervals import Interval
from pipelines.stages import Request
from tests.crash.faults import FAULTS, Scene
from tests.crash.workers import Where, Worker
from tests.generators import CATALOGUE, SECOND, Case
from tests.oracle import Batch, Event, Pipeline, Source, Walk, Window
from tests.walk.feed import spec_text, write_rows
from tests.walk.stand import Stored, same_tables

LENGTH = 20 * SECOND
EVENTS_OF_A_BATCH = 12
AGGREGATES = tuple(it for it in CATALOGUE if it.name in ("rows", "total", "mean", "cheap_total", "latest"))
PIPELINE = Pipeline(
    sources=(Source(name="east", max_disorder=5 * SECOND, idle_after=90 * SECOND), Source(name="west")),
    aggregates=AGGREGATES,
    windows=(
        Window(name="sliding", size=50 * SECOND, step=10 * SECOND, lateness=30 * SECOND),
        Window(name="whole", size=20 * SECOND, step=20 * SECOND),
    ),
)
TRIES = 3


class Soak:
    """A store and the oracle beside it, as far as they have come."""

    def __init__(self, folder: Path, *, batches: int, seed: int) -> None:
        self.chosen = random.Random(seed)
        self.events = self._events(batches)
        self.case = Case(pipeline=PIPELINE, devices=False, events=self.events, batches=[])
        spec = folder / "dags" / "soak.yml"
        spec.parent.mkdir()
        spec.write_text(spec_text("soak", PIPELINE, devices=False))
        self.where = Where(spec=spec, home=folder, store=folder / "store")
        self.stored = Stored(folder / "store" / "soak")
        self.walk = Walk(pipeline=PIPELINE)
        self.worker, self.spare = Worker(self.where), Worker(self.where)
        self.done: list[Batch] = []
        self.skipped: list[Batch] = []
        self.count: Counter[str] = Counter()
        self._feed()

    def step(self, batch: Batch, *, fault: str) -> None:
        """Run a batch with a fault; then, unless that was none, until it is done; then compare."""
        request = Request(batch=Interval(batch.start, batch.end))
        scene = Scene(
            request=request,
            worker=self.worker,
            spare=self.spare,
            store=self.where.store,
            data=self.where.home / "data",
            chosen=self.chosen,
        )
        FAULTS[fault](scene)
        self._replace_the_dead()
        if fault != "nothing":
            self._run_again(request)
        self.walk.run(batch, self.events)
        same_tables(self.stored, self.walk)
        self.count[fault] += 1

    def _run_again(self, request: Request) -> None:
        said = []
        for _ in range(TRIES):
            self.worker.tell(request)
            said.append(self.worker.answer())
            if said[-1] == "done":
                return
            self._replace_the_dead()
        raise AssertionError(f"{request.batch} cannot be run after a fault: {said}")

    def next_batch(self, number: int) -> Batch:
        """The next one; or one again, with the same rows or others; or one that was left out."""
        batch = Batch(start=number * LENGTH, end=(number + 1) * LENGTH)
        if self.skipped and self.chosen.random() < 0.3:
            return self.skipped.pop()
        if self.done and self.chosen.random() < 0.2:
            if self.chosen.random() < 0.5:
                self._change_rows()
            return self.chosen.choice(self.done[-6:])
        return batch

    def leave_out(self, batch: Batch) -> bool:
        """Now and then a batch is run only after newer ones."""
        if self.done and not self.skipped and self.chosen.random() < 0.1:
            self.skipped.append(batch)
            return True
        return False

    def end(self) -> None:
        for worker in (self.worker, self.spare):
            worker.kill()

    def _replace_the_dead(self) -> None:
        if not self.worker.is_alive:
            self.worker, self.spare = self.spare, Worker(self.where)
        if not self.spare.is_alive:
            self.spare = Worker(self.where)

    def _change_rows(self) -> None:
        """Some numbers are others now, in batches that have run: each may be run again with them."""
        batch = self.chosen.choice(self.done[-6:])
        mine = [it for it in self.events if batch.start <= (it.arrives_us or 0) < batch.end]
        for event in self.chosen.sample(mine, min(3, len(mine))):
            changed = replace(event, values={**event.values, "number": self.chosen.randint(-9, 9)})
            self.events[event.id] = changed
        self._feed()

    def _feed(self) -> None:
        for source in PIPELINE.sources:
            write_rows(self.where.home / "data", source.name, self.events)

    def _events(self, batches: int) -> list[Event]:
        events = []
        for number in range(batches * EVENTS_OF_A_BATCH):
            arrival = self.chosen.randrange(batches * LENGTH)
            away = self.chosen.choice([0, 1, 2, 5, 10, 20, 60, 120]) * SECOND
            values = {"number": self.chosen.randint(-9, 9), "money": None, "real": None}
            happened = None if self.chosen.random() < 0.03 else arrival // SECOND * SECOND - away
            source, key = self.chosen.choice(["east", "west"]), self.chosen.choice("abc")
            events.append(
                Event(
                    id=number, source=source, key=(key,), event_us=happened, arrival_us=arrival, values=values
                )
            )
        return events


def main(batches: int, seed: int) -> None:
    """Run so many batches, and print what went wrong on the way and was survived."""
    folder = Path(tempfile.mkdtemp(prefix="sash_soak_"))
    print(f"soak: {batches} batches, seed {seed}, in {folder}", flush=True)
    soak, number, ran, began = Soak(folder, batches=batches, seed=seed), 0, 0, time.monotonic()
    try:
        while ran < batches:
            batch = soak.next_batch(number)
            is_new = batch.start == number * LENGTH
            number += is_new
            if is_new and soak.leave_out(batch):
                continue
            fault = soak.chosen.choice(list(FAULTS))
            at = time.monotonic()
            soak.step(batch, fault=fault)
            ran += 1
            if batch not in soak.done:
                soak.done.append(batch)
            how = "new" if is_new else "again"
            print(
                f"{ran:4} {batch.start // SECOND:6} {how:5} {fault:22} {time.monotonic() - at:5.1f} s",
                flush=True,
            )
    finally:
        soak.end()
    print(f"\n{ran} batches in {(time.monotonic() - began) / 60:.0f} min, each equal to the oracle's:")
    for fault, times in soak.count.most_common():
        print(f"  {times:4} {fault}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
