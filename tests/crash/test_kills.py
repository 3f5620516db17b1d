"""Killed at any of its writes and run again, a batch ends as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.stages.abandoning import abandon_batch
from pipelines.stages.site import folder_of
from pipelines.store.ledger_rows import unfinished
from pipelines.store.reader import read_ledger
from tests.crash.killing import Moment, Victim, run_and_kill
from tests.crash.kills import Kills, command, of_batch
from tests.crash.watching import What
from tests.crash.world import ALONE, BOTH, CHANGED, COARSER, FIRST, OTHERS, SECOND_BATCH, SPEC, World

pytestmark = pytest.mark.slow


def as_it_was(_: World) -> None:
    return


def with_changed_rows(world: World) -> None:
    world.feed(CHANGED)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A run of a batch after others ran and something was changed."""

    batch: Interval
    ran: tuple[Interval, ...] = (FIRST,)
    change: Callable[[World], None] = as_it_was
    flags: tuple[str, ...] = ()
    spec: str = SPEC

    def run(self, spark: SparkSession, world: World) -> None:
        """The same in a session that is open."""
        if "--rebuild" in self.flags:
            world.rebuild(spark, self.batch)
            return
        asked = {name: f"--{name}".replace("_", "-") in self.flags for name in ("replace", "ignore_lateness")}
        world.run(spark, self.batch, **asked)

    def stood_before(self, spark: SparkSession, folder: Path) -> World:
        """A world in which the others have run, and something was changed."""
        world = World.make(folder, spec=self.spec)
        for batch in self.ran:
            world.run(spark, batch)
        self.change(world)
        return world


ALONE_AND_FIRST = Asked(batch=FIRST, ran=(), spec=ALONE)
"""It makes the tables too."""
NEW = Asked(batch=SECOND_BATCH)
RESTATED = Asked(batch=FIRST, ran=(FIRST, SECOND_BATCH), change=with_changed_rows)
SAME = Asked(batch=SECOND_BATCH, ran=(FIRST, SECOND_BATCH))
COVERING = Asked(batch=BOTH, ran=(FIRST, SECOND_BATCH), change=with_changed_rows, flags=("--replace",))
HEALED = Asked(batch=SECOND_BATCH, ran=(FIRST, SECOND_BATCH), flags=("--ignore-lateness",))
WIDENED = Asked(batch=SECOND_BATCH, change=World.add_window)
COARSER_BEGIN = Asked(batch=FIRST, ran=(), spec=COARSER)
COARSER_GO_ON = Asked(batch=SECOND_BATCH, spec=COARSER)
OTHERS_NEW = Asked(batch=SECOND_BATCH, spec=OTHERS)
OTHERS_RESTATED = Asked(batch=FIRST, ran=(FIRST, SECOND_BATCH), change=with_changed_rows, spec=OTHERS)
# It writes most: each table is emptied, and each lane in it fenced.
REBUILT = Asked(batch=BOTH, ran=(FIRST, SECOND_BATCH), change=with_changed_rows, flags=("--rebuild", "--yes"))


@pytest.mark.parametrize(
    ("asked", "what", "stride"),
    [
        pytest.param(ALONE_AND_FIRST, "commit", 2, id="the first of all, alone"),
        pytest.param(NEW, "commit", 1, id="a new batch, at commits"),
        pytest.param(NEW, "data file", 1, id="a new batch, at data files"),
        pytest.param(RESTATED, "commit", 1, id="a restatement, at commits"),
        pytest.param(RESTATED, "data file", 1, id="a restatement, at data files"),
        pytest.param(SAME, "commit", 1, id="the same again"),
        pytest.param(COVERING, "commit", 2, id="in the place of others"),
        pytest.param(HEALED, "commit", 2, id="lateness ignored"),
        pytest.param(WIDENED, "commit", 2, id="with a new window"),
        pytest.param(COARSER_BEGIN, "commit", 2, id="coarser frames begin"),
        pytest.param(COARSER_GO_ON, "commit", 2, id="coarser frames go on"),
        pytest.param(OTHERS_NEW, "commit", 2, id="other windows, a new batch"),
        pytest.param(OTHERS_RESTATED, "commit", 2, id="other windows, a restatement"),
        pytest.param(REBUILT, "commit", 3, id="rebuilt"),
    ],
)
def test_a_batch_killed_at_each_write_and_run_again_leaves_no_trace(
    spark: SparkSession, tmp_path: Path, asked: Asked, what: What, stride: int
) -> None:
    before = asked.stood_before(spark, tmp_path / "before")
    kills = Kills(before=before, words=("run", *of_batch(asked.batch, *asked.flags)), folder=tmp_path)
    wanted = kills.calm(lambda world: asked.run(spark, world), changes=asked != SAME)
    for world, was_killed in kills.each(what, stride=stride):
        if was_killed:
            asked.run(spark, world)
        assert world.contents() == wanted, world.home.name


