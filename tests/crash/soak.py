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
from pathlib import Path

from pipelines.intervals import Interval
from pipelines.stages import Request
from tests.crash.faults import FAULTS, Scene
from tests.crash.histories import History, Restated, Retold
from tests.crash.killing import written
from tests.crash.workers import Worker
from tests.oracle import Batch
from tests.walk.stand import request_of

TRIES = 3
CALM = "nothing"


class Soak:
    """Pipelines in one store, each with the plain loops beside it, as far as they have come."""

    def __init__(self, folder: Path, *, batches: int, seed: int) -> None:
        self.chosen = random.Random(seed)
        self.histories: list[History] = [
            kind(folder=folder, chosen=self.chosen, batches=batches) for kind in (Restated, Retold)
        ]
        self.store = folder / "store"
        self.worker, self.spare = Worker(self.store), Worker(self.store)
        self.drawn: Counter[str] = Counter()
        self.struck: Counter[str] = Counter()
        self.survived: Counter[str] = Counter()

    def step(self, history: History, batch: Batch, *, fault: str) -> bool:
        """Run a batch with a fault; then, unless that was none, until it is done; then compare. Whether the
        fault struck.
        """
        request = request_of(batch)
        scene = Scene(
            spec=history.spec,
            request=request,
            worker=self.worker,
            spare=self.spare,
            store=self.store,
            data=history.home / "data",
            chosen=self.chosen,
            most_writes=history.most_writes,
        )
        self.drawn[fault] += 1
        stood = written(self.store, "commit")
        has_struck = FAULTS[fault](scene)
        self.struck[fault] += has_struck
        self._replace_the_dead()
        if fault != CALM:
            self._run_again(history, request)
        elif batch not in history.done:
            history.most_writes = len(written(self.store, "commit") - stood)
        history.compare(batch)
        self.survived[fault] += has_struck
        if batch not in history.done:
            history.done.append(batch)
        return has_struck

    def _run_again(self, history: History, request: Request) -> None:
        said = []
        for _ in range(TRIES):
            self.worker.tell(request, spec=history.spec)
            said.append(self.worker.answer())
            if said[-1] == "done":
                return
            self._replace_the_dead()
        raise AssertionError(f"{request.batch} cannot be run after a fault: {said}")

    def end(self) -> None:
        for worker in (self.worker, self.spare):
            worker.kill()

    def _replace_the_dead(self) -> None:
        if not self.worker.is_alive:
            self.worker, self.spare = self.spare, Worker(self.store)
        if not self.spare.is_alive:
            self.spare = Worker(self.store)


def main(batches: int, seed: int) -> None:
    """Run so many batches, and print what went wrong on the way and was survived."""
    folder = Path(tempfile.mkdtemp(prefix="sash_soak_"))
    print(f"soak: {batches} batches, seed {seed}, in {folder}", flush=True)
    soak, began = Soak(folder, batches=batches, seed=seed), time.monotonic()
    try:
        for ran in range(1, batches + 1):
            history = soak.chosen.choice(soak.histories)
            told(soak, history, history.next_batch(), fault=soak.chosen.choice(list(FAULTS)), ran=ran)
        for history in soak.histories:
            told(soak, history, history.last_batch(), fault=CALM, ran=batches + 1)
    finally:
        soak.end()
        print(f"\n{soak.drawn.total()} batches in {(time.monotonic() - began) / 60:.0f} min")
        print("  drawn  struck  survived")
        for fault, times in soak.drawn.most_common():
            print(f"  {times:5} {soak.struck[fault]:7} {soak.survived[fault]:9}  {fault}", flush=True)
    print("After each batch all tables were those of the plain loops.")


def told(soak: Soak, history: History, batch: Batch, *, fault: str, ran: int) -> None:
    """Run a batch and print a line of it."""
    how, at = "again" if batch in history.done else "new", time.monotonic()
    has_struck = soak.step(history, batch, fault=fault)
    bounds = Interval(batch.start, batch.end)
    struck = "struck" if has_struck else ""
    seconds = time.monotonic() - at
    print(f"{ran:4} {history.name:8} {bounds} {how:5} {fault:22} {struck:6} {seconds:5.1f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
