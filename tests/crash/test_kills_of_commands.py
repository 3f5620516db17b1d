"""Replays and upkeep, killed at their writes and said again, end as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.cli.main import main
from tests.crash.aging import age
from tests.crash.killing import written
from tests.crash.kills import Kills
from tests.crash.world import (
    FIRST,
    FOURTH,
    NORTH_LATER,
    SECOND_BATCH,
    SOUTH_LATER,
    SPEC,
    THIRD,
    World,
)

pytestmark = pytest.mark.slow

KEPT = f"{SPEC}retention: {{frames: 60 s, late_events: 80 s}}\n".replace("[ticket]", "[ticket], within: 90 s")
"""After three batches some rows of every table with a retention are to go, and some are to stay."""
LET_GO = ("frames", "partial_frames", "sessions", "partial_sessions", "event_ids", "late_events")


def after_three(spark: SparkSession, home: Path, *, spec: str = SPEC) -> World:
    """A world in which three batches have run, of which two have late rows."""
    world = World.make(home, spec=spec)
    world.feed(NORTH_LATER, SOUTH_LATER)
    for batch in (FIRST, SECOND_BATCH, THIRD):
        world.run(spark, batch)
    return world


def say(world: World, name: str, *words: str) -> None:
    """The same command in this process, and in the session that is open."""
    assert main([name, str(world.spec), *words, "--store", str(world.store)]) == 0


def test_a_replay_killed_at_any_write_and_said_again_leaves_no_trace(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = after_three(spark, tmp_path / "before")
    assert len(before.contents()["late_events"]) > 3
    kills = Kills(before=before, words=("replay", "late"), folder=tmp_path)
    wanted = kills.calm(lambda world: say(world, "replay", "late"))
    assert wanted["late_events"] == []
    for world, was_killed in kills.each("commit", stride=3):
        if was_killed:
            say(world, "replay", "late")
        assert world.contents() == wanted, world.home.name


def test_an_upkeep_killed_at_any_write_and_said_again_leaves_no_trace(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = after_three(spark, tmp_path / "before", spec=KEPT)
    age(before.store / "world")
    stood = before.contents()
    kills = Kills(before=before, words=("maintain",), folder=tmp_path)
    wanted = kills.calm(lambda world: say(world, "maintain"))
    for table, rows in wanted.items():
        assert (0 < len(rows) < len(stood[table])) == (table in LET_GO), table
    calm = World(tmp_path / "calm")
    assert len(written(calm.store, "data file")) < len(written(before.store, "data file"))
    calm.run(spark, FOURTH)
    following = calm.contents()
    for world, was_killed in kills.each("commit", stride=3):
        if was_killed:
            say(world, "maintain")
        assert world.contents() == wanted, world.home.name
        world.run(spark, FOURTH)
        assert world.contents() == following, f"{world.home.name}, and the next batch"
