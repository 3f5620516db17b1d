"""`sash abandon`, `replay`, `maintain` and `follow` on the real walk."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.store.ledger_rows import standing
from pipelines.store.reader import read_ledger, table_path
from tests.cli.conftest import Place, Ride, day
from tests.walk.published import rows_of

FIRST = ("--from", "2024-01-01", "--to", "2024-01-02")
SECOND = ("--from", "2024-01-02", "--to", "2024-01-03")
RIDES: list[Ride] = [
    ("Bern", 10.0, day(1, 7, 30), day(1, 8)),
    ("Bern", 20.0, day(1, 20), day(1, 21)),
    ("Bern", 40.0, day(1, 7), day(2, 1)),  # its window had closed
    ("Chur", 5.0, day(2, 1), day(2, 2)),
    ("Chur", 1.0, None, day(2, 3)),
]
TABLES = ("partial_frames", "frames", "watermarks", "panes", "windows", "late_events", "quarantine", "checks")


def contents(place: Place) -> dict[str, list[str]]:
    found = {}
    for table in TABLES:
        rows = DeltaTable(table_path(place.store, "rides", table=table)).to_pyarrow_table().to_pylist()
        found[table] = sorted(map(str, rows))
    return found


def totals(place: Place) -> dict[tuple[str, datetime], int]:
    rows = DeltaTable(table_path(place.store, "rides", table="windows")).to_pyarrow_table().to_pylist()
    return {(it["city"], it["window_start"]): it["rides"] for it in rows if it["window"] == "hourly"}


def test_an_abandoned_batch_leaves_the_tables_as_they_were(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    before = contents(place)
    assert place.sash("stage", "accumulate", *SECOND).code == 0
    assert contents(place) != before
    refused = place.sash("abandon", *FIRST)
    assert (refused.code, "the unfinished one is [2024-01-02" in refused.err) == (2, True)
    said = place.sash("abandon", *SECOND)
    assert (said.code, said.err) == (0, "")
    assert "which was running, is abandoned" in said.out
    assert contents(place) == before
    assert sorted(row.status for row in read_ledger(place.store, "rides")) == ["abandoned", "published"]
    again = place.sash("abandon", *SECOND)
    assert again.code == 2 and "no batch is" in again.err
    early = place.sash("stage", "combine", *SECOND)
    assert early.code == 2 and "the stage accumulate has not run" in early.err


@pytest.mark.slow
def test_an_abandoned_batch_can_be_run_again(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    before = contents(place)
    for stage in ("accumulate", "combine", "finalise"):
        assert place.sash("stage", stage, *SECOND).code == 0
    assert place.sash("abandon", *SECOND).code == 0
    assert contents(place) == before
    assert place.sash("run", *SECOND).code == 0
    assert [row.status for row in read_ledger(place.store, "rides")] == ["published", "published"]


@pytest.mark.slow
def test_an_abandoned_restatement_brings_back_what_stood(place: Place, spark: SparkSession):
    place.write_rides(RIDES[:2])
    assert place.sash("run", *FIRST).code == 0
    before = contents(place)
    place.write_rides([("Bern", 1.0, day(1, 5), day(1, 8))])
    for stage in ("accumulate", "combine", "finalise"):
        assert place.sash("stage", stage, *FIRST).code == 0
    assert place.sash("abandon", *FIRST).code == 0
    assert contents(place) == before


@pytest.mark.slow
def test_late_and_quarantined_rows_are_sent_through_again(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d").code == 0
    assert place.sash("run", "--final", "--yes").code == 0
    assert totals(place) == {("Bern", day(1, 7)): 1, ("Bern", day(1, 20)): 1, ("Chur", day(2, 1)): 1}

    late = place.sash("replay", "late")
    assert (late.code, late.err) == (0, "")
    assert late.out.startswith("late_events: 2 rows, of 1 batch that run again\n")
    assert totals(place)["Bern", day(1, 7)] == 2
    tables = Path(place.store) / "rides"
    # What the window had told of one ride is told again of two, and nothing of any other window.
    healed = [it for it in rows_of(tables / "panes") if it["revision"] == 1 and it["window"] == "hourly"]
    told = {(it["kind"], it["timing"], it["restated"], it["rides"]) for it in healed}
    assert told == {("retract", "LATE", True, 1), ("insert", "LATE", True, 2)} and len(healed) == 2
    assert rows_of(tables / "late_events") == []
    assert place.sash("replay", "late").out == "nothing to replay: late_events holds no rows\n"

    mended = [*RIDES[:4], ("Chur", 1.0, day(2, 1), day(2, 3))]
    place.write_rides(mended)
    outside = place.sash("replay", "quarantine", *FIRST)
    assert "nothing to replay: quarantine holds no rows of batches in" in outside.out
    broken = place.sash("replay", "quarantine")
    assert broken.out.startswith("quarantine: 1 row, of 1 batch that run again\n")
    assert totals(place)["Chur", day(2, 1)] == 2


@pytest.mark.slow
def test_where_lateness_is_ignored_closed_windows_take_what_comes(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    assert place.sash("run", *SECOND, "--ignore-lateness").code == 0
    older = place.sash("run", *FIRST, "--final", "--yes")
    assert older.code == 0 and "stays at" in older.err and "say so to the newest batch" in older.err
    assert totals(place)["Bern", day(1, 7)] == 2
    assert contents(place)["late_events"] == []


@pytest.mark.slow
def test_upkeep_leaves_every_row_and_fewer_files(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "12h").code == 0
    before = contents(place)
    said = place.sash("maintain")
    assert (said.code, said.err) == (0, "")
    assert contents(place) == before
    counts = {line.split()[0]: [int(it) for it in line.split()[1:]] for line in said.out.splitlines()[2:]}
    files, after, let_go, _ = counts["partial_frames"]
    assert after < files and let_go == 0
    planned = place.sash("plan", *SECOND, "--replace")
    assert (planned.code, planned.err) == (0, "")
    assert place.sash("run", *SECOND, "--replace").code == 0
    assert contents(place)["windows"] == before["windows"]


@pytest.mark.slow
def test_what_is_beyond_retention_is_let_go_and_not_restated(place: Place, spark: SparkSession):
    place.write_spec(
        ("schedule:", "retention: {frames: 1 day, late_events: 1 day}\nschedule:"),
        ("  hourly:", "  visits: {session: 1 hour}\n  hourly:"),
    )
    early = ("Bern", 2.0, day(4, 6), day(4, 6))
    place.write_rides([*RIDES, early, ("Bern", 1.0, day(5, 12), day(5, 12))])
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-06", "--every", "1d").code == 0
    windows, runs = contents(place)["windows"], read_ledger(place.store, "rides")
    said = place.sash("maintain")
    assert said.code == 0
    frames = DeltaTable(table_path(place.store, "rides", table="frames")).to_pyarrow_table().to_pylist()
    assert [row["frame_start"] for row in frames] == [day(5, 12)]
    assert contents(place)["late_events"] == []
    assert contents(place)["windows"] == windows
    refused = place.sash("run", *FIRST)
    assert refused.code == 4 and "older than what `retention` keeps" in refused.err
    # A batch that reaches beyond it is as it was.
    assert place.sash("run", "--from", "2024-01-04", "--to", "2024-01-05").code == 0
    assert len(read_ledger(place.store, "rides")) == len(runs)
    # What has been let go does not come back with a longer retention.
    place.spec.write_text(
        place.spec.read_text().replace("retention: {frames: 1 day", "retention: {frames: 90 days")
    )
    assert place.sash("run", *FIRST).code == 4
    assert place.sash("run", "--from", "2024-01-05", "--to", "2024-01-06").code == 0
    assert contents(place)["windows"] == windows


@pytest.mark.slow
def test_many_batches_said_again_leave_out_what_is_beyond_retention(place: Place, spark: SparkSession):
    place.write_spec(("schedule:", "retention: {frames: 1 day}\nschedule:"))
    place.write_rides([*RIDES, *[("Bern", 1.0, day(it, 12), day(it, 12)) for it in (5, 6)]])
    daily = ("--from", "2024-01-01", "--to", "2024-01-07", "--every", "1d")
    until_fifth = ("--from", "2024-01-01", "--to", "2024-01-06", "--every", "1d")
    assert place.sash("run", *until_fifth).code == 0
    # It was cut off in the sixth, by which the fourth is kept no more.
    assert place.sash("stage", "accumulate", "--from", "2024-01-06", "--to", "2024-01-07").code == 0
    planned, said = place.sash("plan", *daily), place.sash("run", *daily)
    left_out = "left out: 4 batches, until 2024-01-05 00:00: run before, and older than what"
    assert planned.code == 0 and planned.err.startswith(left_out) and planned.out.count("\n\nWatermark") == 2
    assert (said.code, said.err) == (0, "")
    assert left_out in said.out and "2 batches done" in said.out
    rows = standing(read_ledger(place.store, "rides"))
    assert [(it.status, it.revision) for it in rows] == [("published", 0)] * 6


@pytest.mark.parametrize(
    "has_run", [pytest.param(True, marks=pytest.mark.slow), False], ids=["after another", "the first"]
)
def test_a_plan_touches_nothing_and_is_what_the_run_does(place: Place, spark: SparkSession, has_run: bool):
    place.write_rides(RIDES)
    if has_run:
        assert place.sash("run", *FIRST).code == 0
    before = contents(place) if has_run else {"panes": []}
    said = place.sash("plan", *SECOND, "--format", "json")
    assert (said.code, said.err) == (0, "")
    plan = json.loads(said.out)
    assert len(read_ledger(place.store, "rides")) == has_run
    assert not has_run or contents(place) == before

    assert place.sash("run", *SECOND).code == 0
    row = max(read_ledger(place.store, "rides"), key=lambda it: it.batch)
    fates = ("ingested", "accepted", "late", "quarantined", "duplicates")
    assert [plan["counts"][name] for name in fates] == [getattr(row, name) for name in fates]
    assert (
        sum(one["panes"] for one in plan["published"])
        == row.panes
        == len(set(contents(place)["panes"]) - set(before["panes"]))
    )
    assert [one["files"] for one in plan["inputs"]] == [1] and plan["inputs"][0]["bytes"] > 0


@pytest.mark.slow
def test_a_plan_of_what_has_run_publishes_nothing(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert "a new batch; nothing has been touched" in place.sash("plan", *FIRST).out
    assert place.sash("run", *FIRST).code == 0
    again = json.loads(place.sash("plan", *FIRST, "--format", "json").out)
    assert (again["kind"], again["published"]) == ("same", [])


@pytest.mark.slow
def test_a_plan_of_a_rebuilding_is_what_comes_after_the_emptying(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    before = contents(place)
    refused = place.sash("plan", "--rebuild")
    assert (refused.code, refused.out) == (2, "") and "with --from and --to" in refused.err
    anew = json.loads(place.sash("plan", *FIRST, "--rebuild", "--format", "json").out)
    assert contents(place) == before
    (row,) = read_ledger(place.store, "rides")
    assert (anew["kind"], anew["counts"]["ingested"]) == ("new", row.ingested)
    assert sum(one["panes"] for one in anew["published"]) == row.panes


def test_windows_may_be_as_long_as_an_interval_of_the_event(place: Place, spark: SparkSession):
    by_interval = "arrival_time: arrived\n  select: {length: arrived - at}"
    place.write_spec(("arrival_time: arrived", by_interval), ("{tumbling: 1 hour}", "{tumbling: length}"))
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    assert place.sash("run", *SECOND).code == 0
    rows = DeltaTable(table_path(place.store, "rides", table="late_events")).to_pyarrow_table().to_pylist()
    (late,) = [row for row in rows if row["window"] == "hourly"]
    assert (late["fare"], late["length"]) == (40.0, "INTERVAL '0 18:00:00' DAY TO SECOND")
    plan = place.sash("plan", "--from", "2024-01-03", "--to", "2024-01-04")
    assert (plan.code, plan.err) == (0, "")
    place.spec.write_text(
        place.spec.read_text().replace("mean_fare: {avg: fare}", "max_: {max: arrived - at}")
    )
    refused = place.sash("run", "--from", "2024-01-03", "--to", "2024-01-04", "--rebuild")
    assert (
        refused.code == 2 and "aggregate `max_` would be INTERVAL DAY TO SECOND, which Delta" in refused.err
    )


@pytest.mark.slow
def test_a_plan_of_a_restatement_that_was_cut_off_tells_of_its_sessions(place: Place, spark: SparkSession):
    place.write_spec(("  hourly:", "  visits: {session: 1 hour}\n  hourly:"))
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    (town, _, at, arrived), *others = RIDES
    place.write_rides([(town, 99.0, at, arrived), *others])
    assert place.sash("stage", "accumulate", *FIRST).code == 0
    plan = json.loads(place.sash("plan", *FIRST, "--format", "json").out)
    assert place.sash("run", *FIRST).code == 0
    newest = max(read_ledger(place.store, "rides"), key=lambda row: row.revision)
    assert sum(one["panes"] for one in plan["published"]) == newest.panes
    assert {one["window"] for one in plan["published"]} == {"visits", "hourly", "rolling"}
