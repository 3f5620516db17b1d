"""A batch that runs again with the same data leaves all files as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.errors import LookAtTheData
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from pipelines.store.reader import read_ledger
from tests.cli.conftest import Place, Ride, day, place
from tests.crash.aging import age
from tests.crash.world import CHANGED, FIRST, SECOND_BATCH, World
from tests.walk.published import in_microseconds
from tests.walk.test_changed_spec import rows
from tests.walk.test_sessions import CLICKS, SECOND, SPEC, Click, site_of, write_clicks

__all__ = ["place"]

TABLES = ("partial_frames", "frames", "partial_sessions", "sessions", "panes", "windows")


def files(world: World) -> dict[str, list[str]]:
    place = world.store / "world"
    return {name: sorted(DeltaTable(place / name).file_uris()) for name in TABLES}


@pytest.mark.slow
def test_no_file_is_written_for_what_stands_already(spark: SparkSession, tmp_path: Path) -> None:
    world = World.make(tmp_path / "world")
    world.run(spark, FIRST)
    world.run(spark, SECOND_BATCH)
    contents, stood = world.contents(), files(world)
    for batch in (SECOND_BATCH, FIRST):
        world.run(spark, batch)
        assert (files(world), world.contents()) == (stood, contents)
    # Other data is written, and what it was before once more.
    world.feed(CHANGED)
    world.run(spark, FIRST)
    assert files(world) != stood
    assert world.contents() != contents


LATE, BROKEN = ("Bern", 40.0, day(1, 7), day(2, 1)), ("Chur", 1.0, None, day(2, 3))
RIDES: list[Ride] = [("Bern", 10.0, day(1, 7, 30), day(1, 8)), ("Bern", 20.0, day(1, 20), day(1, 21))]


@pytest.mark.slow
def test_other_rows_that_count_nowhere_are_another_revision(place: Place, spark: SparkSession) -> None:
    both = ("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d")
    revisions = []
    # The same, another late one, another broken one, and each time the same once more.
    for late, broken in ((40.0, 1.0), (40.0, 1.0), (41.0, 1.0), (41.0, 1.0), (41.0, 2.0), (41.0, 2.0)):
        place.write_rides([*RIDES, (LATE[0], late, *LATE[2:]), (BROKEN[0], broken, *BROKEN[2:])])
        assert place.sash(*both).code == 0
        revisions.append([it["revision"] for it in runs_of(place) if it["batch_start"] == day(2)])
    assert revisions == [[0], [0], [0, 1], [0, 1], [0, 1, 2], [0, 1, 2]]
    assert [it["revision"] for it in runs_of(place) if it["batch_start"] == day(1)] == [0]
    assert {it["revision"] for it in rows(place, "panes")} == {0}


@pytest.mark.slow
def test_the_same_batch_again_after_a_week_finds_what_stood_before_it(place: Place, spark: SparkSession):
    both = ("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d")
    place.write_rides([*RIDES, LATE, BROKEN])
    assert place.sash(*both).code == 0
    # Elsewhere, for of tables that it has read Delta remembers when commits were made.
    later = place.home / "later"
    shutil.copytree(place.store, later)
    age(later / "rides")
    said = place.sash("run", "--from", "2024-01-02", "--to", "2024-01-03", "--store", str(later))
    assert (said.code, said.err) == (0, "")
    assert [it.revision for it in read_ledger(str(later), "rides")] == [0, 0]


def runs_of(place: Place) -> list[dict]:
    return sorted(rows(place, "runs"), key=lambda it: (it["batch_start"], it["revision"]))


WAITS = """
windows: {threes: {tumbling: 60 s, panes: {early: {rows: 3}}}}
"""
CLOSED = """
windows: {short: {tumbling: 10 s}, long: {tumbling: 10 s, allowed_lateness: 1 hour}}
"""
CALM: list[Click] = [("ann", 1, 1, 1), ("ann", 2, 50, 60), ("ann", 4, 2, 110)]


@pytest.mark.parametrize(
    ("windows", "clicks", "batches"),
    [(WAITS, CALM[:2], (0,)), (WAITS, CALM[:2], (0, 100)), (CLOSED, CALM, (0, 100))],
)
def test_to_ignore_lateness_changes_nothing_where_nothing_of_the_batch_was_late(
    spark: SparkSession, tmp_path: Path, windows: str, clicks: list[Click], batches: tuple[int, ...]
) -> None:
    #   Two clicks wait for a third; or the third is late for the one window and not for the other.
    site = site_of(spark, tmp_path, clicks, spec=SPEC.split("windows:")[0] + windows)
    for start in batches:
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
    stood = told(tmp_path)
    list(run_batch(site, Request(batch=Interval(0, 100 * SECOND), ignore_lateness=True)))
    assert told(tmp_path) == stood


@pytest.mark.slow
def test_what_waits_under_an_old_trigger_is_left_to_a_batch_in_its_turn(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A correction under the new one publishes what it changed, and the same once more nothing."""
    clicks: list[Click] = [("ann", 1, 1, 1), ("bob", 2, 2, 2), ("bob", 4, 3, 101)]
    spec = SPEC.split("windows:")[0] + "windows: {wide: {tumbling: 1000 s}}\n"

    def run(site: Site, start: int) -> list[tuple[str, str, int]]:
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
        panes = in_microseconds(tmp_path / "store" / "clicks" / "panes")
        return sorted((it["user"], it["timing"], it["total"]) for it in panes)

    site = site_of(spark, tmp_path, clicks, spec=spec)
    assert (run(site, 0), run(site, 100)) == ([], [])
    eager = spec.replace("1000 s}", "1000 s, panes: {early: each batch}}")
    corrected: list[Click] = [*clicks[:2], ("bob", 8, 3, 101)]
    write_clicks(tmp_path, corrected)
    site.declared.path.write_text(eager)
    site = Site(spark, site.store, load(site.declared.path))
    of_bob = [("bob", "EARLY", 10)]
    assert run(site, 100) == of_bob
    stood = told(tmp_path)
    assert run(site, 100) == of_bob and told(tmp_path) == stood
    assert run(site, 200) == [("ann", "EARLY", 1), *of_bob]


