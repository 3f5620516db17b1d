"""`make soak`: batches by the hundred, and something goes wrong in most; after each the tables are those that
the plain loops have, or a twin, which nothing ever happened to.

`python -m tests.crash.soak BATCHES SEED`. Ends at the first difference; the folder that it named at the start
stays, to be looked at. A SIGTERM ends it after the batch in work; `… tests.crash.soak FOLDER` goes on.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pyspark import cloudpickle

from tests.crash.faults import END_WELL, FAULTS, Scene
from tests.crash.histories import History, Restated, Retold
from tests.crash.killing import written
from tests.crash.kinds import SMALL
from tests.crash.regrouped import Regrouped
from tests.crash.twinned import Twinned
from tests.crash.workers import Asked, Command, Worker

TRIES = 3
AGAIN = 0.5
CALM = "nothing"
KEPT = "soak.pickle"
"""There between two batches, and only then: a soak as far as it has come."""
# The twin can be asked for more than the plain loops know. A small one takes half as long as another.
LARGE: dict[type[History], int] = {Restated: 1, Retold: 1, Regrouped: 1, Twinned: 2}
WEIGHTS = LARGE | dict.fromkeys(SMALL, 3)


class Soak:
    """Pipelines in one store, each with plain loops or a twin beside it, as far as they have come."""

    def __init__(self, folder: Path, *, batches: int, seed: int) -> None:
        self.folder, self.batches = folder, batches
        self.ran, self.seconds = 0, 0.0
        self.has_enough = False
        self.chosen = random.Random(seed)
        self.histories: list[History] = [
            kind(folder=folder, chosen=self.chosen, batches=batches) for kind in WEIGHTS
        ]
        self.store = folder / "store"
        self.worker, self.spare = Worker(self.store), Worker(self.store)
        self.drawn: Counter[str] = Counter()
        self.struck: Counter[str] = Counter()
        self.survived: Counter[str] = Counter()

    def __getstate__(self) -> dict[str, object]:
        """All but the processes."""
        return {name: it for name, it in vars(self).items() if name not in ("worker", "spare")}

    def __setstate__(self, kept: dict[str, object]) -> None:
        vars(self).update(kept, has_enough=False)
        self.worker, self.spare = Worker(self.store), Worker(self.store)

    @property
    def is_over(self) -> bool:
        return self.ran == self.batches + len(self.histories)

    def next_asked(self) -> tuple[History, Asked, str]:
        """What comes next, and the fault that it meets: in the end a batch of each that closes everything."""
        if self.ran < self.batches:
            (history,) = self.chosen.choices(self.histories, list(WEIGHTS.values()))
            return history, history.next_asked(), self.chosen.choice(list(FAULTS))
        history = self.histories[self.ran - self.batches]
        return history, history.last_asked(), CALM

    def step(self, history: History, asked: Asked, *, fault: str) -> bool:
        """Ask with a fault; then, unless it is done all the same, until it is; then compare. Whether the
        fault struck.
        """
        history.foretell(asked)
        scene = Scene(
            spec=history.spec,
            asked=asked,
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
        if fault == CALM and not is_again(history, asked):
            history.most_writes = len(written(self.store, "commit") - stood)
        # Who asks again may mend what the fault has left: where all is done, half of them are not asked to.
        if fault not in END_WELL or (fault != CALM and self.chosen.random() < AGAIN):
            self._ask_again(history, asked)
        history.compare(asked)
        self.survived[fault] += has_struck
        history.note(asked)
        return has_struck

    def _ask_again(self, history: History, asked: Asked) -> None:
        said = []
        for _ in range(TRIES):
            self.worker.tell(asked, spec=history.spec)
            said.append(self.worker.answer())
            if said[-1] == "done":
                return
            self._replace_the_dead()
        raise AssertionError(f"{asked} is refused after a fault: {said}")

    def end(self) -> None:
        for one in (self.worker, self.spare):
            one.kill()
        for history in self.histories:
            history.end()

    def _replace_the_dead(self) -> None:
        if not self.worker.is_alive:
            self.worker, self.spare = self.spare, Worker(self.store)
        if not self.spare.is_alive:
            self.spare = Worker(self.store)


def main(words: list[str]) -> None:
    """Run so many batches, or what is left of them, and print what went wrong on the way and was survived."""
    soak = begun(*map(int, words)) if all(map(str.isdigit, words)) else gone_on_with(*map(Path, words))
    signal.signal(signal.SIGTERM, lambda *_: setattr(soak, "has_enough", True))
    try:
        while not soak.is_over and not soak.has_enough:
            run_one(soak)
    finally:
        soak.end()
        print(f"\n{soak.drawn.total()} batches in {soak.seconds / 60:.0f} min")
        print("  drawn  struck  survived")
        for fault, times in soak.drawn.most_common():
            print(f"  {times:5} {soak.struck[fault]:7} {soak.survived[fault]:9}  {fault}", flush=True)
    print("After each batch the tables were those of the plain loops, or all those of the twin.")
    if not soak.is_over:
        print(f"Ended from outside. To go on: make soak GO_ON={soak.folder}")


def begun(batches: int = 200, seed: int = 1) -> Soak:
    folder = Path(tempfile.mkdtemp(prefix="sash_soak_"))
    print(f"soak: {batches} batches, seed {seed}, in {folder}", flush=True)
    return Soak(folder, batches=batches, seed=seed)


def gone_on_with(folder: Path) -> Soak:
    """One that has ended between two batches."""
    kept = folder / KEPT
    if not kept.exists():
        sys.exit(f"No soak has ended between two batches in {folder}: there is no {KEPT}.")
    soak: Soak = cloudpickle.loads(kept.read_bytes())
    print(f"soak: goes on after {soak.ran} of {soak.batches} batches, in {folder}", flush=True)
    return soak


def run_one(soak: Soak) -> None:
    """Ask for what comes next and print a line of it; then it can be gone on from there."""
    (soak.folder / KEPT).unlink(missing_ok=True)
    history, asked, fault = soak.next_asked()
    began = time.monotonic()
    print(f"{soak.ran + 1:4} {history.name:8} {describe(history, asked):75} {fault:26} ", end="", flush=True)
    has_struck = soak.step(history, asked, fault=fault)
    took = time.monotonic() - began
    print(f"{'struck' if has_struck else '':6} {took:5.1f} s", flush=True)
    soak.ran, soak.seconds = soak.ran + 1, soak.seconds + took
    (soak.folder / KEPT).write_bytes(cloudpickle.dumps(soak))


def describe(history: History, asked: Asked) -> str:
    if isinstance(asked, Command):
        return " ".join((asked.name, *asked.words))
    flags = [name for name in ("replace", "ignore_lateness", "final") if getattr(asked, name)]
    return " ".join([str(asked.batch), "again" if is_again(history, asked) else "new", *flags])


def is_again(history: History, asked: Asked) -> bool:
    """Whether it says nothing of how often a new batch commits."""
    return isinstance(asked, Command) or asked.batch in history.done


if __name__ == "__main__":
    main(sys.argv[1:])
