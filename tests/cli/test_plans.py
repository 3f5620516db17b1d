"""`sash plan` and the `sash run` after it say and do the same, in all that the plan tells."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TypedDict

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.cli.written import instant
from pipelines.store import attempts
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.reader import read_ledger, table_path
from pipelines.store.tables import Folder
from tests.cli.conftest import Place, Ride, day

FATES = ("ingested", "accepted", "late", "quarantined", "duplicates")
WRITTEN = ("partial_frames", "frames", "partial_sessions", "sessions")
SMALL = ("runs", "attempts", "watermarks", "checks")
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


class Published(TypedDict):
    window: str
    timing: str
    kind: str
    panes: int


class Rewritten(TypedDict):
    table: str
    files_replaced: int
    bytes_replaced: int
    files_written: int
    bytes_written: int


class Plan(TypedDict):
    batch: list[str]
    kind: str
    inputs: list[dict[str, int]]
    counts: dict[str, int]
    rewritten: list[Rewritten]
    published: list[Published]
    watermark_before: str | None
    watermark_after: str | None
    stopped: str | None
    warnings: list[str]


def bounds(start: int, end: int) -> tuple[str, ...]:
    return ("--from", f"2024-01-0{start}", "--to", f"2024-01-0{end}")


def versions(place: Place) -> dict[str, int]:
    """The version of each table: any write at all makes another."""
    tables = [log.parent for log in Path(place.store).glob("rides/*/_delta_log")]
    return {str(table): DeltaTable(table).version() for table in tables}


def run_as_planned(place: Place, *words: str) -> Plan:
    """What the plan of a run has told, which touched nothing and was what the run then did."""
    stood, files = versions(place), files_of(place)
    before = Counter[tuple[str, str, str]]() if "--rebuild" in words else panes(place)
    planned = place.sash("plan", *words, "--format", "json")
    assert (planned.code, planned.err, versions(place)) == (0, "", stood)
    plan: Plan = json.loads(planned.out)
    said = place.sash("run", *words)
    assert said.code == 0, said.err
    row = max(read_ledger(place.store, "rides"), key=lambda it: it.started_at_us or 0)
    done = counts_of(place, row)
    assert {it["table"]: without_written_sizes(it) for it in plan["rewritten"]} == rewritten(
        files, files_of(place)
    )
    brought = re.search(r"brought ([\d,]+) windows? up to date", said.out)
    assert brought is not None and plan["counts"].pop("windows") == int(brought[1].replace(",", ""))
    assert plan["counts"] == {name: done[name] for name in plan["counts"]}
    assert {*FATES, *WRITTEN} <= plan["counts"].keys()
    assert [plan["counts"][fate] for fate in FATES] == [getattr(row, fate) for fate in FATES]
    new = panes(place) - before
    told = {sort_of(it): it["panes"] for it in plan["published"]}
    assert (told, sum(told.values())) == (dict(new), row.panes)
    assert plan["batch"] == [instant(row.batch.start_us), instant(row.batch.end_us)]
    assert plan["watermark_before"] == at(row.watermark_before_us)
    assert (plan["watermark_after"], plan["stopped"]) == (at(row.watermark_after_us), None)
    return plan


def replay_as_planned(place: Place, what: str, *, said: str) -> list[str]:
    """The kinds of the batches in the plan of a replay, which touched nothing and was what the replay then
    did.
    """
    before, stood, files = panes(place), versions(place), files_of(place)
    planned = place.sash("plan", "--replay", what, "--format", "json")
    assert (planned.code, versions(place)) == (0, stood)
    assert said in planned.err
    told: list[Plan] = [json.loads(line) for line in planned.out.splitlines()]
    assert place.sash("replay", what).code == 0
    rows = sorted(read_ledger(place.store, "rides"), key=lambda row: row.started_at_us or 0)[-len(told) :]
    for plan, row in zip(told, rows, strict=True):
        assert plan["batch"] == [instant(row.batch.start_us), instant(row.batch.end_us)]
        assert plan["counts"]["quarantined" if what == "quarantine" else what] == 0
        assert [plan["counts"][fate] for fate in FATES] == [getattr(row, fate) for fate in FATES]
        assert sum(it["panes"] for it in plan["published"]) == row.panes
        done = counts_of(place, row)
        assert [plan["counts"].get(name, 0) for name in WRITTEN] == [done[name] for name in WRITTEN]
    if len(told) == 1:
        gone = {it["table"]: without_written_sizes(it) for it in told[0]["rewritten"]}
        assert gone == rewritten(files, files_of(place))
    published = Counter[tuple[str, str, str]]()
    for plan in told:
        published.update({sort_of(it): it["panes"] for it in plan["published"]})
    assert published == panes(place) - before
    assert published
    return [plan["kind"] for plan in told]


def files_of(place: Place) -> dict[str, dict[str, int]]:
    """The files of each large table, with their bytes."""
    tables = [Path(it) for it in versions(place) if Path(it).name not in SMALL]
    return {
        table.name: {uri: Path(uri).stat().st_size for uri in DeltaTable(table).file_uris()}
        for table in tables
    }


def rewritten(
    before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]
) -> dict[str, tuple[int, int, bool]]:
    """By table, how many files have gone, their bytes, and whether any came; without those that stayed."""
    told = {}
    for table, files in after.items():
        stood = before.get(table, {})
        gone = [size for uri, size in stood.items() if uri not in files]
        told[table] = (len(gone), sum(gone), bool(files.keys() - stood.keys()))
    return {table: it for table, it in told.items() if it != (0, 0, False)}


def without_written_sizes(it: Rewritten) -> tuple[int, int, bool]:
    """As `rewritten` has it. Into how many files Spark packs the rows depends on which of its stages ends
    first: the same batch has had nine files of panes, and one.
    """
    assert bool(it["bytes_written"]) == bool(it["files_written"])
    return it["files_replaced"], it["bytes_replaced"], bool(it["files_written"])


def sort_of(it: Published) -> tuple[str, str, str]:
    return it["window"], it["timing"], it["kind"]


def at(instant_us: int | None) -> str | None:
    return None if instant_us is None else instant(instant_us)


def counts_of(place: Place, row: LedgerRow) -> Counter[str]:
    """What the stages of a run have noted: each the last time, for a run that changed nothing had the same
    revision.
    """
    noted = sorted(attempts.read(Folder(root=f"{place.store}/rides")), key=lambda it: it.attempt)
    last = {
        (one.stage, one.source): one.counts
        for one in noted
        if one.what == "finished" and one.is_of(row.batch, row.revision)
    }
    return sum((Counter(counts) for counts in last.values()), Counter())


def panes(place: Place) -> Counter[tuple[str, str, str]]:
    """How many rows `panes` has, by window, timing and kind."""
    table = table_path(place.store, "rides", table="panes")
    if not DeltaTable.is_deltatable(table):
        return Counter()
    rows = DeltaTable(table).to_pyarrow_table(columns=["window", "timing", "kind"]).to_pylist()
    return Counter((it["window"], it["timing"], it["kind"]) for it in rows)


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