def told(home: Path) -> list[list[str]]:
    """The ledger, the panes and the windows."""
    tables = ("runs", "panes", "windows")
    return [sorted(map(str, in_microseconds(home / "store" / "clicks" / name))) for name in tables]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "table"),
    [
        (("arrival_time: arrived", "arrival_time: arrived\n  event_id: {of: [fare]}"), "event_ids"),
        (("  hourly:", "  halves: {tumbling: 30 minutes}\n  ever: {global: true}\n  hourly:"), "late_events"),
    ],
)
def test_what_a_spec_takes_away_that_declares_it_no_more_is_another_revision(
    place: Place, spark: SparkSession, declared: tuple[str, str], table: str
) -> None:
    """Whoever declares it once more is told so by the ledger: the states alone are those of before."""
    first, second = (("run", "--from", f"2024-01-0{it}", "--to", f"2024-01-0{it + 1}") for it in (1, 2))
    place.write_rides([*RIDES, ("Bern", 30.0, day(1, 7, 30), day(2, 8))])
    place.write_spec(declared)
    for words in (first, second, second):
        assert place.sash(*words).code == 0
    left = [it for it in rows(place, table) if it.get("window") in (None, "halves")]
    place.write_spec(
        ("  hourly:", "  ever: {global: true}\n  hourly:") if table == "late_events" else ("", "")
    )
    for _ in range(2):
        assert place.sash(*second).code == 0
    now = [it for it in rows(place, table) if it.get("window") in (None, "halves")]
    assert len(now) < len(left)
    assert [it["revision"] for it in runs_of(place)] == [0, 0, 1]
    assert {it["revision"] for it in rows(place, "panes")} == {0}


@pytest.mark.slow
def test_what_is_expected_of_a_number_of_panes_is_not_asked_where_none_changes(
    spark: SparkSession, tmp_path: Path
) -> None:
    rules = tmp_path / "expectations" / "all.yml"
    rules.parent.mkdir()
    rules.write_text("panes:\n  - expect_table_row_count_to_be_between: {min_value: 1}\n")
    site = site_of(spark, tmp_path, CLICKS, spec=f"expectations: expectations/all.yml{SPEC}")
    for start in (0, 100, 100, 0):
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
    runs, checks = (in_microseconds(tmp_path / "store" / "clicks" / name) for name in ("runs", "checks"))
    assert sorted((it["batch_end"] // SECOND, it["status"]) for it in runs) == [
        (100, "published"),
        (200, "published"),
    ]
    found = [it for it in checks if it["expectation"].startswith("expect_table")]
    assert [(it["revision"], it["success"]) for it in found] == [(0, True)] * 2
    # Of a batch that has come and tells nothing it is.
    list(run_batch(site, Request(batch=Interval(200 * SECOND, 300 * SECOND))))
    with pytest.raises(LookAtTheData):
        list(run_batch(site, Request(batch=Interval(300 * SECOND, 400 * SECOND))))
