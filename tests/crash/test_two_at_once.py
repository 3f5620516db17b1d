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
from tests.crash.world import FIRST, SECOND_BATCH, World, contents_of

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


def neighbour_of(world: World) -> World:
    """Another pipeline over the same data, in the same store."""
    neighbour = World(world.home)
    neighbour.spec = world.spec.with_name("neighbour.yml")
    neighbour.spec.write_text(world.spec.read_text().replace("name: world", "name: neighbour"))
    return neighbour


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

    beside = Site(spark, str(world.store), load(neighbour_of(world).spec, home=world.home))
    list(run_batch(beside, Request(batch=FIRST)))
    assert [row.status for row in read_ledger(str(world.store), "neighbour")] == ["published"]

    first.send(signal.SIGCONT)
    assert first.ends()[0] == 0
    assert waiting.ends()[0] == 0
    assert statuses(world) == [(FIRST, "published"), (SECOND_BATCH, "published")]
    assert world.contents() == calm.contents()


def test_of_two_that_begin_at_the_same_moment_one_works_and_a_neighbour_does_not_meet_them(
    spark: SparkSession, tmp_path: Path, start: Callable[..., Started]
) -> None:
    world = World.make(tmp_path / "world")
    calm = world.copy(tmp_path / "calm")
    neighbour = neighbour_of(world)
    started = {batch: start(world, batch) for batch in (FIRST, SECOND_BATCH)}
    beside = start(neighbour, FIRST)
    ended = {batch: one.ends() for batch, one in started.items()}
    assert beside.ends()[0] == 0
    ((winner, _),) = [it for it in ended.items() if it[1][0] == 0]
    ((loser, (code, said)),) = [it for it in ended.items() if it[0] != winner]
    assert code == 4 and f"batch {winner} is unfinished" in said
    assert statuses(world) == [(winner, "published")]
    calm.run(spark, winner)
    assert world.contents() == calm.contents()
    alone = World.make(tmp_path / "alone")
    alone.run(spark, FIRST)
    assert contents_of(world.store / "neighbour") == alone.contents()
    assert start(world, loser).ends()[0] == 0
    calm.run(spark, loser)
    assert world.contents() == calm.contents()


def test_upkeep_again_and_again_beside_a_batch_costs_it_nothing(
    spark: SparkSession, tmp_path: Path, start: Callable[..., Started]
) -> None:
    world = World.make(tmp_path / "world")
    world.run(spark, FIRST)
    calm = world.copy(tmp_path / "calm")
    calm.run(spark, SECOND_BATCH)
    batch = start(world, SECOND_BATCH)
    assert wait_until(lambda: (SECOND_BATCH, "running") in statuses(world), batch.process)
    kept = 0
    while batch.process.poll() is None:
        subprocess.run(command(world, "maintain"), check=True, timeout=PATIENCE_SECONDS, capture_output=True)
        kept += 1
    assert batch.ends()[0] == 0
    assert kept > 1
    assert world.contents() == calm.contents()
    # The same again finds all that it looks for.
    world.run(spark, SECOND_BATCH)
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


@pytest.mark.parametrize("commits", [2, 6, 9])
def test_an_attempt_that_wakes_up_while_the_newer_one_is_at_work_leaves_no_trace(
    spark: SparkSession, tmp_path: Path, start: Callable[..., Started], commits: int
) -> None:
    world = World.make(tmp_path / "world")
    calm = world.copy(tmp_path / "calm")
    calm.run(spark, FIRST)

    def paused_after(number: int) -> Started:
        one = start(world, FIRST)
        assert wait_until(lambda: statuses(world) == [(FIRST, "running")], one.process)
        stood = written(world.store, "commit")
        assert wait_until(lambda: len(written(world.store, "commit") - stood) >= number, one.process)
        one.send(signal.SIGSTOP)
        return one

    older = paused_after(6)
    newer = paused_after(commits)
    assert statuses(world) == [(FIRST, "running")]
    older.send(signal.SIGCONT)
    code, said = older.ends()
    assert code == 4, said
    newer.send(signal.SIGCONT)
    assert newer.ends()[0] == 0
    assert world.contents() == calm.contents()
