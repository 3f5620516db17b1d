"""Two processes at once: different batches of one pipeline take turns, of the same batch the newer attempt
takes over, and two pipelines do not meet.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from pipelines.store.reader import read_ledger
from tests.crash.killing import PATIENCE_SECONDS, kill, send, wait_until, written
from tests.crash.kills import command, of_batch
from tests.crash.world import FIRST, SECOND_BATCH, World

pytestmark = pytest.mark.slow


class Started:
    """A command at work, which can be paused with its JVM."""

    def __init__(self, world: World, batch: Interval, *words: str) -> None:
        self.process = subprocess.Popen(
            command(world, "run", *of_batch(batch, *words)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def send(self, what: signal.Signals) -> None:
        root = psutil.Process(self.process.pid)
        for process in (root, *root.children(recursive=True)):
            send(process, what)

    def ends(self) -> tuple[int, str]:
        """What it leaves with, and what it says."""
        out, err = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, out + err


@pytest.fixture
def start() -> Iterator[Callable[..., Started]]:
    """Starts commands, which are ended at the end, however the test ends."""
    commands: list[Started] = []

    def begin(world: World, batch: Interval, *words: str) -> Started:
        commands.append(Started(world, batch, *words))
        return commands[-1]

    yield begin
    for one in commands:
        kill(one.process.pid, victim="both")
        one.process.wait()


def statuses(world: World) -> list[tuple[Interval, str]]:
    return sorted((row.batch, row.status) for row in read_ledger(str(world.store), "world"))


def neighbour_of(world: World) -> Path:
    """A spec of another pipeline over the same data, in the same store."""
    path = world.spec.with_name("neighbour.yml")
    path.write_text(world.spec.read_text().replace("name: world", "name: neighbour"))
    return path


def test_while_one_is_at_a_batch_another_leaves_or_waits_and_a_neighbour_works(
    spark: SparkSession, tmp_path: Path, start: Callable[..., Started]
) -> None:
    world = World.make(tmp_path / "world")
    calm = world.copy(tmp_path / "calm")
    for batch in (FIRST, SECOND_BATCH):
        calm.run(spark, batch)

    first = start(world, FIRST)
    assert wait_until(lambda: statuses(world) == [(FIRST, "running")], first.process)
    first.send(signal.SIGSTOP)
    second = start(world, SECOND_BATCH)
    code, said = second.ends()
    assert code == 4 and "batch [1970-01-01 00:00, 1970-01-01 00:01:40) is unfinished" in said
    waiting = start(world, SECOND_BATCH, "--wait")
    assert waiting.process.stderr is not None
    assert waiting.process.stderr.readline().startswith("waiting: batch [1970-01-01 00:00,")
    assert statuses(world) == [(FIRST, "running")]

    list(
        run_batch(
            Site(spark, str(world.store), load(neighbour_of(world), home=world.home)), Request(batch=FIRST)
        )
    )
    assert [row.status for row in read_ledger(str(world.store), "neighbour")] == ["published"]

    first.send(signal.SIGCONT)
    assert first.ends()[0] == 0
    assert waiting.ends()[0] == 0
    assert statuses(world) == [(FIRST, "published"), (SECOND_BATCH, "published")]
    assert world.contents() == calm.contents()


@pytest.mark.parametrize("commits", [1, 5, 10])
def test_an_attempt_that_was_taken_over_and_wakes_up_writes_nothing(
    spark: SparkSession, tmp_path: Path, start: Callable[..., Started], commits: int
) -> None:
    world = World.make(tmp_path / "world")
    calm = world.copy(tmp_path / "calm")
    calm.run(spark, FIRST)

    older = start(world, FIRST)
    assert wait_until(lambda: statuses(world) == [(FIRST, "running")], older.process)
    begun = written(world.store, "commit")
    assert wait_until(lambda: len(written(world.store, "commit") - begun) >= commits, older.process)
    older.send(signal.SIGSTOP)
    assert statuses(world) == [(FIRST, "running")]
    world.run(spark, FIRST)
    assert world.contents() == calm.contents()
    stood = written(world.store, "commit")

    older.send(signal.SIGCONT)
    code, said = older.ends()
    assert code == 4, said
    assert written(world.store, "commit") == stood
    assert world.contents() == calm.contents()
