"""Worlds that are all the same until something is asked in them, and somebody kills it at another write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from pipelines.intervals import Interval, show_instant
from tests.crash.killing import Moment, What, run_and_kill, written
from tests.crash.world import Contents, World

SASH = "import sys; from pipelines.cli.main import main; sys.exit(main())"
TRIES = 5


def command(world: World, name: str, *words: str) -> list[str]:
    """A command on the spec of a world, in a process of its own."""
    return [sys.executable, "-c", SASH, name, str(world.spec), *words, "--store", str(world.store)]


def of_batch(batch: Interval, *flags: str) -> tuple[str, ...]:
    return ("--from", show_instant(batch.start_us), "--to", show_instant(batch.end_us), *flags)


@dataclass(kw_only=True)
class Kills:
    """Something asked in a world that stands as `before`, which comes to `wanted` if nobody kills it.

    `struck` are the tables after whose commit it was killed: not those that it was aimed at, for the next
    commit may come first.
    """

    before: World
    words: tuple[str, ...]
    folder: Path
    order: Callable[..., list[str]] = command
    """How a process is started that is asked so in a world."""
    struck: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    """Those that a calm one commits to."""
    ran: int = 0

    def calm(self, ask: Callable[[World], None]) -> Contents:
        """What comes of it undisturbed."""
        world = self.before.copy(self.folder / "calm")
        stood = written(world.store, "commit")
        ask(world)
        self.tables = {path.parts[-3] for path in written(world.store, "commit") - stood}
        contents = world.contents()
        assert contents != self.before.contents()
        return contents

    def each(self, what: What, *, stride: int = 1) -> Iterator[tuple[World, bool]]:
        """A world for every `stride`-th write, killed there, until one writes less and is done. Then, of
        commits, one for each table after whose commit none was killed, until all have been.
        """
        for number in count(1, stride):
            world, was_killed = self._killed(Moment(what=what, number=number))
            yield world, was_killed
            if not was_killed:
                break
        assert number > 8, "it was to be killed at each of many writes"
        if what == "commit":
            for _ in range(TRIES):
                for table in sorted(self.tables - self.struck):
                    yield self._killed(Moment(table=table))
            assert self.tables <= self.struck, f"never killed after {self.tables - self.struck}"

    def _killed(self, at: Moment) -> tuple[World, bool]:
        self.ran += 1
        world = self.before.copy(self.folder / f"killed {self.ran}, at {at.what} {at.number}")
        ended = run_and_kill(self.order(world, *self.words), world.store, at=at)
        if ended.was_killed and ended.last is not None:
            self.struck.add(ended.last)
        print(f"{self.ran}: {at}: {'killed' if ended.was_killed else 'done'} after {ended.last}", flush=True)
        return world, ended.was_killed
