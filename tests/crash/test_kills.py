"""Killed at any of its writes and run again, a batch ends as if nothing had happened."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval, show_instant
from tests.crash.killing import Victim, What, run_and_kill
from tests.crash.world import CHANGED, FIRST, SECOND_BATCH, World

pytestmark = pytest.mark.slow


def command(world: World, batch: Interval) -> list[str]:
    bounds = ["--from", show_instant(batch.start_us), "--to", show_instant(batch.end_us)]
    sash = str(Path(sys.executable).with_name("sash"))
    return [sash, "run", str(world.spec), "--store", str(world.store), *bounds]


def stood_before(spark: SparkSession, folder: Path, *, restated: bool) -> World:
    """A world in which the first batch has run, and has other data now if it is the one to be restated."""
    world = World.make(folder)
    world.run(spark, FIRST)
    if restated:
        world.run(spark, SECOND_BATCH)
        world.feed(CHANGED)
    return world


@pytest.mark.parametrize("restated", [False, True], ids=["a new batch", "a restatement"])
@pytest.mark.parametrize("what", ["commit", "data file"])
def test_a_batch_killed_at_each_write_and_run_again_leaves_no_trace(
    spark: SparkSession, tmp_path: Path, what: What, restated: bool
) -> None:
    before = stood_before(spark, tmp_path / "before", restated=restated)
    batch = FIRST if restated else SECOND_BATCH
    calm = before.copy(tmp_path / "calm")
    calm.run(spark, batch)
    wanted = calm.contents()
    assert wanted != before.contents()
    for number in count(1):
        world = before.copy(tmp_path / f"killed at {number}")
        was_killed, _ = run_and_kill(command(world, batch), world.store, what=what, number=number)
        if was_killed:
            world.run(spark, batch)
        assert world.contents() == wanted, f"killed at {what} {number}"
        if not was_killed:
            break
    assert number > 8, "it was to be killed at each of many writes"


@pytest.mark.parametrize("victim", ["jvm", "python"])
def test_what_outlives_the_other_can_write_nothing(
    spark: SparkSession, tmp_path: Path, victim: Victim
) -> None:
    before = stood_before(spark, tmp_path / "before", restated=False)
    calm = before.copy(tmp_path / "calm")
    calm.run(spark, SECOND_BATCH)
    wanted = calm.contents()
    for number in (3, 6, 9):
        world = before.copy(tmp_path / f"killed at {number}")
        was_killed, said = run_and_kill(
            command(world, SECOND_BATCH), world.store, what="data file", number=number, victim=victim
        )
        assert was_killed
        if victim == "jvm":
            assert "Spark ended in the middle of the work" in said
        world.run(spark, SECOND_BATCH)
        assert world.contents() == wanted, f"{victim} killed at data file {number}"
