"""`make soak`: batches by the hundred, and something goes wrong in most; after each the tables are those that
the plain loops have, or a twin, which nothing ever happened to.

`python -m tests.crash.soak BATCHES SEED`. Ends at the first difference; the folder that it named at the start
stays, to be looked at.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NoReturn

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
# The twin can be asked for more than the plain loops know. A small one takes half as long as another.
LARGE: dict[type[History], int] = {Restated: 1, Retold: 1, Regrouped: 1, Twinned: 2}
WEIGHTS = LARGE | dict.fromkeys(SMALL, 3)


class Soak:
    """Pipelines in one store, each with plain loops or a twin beside it, as far as they have come."""

    def __init__(self, folder: Path, *, batches: int, seed: int) -> None:
        self.chosen = random.Random(seed)
        self.histories: list[History] = [
            kind(folder=folder, chosen=self.chosen, batches=batches) for kind in WEIGHTS
        ]
        self.store = folder / "store"
        self.worker, self.spare = Worker(self.store), Worker(self.store)
        self.drawn: Counter[str] = Counter()
        self.struck: Counter[str] = Counter()
        self.survived: Counter[str] = Counter()

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


def main(batches: int, seed: int) -> None:
    """Run so many batches, and print what went wrong on the way and was survived."""
    folder = Path(tempfile.mkdtemp(prefix="sash_soak_"))
    print(f"soak: {batches} batches, seed {seed}, in {folder}", flush=True)
    signal.signal(signal.SIGTERM, leave)
    soak, began = Soak(folder, batches=batches, seed=seed), time.monotonic()
    try:
        for ran in range(1, batches + 1):
            (history,) = soak.chosen.choices(soak.histories, list(WEIGHTS.values()))
            told(soak, history, history.next_asked(), fault=soak.chosen.choice(list(FAULTS)), ran=ran)
        for history in soak.histories:
            told(soak, history, history.last_asked(), fault=CALM, ran=batches + 1)
    finally:
        soak.end()
        print(f"\n{soak.drawn.total()} batches in {(time.monotonic() - began) / 60:.0f} min")
        print("  drawn  struck  survived")
        for fault, times in soak.drawn.most_common():
            print(f"  {times:5} {soak.struck[fault]:7} {soak.survived[fault]:9}  {fault}", flush=True)
    print("After each batch the tables were those of the plain loops, or all those of the twin.")


def leave(*_: object) -> NoReturn:
    """Whoever has seen enough gets the table too, and no process is left."""
    # `timeout` says it twice.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit("ended from outside")


def told(soak: Soak, history: History, asked: Asked, *, fault: str, ran: int) -> None:
    """Ask for something and print a line of it."""
    what, at = describe(history, asked), time.monotonic()
    print(f"{ran:4} {history.name:8} {what:75} {fault:26} ", end="", flush=True)
    has_struck = soak.step(history, asked, fault=fault)
    struck = "struck" if has_struck else ""
    print(f"{struck:6} {time.monotonic() - at:5.1f} s", flush=True)


def describe(history: History, asked: Asked) -> str:
    if isinstance(asked, Command):
        return " ".join((asked.name, *asked.words))
    flags = [name for name in ("replace", "ignore_lateness", "final") if getattr(asked, name)]
    return " ".join([str(asked.batch), "again" if is_again(history, asked) else "new", *flags])


def is_again(history: History, asked: Asked) -> bool:
    """Whether it says nothing of how often a new batch commits."""
    return isinstance(asked, Command) or asked.batch in history.done


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