@pytest.mark.parametrize("asked", [NEW, RESTATED], ids=["new", "restated"])
def test_a_batch_given_up_after_any_of_its_writes_leaves_the_tables_as_they_were(
    spark: SparkSession, tmp_path: Path, asked: Asked
) -> None:
    before = asked.stood_before(spark, tmp_path / "before")
    stood = before.contents()
    kills = Kills(before=before, words=("run", *of_batch(asked.batch)), folder=tmp_path)
    (*worlds, published), _ = kills.stopped("commit")
    assert unfinished(read_ledger(str(published.store), "world")) is None
    for world in worlds:
        abandon(world, spark, batch=asked.batch)
        left = world.contents()
        assert {it for it in stood if left[it] != stood[it]} == {"runs"}, world.home.name
        runs = [it for it in left["runs"] if it not in stood["runs"]]
        assert len(runs) == 1 and "('status', 'abandoned')" in runs[0], world.home.name


def test_an_abandoning_killed_at_each_write_and_said_again_leaves_no_trace(
    spark: SparkSession, tmp_path: Path
) -> None:
    ran = RESTATED.stood_before(spark, tmp_path / "ran")
    # Late enough for all tables but the last to have been written.
    ended = run_and_kill(command(ran, "run", *of_batch(FIRST)), ran.store, at=Moment(number=14))
    assert ended.was_killed and unfinished(read_ledger(str(ran.store), "world")) is not None
    kills = Kills(before=ran, words=("abandon", *of_batch(FIRST)), folder=tmp_path)
    given_up = kills.calm(lambda world: abandon(world, spark))
    calm = World(tmp_path / "calm")
    calm.run(spark, FIRST)
    wanted = calm.contents()
    assert given_up != wanted
    for world, _ in kills.each("commit"):
        # Where the ledger says it already there is nothing to give up any more.
        was_said = unfinished(read_ledger(str(world.store), "world")) is None
        if not was_said:
            abandon(world, spark)
        assert world.contents() == given_up, world.home.name
        if was_said:
            world.run(spark, FIRST)
            assert world.contents() == wanted, f"{world.home.name}, and run"


def abandon(world: World, spark: SparkSession, *, batch: Interval = FIRST) -> None:
    """Give a batch up, in this process."""
    site = world.site(spark)
    abandon_batch(folder_of(site.store, site.declared), site.declared, batch=batch)


@pytest.mark.parametrize("victim", ["jvm", "python"])
def test_what_outlives_the_other_can_write_nothing(
    spark: SparkSession, tmp_path: Path, victim: Victim
) -> None:
    before = NEW.stood_before(spark, tmp_path / "before")
    calm = before.copy(tmp_path / "calm")
    calm.run(spark, SECOND_BATCH)
    wanted = calm.contents()
    for number in (3, 6, 9):
        world = before.copy(tmp_path / f"killed at {number}")
        order, at = command(world, "run", *of_batch(SECOND_BATCH)), Moment(what="data file", number=number)
        ended = run_and_kill(order, world.store, at=at, victim=victim)
        assert ended.was_killed
        if victim == "jvm":
            assert "Spark ended in the middle of the work" in ended.said.splitlines()[-1]
            assert "Traceback" not in ended.said
        world.run(spark, SECOND_BATCH)
        assert world.contents() == wanted, f"{victim} killed at data file {number}"
