"""Worlds that are all the same until something is asked in them, and it ends at another of its writes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.intervals import Interval, show_instant
from tests.crash.killing import Moment, run_and_freeze, run_and_kill, uncommit, written
from tests.crash.watching import What, table_of
from tests.crash.world import Contents, World

SASH = "from pipelines.cli.main import process; process()"
TRIES = 5
KILLED = 3
"""How often one is killed in earnest, beside the copies of what each kill would leave."""


def command(world: World, name: str, *words: str) -> list[str]:
    """A command on the spec of a world, in a process of its own."""
    return [sys.executable, "-c", SASH, name, str(world.spec), *words, "--store", str(world.store)]


def of_batch(batch: Interval, *flags: str) -> tuple[str, ...]:
    return ("--from", show_instant(batch.start_us), "--to", show_instant(batch.end_us), *flags)


@dataclass(kw_only=True)
class Kills:
    """Something asked in a world that stands as `before`, killed at each of its writes.

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
    writes: int = 0
    """Those of the one that was stopped at each."""
    together: int = 0
    """How many of them came before it had stopped at another."""
    ran: int = 0

    def calm(self, ask: Callable[[World], None], *, changes: bool = True) -> Contents:
        """What comes of it undisturbed, which `changes` what stood or leaves it."""
        world = self.before.copy(self.folder / "calm")
        stood = written(world.store, "commit")
        ask(world)
        self.tables = {path.parts[-3] for path in written(world.store, "commit") - stood}
        contents = world.contents()
        assert (contents != self.before.contents()) == changes
        return contents

    def stopped(self, what: What, *, stride: int = 1) -> tuple[list[World], World]:
        """A world for every `stride`-th write and the first to each table, as a kill there would leave it,
        and the one that ran to its end.
        """
        running, worlds = self.before.copy(self.folder / "running"), list[World]()

        def keep(writes: Sequence[Path]) -> None:
            self.together += len(writes) - 1
            if what == "data file":
                # Some may count already, by a commit that is not told: only the last can be looked at.
                writes = writes[-1:]
            for number, path in enumerate(writes, start=1):
                self.writes += 1
                table = table_of(path, running.store)
                if self.writes % stride == 0 or table not in self.struck:
                    worlds.append(running.copy(self.folder / f"{self.writes}, at a {what} of {table}"))
                    self.struck.add(table)
                    for later in reversed(writes[number:]):
                        uncommit(worlds[-1].home / later.relative_to(running.home))

        run_and_freeze(self.order(running, *self.words), running.store, what=what, keep=keep)
        assert self.writes > 8, "it was to be stopped at each of many writes"
        told = f"{self.writes} writes, {self.together} of them at once with the one before"
        print(f"stopped at {told}; {len(worlds)} are tried", flush=True)
        return worlds, running

    def each(self, what: What, *, stride: int = 1) -> Iterator[tuple[World, bool]]:
        """Each world that was stopped, and whether it was. Then some that were killed in earnest. Then, of
        commits, one for each table after whose commit there was none, until all have been.
        """
        worlds, ended = self.stopped(what, stride=stride)
        yield from ((world, True) for world in worlds)
        yield ended, False
        for number in range(1, self.writes, self.writes // KILLED + 1):
            yield self._killed(Moment(what=what, number=number))
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
