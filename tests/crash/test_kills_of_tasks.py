"""Killed at any of its writes, a task of Airflow's is tried again, without those that had ended before it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.stages import Request
from pipelines.store import attempts
from tests.crash.by_stages import Task, run_tasks, tasks_of
from tests.crash.kills import Kills
from tests.crash.world import CHANGED, FIRST, SECOND_BATCH, World

pytestmark = pytest.mark.slow


def by_stages(world: World, *bounds: str) -> list[str]:
    return [sys.executable, "-m", "tests.crash.by_stages", str(world.spec), str(world.store), *bounds]


def left(spark: SparkSession, world: World, batch: Interval) -> list[Task]:
    """What Airflow has not seen end; also the last of all, which may have died after its last write."""
    site = world.site(spark)
    *tasks, last = tasks_of(site.pipeline)
    happened = [it for it in attempts.read(site.tables) if it.batch == batch]
    newest = max((it.revision for it in happened), default=0)
    ended = {(it.stage, it.source) for it in happened if (it.what, it.revision) == ("finished", newest)}
    return [*[task for task in tasks if task not in ended], last]


@pytest.mark.parametrize(
    ("batch", "ran", "stride"),
    [
        pytest.param(SECOND_BATCH, (FIRST,), 2, id="a new batch"),
        pytest.param(FIRST, (FIRST, SECOND_BATCH), 2, id="a restatement"),
        pytest.param(SECOND_BATCH, (FIRST, SECOND_BATCH), 4, id="the same again"),
    ],
)
def test_a_task_that_was_killed_and_is_tried_again_leaves_no_trace(
    spark: SparkSession, tmp_path: Path, batch: Interval, ran: tuple[Interval, ...], stride: int
) -> None:
    before = World.make(tmp_path / "before")
    for one in ran:
        before.run(spark, one)
    if batch == FIRST:
        before.feed(CHANGED)
    words = (str(batch.start_us), str(batch.end_us))
    kills = Kills(before=before, words=words, folder=tmp_path, order=by_stages)
    wanted = kills.calm(lambda world: world.run(spark, batch), changes=batch not in ran or batch == FIRST)
    for world, was_killed in kills.each("commit", stride=stride):
        if was_killed:
            run_tasks(world.site(spark), Request(batch=batch), left(spark, world, batch))
        assert world.contents() == wanted, world.home.name
