"""`sash plan` and the `sash run` after it say and do the same, in all that the plan tells."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from pipelines.store.reader import read_ledger
from tests.cli.conftest import Place, Ride, day
from tests.cli.planned import (
    WRITTEN,
    Plan,
    at,
    bounds,
    files_of,
    replay_as_planned,
    rewritten,
    run_as_planned,
    versions,
    without_written_sizes,
)

VISITS = ("  hourly:", "  visits: {session: 1 hour}\n  hourly:")
DISCARDING = ("{tumbling: 1 hour}", "{tumbling: 1 hour, panes: {early: each batch, mode: discarding}}")
DAILY = ("  rolling:", "  daily: {tumbling: 1 day, panes: {early: each batch}}\n  rolling:")

#   Jan 1  7   8      19  20        Jan 2  1         Jan 3  2
#          ├─┤          ├─┤                ├─┤              ├─┤
RIDES: list[Ride] = [
    ("Bern", 10.0, day(1, 7, 30), day(1, 8)),
    ("Bern", 20.0, day(1, 19, 50), day(1, 21)),
    ("Bern", 40.0, day(1, 7), day(2, 1)),  # its windows had closed
    ("Bern", 80.0, day(1, 20, 10), day(2, 1)),  # of the session before
    ("Chur", 5.0, day(2, 1), day(2, 2)),
    ("Chur", 1.0, None, day(2, 3)),  # quarantined
    ("Bern", 3.0, day(3, 2), day(3, 3)),
]


@pytest.mark.slow
def test_a_run_in_the_place_of_others_does_what_its_plan_told(place: Place, spark: SparkSession):
    place.write_spec(VISITS, DISCARDING)
    place.write_rides(RIDES)
    assert place.sash("run", *bounds(1, 4), "--every", "1d").code == 0
    refused = place.sash("plan", *bounds(1, 3))
    assert refused.code == 4 and "--replace" in refused.err
    # With the same data late rows of the second day are judged by what judged the first: they count.
    same = run_as_planned(place, *bounds(1, 3), "--replace")
    assert (same["kind"], same["counts"]["late"]) == ("covers", 0)
    assert {it["kind"] for it in same["published"]} == {"insert", "retract"}
    # With other data a session is gone, and what the next batch has published is corrected.
    place.write_rides([RIDES[0], ("Bern", 20.0, day(1, 17), day(1, 21)), *RIDES[2:4], *RIDES[5:]])
    other = run_as_planned(place, *bounds(1, 4), "--replace")
    assert other["kind"] == "covers"
    assert ("visits", "retract") in {(it["window"], it["kind"]) for it in other["published"]}


@pytest.mark.slow
def test_a_run_does_what_its_plan_told_whatever_is_asked(place: Place, spark: SparkSession):
    place.write_spec(VISITS, DISCARDING)
    place.write_rides(RIDES)
    assert place.sash("run", *bounds(1, 2)).code == 0
    data = place.home / "data" / "rides" / "part-0.parquet"
    second = run_as_planned(place, *bounds(2, 3))
    assert [(it["files"], it["bytes"]) for it in second["inputs"]] == [(1, data.stat().st_size)]
    assert (second["kind"], second["counts"]["late"], second["counts"]["quarantined"]) == ("new", 1, 1)
    # The same again would write no states and no panes.
    nothing = json.loads(place.sash("plan", *bounds(2, 3), "--format", "json").out)
    assert (nothing["kind"], nothing["counts"]["accepted"]) == ("same", second["counts"]["accepted"])
    assert [nothing["counts"][it] for it in (*WRITTEN, "windows")] == [0] * 5
    assert {it["table"] for it in nothing["rewritten"]} == {"late_events", "quarantine"}
    assert nothing["published"] == []
    files, ledger = files_of(place), read_ledger(place.store, "rides")
    assert place.sash("run", *bounds(2, 3)).code == 0
    assert read_ledger(place.store, "rides") == ledger
    assert rewritten(files, files_of(place)) == {
        it["table"]: without_written_sizes(it) for it in nothing["rewritten"]
    }
    # As `sash replay` runs it.
    replayed = run_as_planned(place, *bounds(2, 3), "--ignore-lateness")
    assert (replayed["kind"], replayed["counts"]["late"]) == ("same", 0)
    assert ("hourly", "LATE") in {(it["window"], it["timing"]) for it in replayed["published"]}
    # A restatement, in which one session becomes two, and a window is empty.
    place.write_rides([RIDES[0], ("Bern", 20.0, day(1, 17), day(1, 21)), *RIDES[2:]])
    restated = run_as_planned(place, *bounds(1, 2))
    kinds = {(it["window"], it["kind"]) for it in restated["published"]}
    assert {("visits", "retract"), ("visits", "insert"), ("hourly", "retract")} <= kinds
    # A new window over old frames, and all is closed.
    place.write_spec(VISITS, DISCARDING, DAILY)
    changed = run_as_planned(place, *bounds(3, 4), "--final", "--yes")
    assert changed["watermark_after"] == "9999-12-31T23:59:59.999999Z"
    assert sum(it["panes"] for it in changed["published"] if it["window"] == "daily") == 3
    # All anew, as one batch: what stood goes, with its files.
    rebuilt = run_as_planned(place, *bounds(1, 4), "--rebuild", "--yes")
    assert (rebuilt["kind"], rebuilt["counts"]["late"]) == ("new", 0)
    gone = {it["table"] for it in rebuilt["rewritten"] if it["files_replaced"]}
    assert {"partial_frames", "frames", "sessions", "panes", "windows"} <= gone


@pytest.mark.slow
def test_an_older_batch_does_what_its_plan_told_of_ids_that_came_before_too(
    place: Place, spark: SparkSession
):
    with_ids = ("arrival_time: arrived", "arrival_time: arrived\n  event_id: {of: [fare]}")
    place.write_spec(VISITS, DISCARDING, with_ids)
    place.write_rides([*RIDES, ("Chur", 10.0, day(1, 7, 30), day(2, 4))])
    assert place.sash("run", *bounds(1, 2)).code == 0
    newest = run_as_planned(place, *bounds(3, 4))
    assert (newest["kind"], newest["counts"]["duplicates"]) == ("new", 0)
    older = run_as_planned(place, *bounds(2, 3))
    assert (older["kind"], older["counts"]["duplicates"]) == ("older", 1)


@pytest.mark.slow
def test_a_plan_of_several_batches_tells_each_after_those_before_it(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    stood = versions(place)
    planned = place.sash("plan", *bounds(1, 4), "--every", "1d", "--format", "json")
    assert (planned.code, planned.err, versions(place)) == (0, "", stood)
    told: list[Plan] = [json.loads(line) for line in planned.out.splitlines()]
    assert place.sash("run", *bounds(1, 4), "--every", "1d").code == 0
    rows = sorted(read_ledger(place.store, "rides"), key=lambda row: row.batch)
    assert [it["counts"]["ingested"] for it in told] == [row.ingested for row in rows] == [2, 4, 1]
    assert [it["counts"]["late"] for it in told] == [row.late for row in rows] == [0, 1, 0]
    assert [it["watermark_after"] for it in told] == [at(row.watermark_after_us) for row in rows]
    assert [sum(one["panes"] for one in it["published"]) for it in told] == [row.panes for row in rows]
    # Of a row that could not be read, and now can.
    mended = [*RIDES[:5], ("Chur", 1.0, day(2, 2, 30), day(2, 3)), RIDES[6]]
    place.write_rides(mended)
    assert replay_as_planned(place, "quarantine", said="1 row, of 1 batch that run again") == ["same"]
    # Both days run again, with what came late, and the plan says so of each.
    place.write_rides([*mended, ("Bern", 7.0, day(1, 6), day(3, 4))])
    assert place.sash("run", *bounds(3, 4)).code == 0
    assert replay_as_planned(place, "late", said="4 rows, of 2 batches that run again") == ["same", "same"]
    nothing = place.sash("plan", "--replay", "late")
    assert (nothing.code, nothing.out) == (0, "") and "nothing to replay" in nothing.err
    refused = place.sash("plan", "--replay", "late", "--final", "--yes")
    assert refused.code == 2 and "--final says nothing of a replay" in refused.err
