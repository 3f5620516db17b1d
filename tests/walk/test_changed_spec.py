"""A changed spec over tables that an older one made: new windows from old frames, and all anew."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.store.reader import read_ledger, table_path
from tests.cli.conftest import Place, Ride, day, place

__all__ = ["place"]

FIRST = ("--from", "2024-01-01", "--to", "2024-01-02")
SECOND = ("--from", "2024-01-02", "--to", "2024-01-03")
RIDES: list[Ride] = [
    ("Bern", 10.0, day(1, 7, 30), day(1, 8)),
    ("Bern", 20.0, day(1, 9), day(1, 10)),
    ("Chur", 5.0, day(2, 1), day(2, 2)),
]
DAILY = ("  hourly:", "  daily: {tumbling: 1 day}\n  hourly:")


def rows(there: Place, table: str) -> list[dict]:
    return DeltaTable(table_path(there.store, "rides", table=table)).to_pyarrow_table().to_pylist()


def test_a_new_window_is_computed_from_old_frames_without_a_raw_row(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    (place.home / "data" / "rides" / "part-0.parquet").unlink()
    place.write_rides(RIDES[2:])
    place.write_spec(DAILY)
    assert "which the next run computes from the frames" in place.sash("status").out
    assert place.sash("run", *SECOND).code == 0
    daily = [it for it in rows(place, "panes") if it["window"] == "daily"]
    told = [(it["city"], it["window_start"], it["rides"], it["timing"], it["restated"]) for it in daily]
    assert told == [("Bern", day(1), 2, "ON_TIME", True)]
    hourly = [it for it in rows(place, "panes") if it["window"] == "hourly"]
    assert not any(it["restated"] for it in hourly)
    assert place.sash("run", "--final", "--yes").code == 0
    daily = [it for it in rows(place, "windows") if it["window"] == "daily"]
    assert sorted((it["city"], it["rides"]) for it in daily) == [("Bern", 2), ("Chur", 1)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["accumulating", "retracting", "discarding"])
def test_another_shape_under_an_old_name_takes_the_place_of_the_old_one(
    place: Place, spark: SparkSession, mode: str
):
    place.write_rides(RIDES)
    place.write_spec(("{tumbling: 1 hour}", f"{{sliding: 2 hours, step: 1 hour, panes: {{mode: {mode}}}}}"))
    assert place.sash("run", *FIRST).code == 0
    (place.home / "data" / "rides" / "part-0.parquet").unlink()
    place.write_rides(RIDES[2:])
    # Of the old windows those at even hours stay, the others go, and none is new.
    place.write_spec(("{tumbling: 1 hour}", f"{{tumbling: 2 hours, panes: {{mode: {mode}}}}}"))
    assert place.sash("run", *SECOND, "--final", "--yes").code == 0
    stand = [it for it in rows(place, "windows") if it["window"] == "hourly"]
    found = sorted((it["city"], it["window_start"], it["window_end"], it["rides"]) for it in stand)
    assert found == [
        ("Bern", day(1, 6), day(1, 8), 1),
        ("Bern", day(1, 8), day(1, 10), 1),
        ("Chur", day(2, 0), day(2, 2), 1),
    ]
    told = [
        (it["window_start"].hour, it["kind"], it["pane_index"], it["restated"])
        for it in rows(place, "panes")
        if it["window"] == "hourly" and it["city"] == "Bern" and it["batch_start"] == day(2)
    ]
    # The first batch came to nine o'clock, so that those which begin at eight and nine were not told of yet.
    again = [(6, "insert", 1, True), (6, "retract", 1, True)]
    assert sorted(told) == [*again, (7, "retract", 1, True), (8, "insert", 0, True)]


@pytest.mark.slow
def test_what_frames_cannot_serve_is_refused_until_all_is_computed_anew(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    place.write_spec(("  rides: count", "  rides: count\n  dearest: {max: fare}"))
    refused = place.sash("run", *SECOND)
    assert refused.code == 2 and "key or aggregates differ" in refused.err and "--rebuild" in refused.err
    whole = ("--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d")
    suite = "panes:\n  - expect_column_max_to_be_between: {column: farest, max_value: 9}\n"
    (place.home / "dags" / "suite.yml").write_text(suite)
    place.write_spec(
        ("  rides: count", "  rides: count\n  dearest: {max: fare}"),
        ("key: [city]", "key: [city]\nexpectations: dags/suite.yml"),
    )
    refused = place.sash("run", *whole, "--rebuild", "--final", "--yes")
    assert refused.code == 2 and "no column `farest`" in refused.err
    assert len(rows(place, "windows")) > 0, "emptied, and could not be filled again"
    place.write_spec(("  rides: count", "  rides: count\n  dearest: {max: fare}"))
    anew = place.sash("run", *whole, "--rebuild", "--final", "--yes")
    assert (anew.code, anew.err) == (0, "")
    hourly = [it for it in rows(place, "windows") if it["window"] == "hourly"]
    assert sorted((it["city"], it["rides"], it["dearest"]) for it in hourly) == [
        ("Bern", 1, 10.0),
        ("Bern", 1, 20.0),
        ("Chur", 1, 5.0),
    ]
    assert len(rows(place, "runs")) == 2


@pytest.mark.slow
def test_what_a_later_stage_alone_did_again_was_read_as_before(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    halves = ("  hourly:", "  halves: {tumbling: 30 minutes}\n  hourly:")
    place.write_spec(("format: parquet", "format: parquet\n  where: fare < 15"), halves)
    assert [place.sash("stage", it, *FIRST).code for it in ("finalise", "publish")] == [0, 0]
    assert [it["revision"] for it in rows(place, "runs")] == [0, 1]
    assert "Of 1 batches 1 ran while `where` of source `main` said" in place.sash("status").out


@pytest.mark.slow
def test_batches_keep_what_an_older_filter_let_through_and_whoever_changes_it_is_told(
    place: Place, spark: SparkSession
):
    filtered = ("format: parquet", "format: parquet\n  where: fare < 15")
    changed = "`where` of source `main` changed since the last batch that ran"
    place.write_rides([*RIDES, ("Chur", 50.0, day(2, 1), day(2, 2)), ("Chur", 60.0, day(3, 1), day(3, 2))])
    assert place.sash("run", *FIRST).code == 0
    place.write_spec(filtered)
    assert "Of 1 batches 1 ran while `where` of source `main` said" in place.sash("status").out
    assert changed in place.sash("plan", *SECOND).out
    (told,) = json.loads(place.sash("plan", *SECOND, "--format", "json").out)["warnings"]
    assert told.startswith(changed)
    said = place.sash("run", *SECOND)
    assert (said.code, said.err) == (0, f"warning: {told}\n")
    assert place.sash("run", "--from", "2024-01-03", "--to", "2024-01-04", "--final", "--yes").err == ""
    hourly = [it for it in rows(place, "windows") if it["window"] == "hourly"]
    found = sorted((it["city"], it["window_start"], it["rides"]) for it in hourly)
    assert found == [("Bern", day(1, 7), 1), ("Bern", day(1, 9), 1), ("Chur", day(2, 1), 1)]
    # One that runs again is read by the text of now.
    again = place.sash("run", *FIRST)
    assert (again.code, again.err.count("warning: ")) == (0, 1)
    assert "has 1 row now, and had 2 when it last ran" in again.err
    hourly = [it for it in rows(place, "windows") if it["window"] == "hourly"]
    found = sorted((it["city"], it["window_start"], it["rides"]) for it in hourly)
    assert found == [("Bern", day(1, 7), 1), ("Chur", day(2, 1), 1)]
    assert "said something else" not in place.sash("status").out


@pytest.mark.slow
def test_what_waits_under_an_old_trigger_is_published_by_the_new_one(place: Place, spark: SparkSession):
    place.write_rides(
        [
            ("Bern", 10.0, day(1, 7, 30), day(1, 8)),
            ("Chur", 1.0, day(1, 12), day(1, 13)),
            ("Bern", 20.0, day(1, 7, 40), day(2, 1)),
            ("Chur", 1.0, day(2, 12), day(3, 1)),
        ]
    )
    waiting = "{tumbling: 1 hour, allowed_lateness: 10 days, panes: {late: {rows: 9}}}"
    place.write_spec(("{tumbling: 1 hour}", waiting))
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d").code == 0
    place.write_spec(("{tumbling: 1 hour}", "{tumbling: 1 hour, allowed_lateness: 10 days}"))
    assert place.sash("run", "--from", "2024-01-03", "--to", "2024-01-04").code == 0
    told = [
        (it["timing"], it["rides"], it["batch_start"])
        for it in rows(place, "panes")
        if it["window"] == "hourly" and it["city"] == "Bern"
    ]
    assert sorted(told) == [("LATE", 2, day(3)), ("ON_TIME", 1, day(1))]


@pytest.mark.slow
def test_a_batch_that_failed_goes_on_under_the_types_of_a_corrected_spec(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    priced = ("arrival_time: arrived", "arrival_time: arrived\n  select: {price: %s}")
    total = ("  rides: count", "  rides: count\n  total: {sum: price}")
    whole = '"cast(cast(fare + 0.5 AS STRING) AS INT)"'
    place.write_spec((priced[0], priced[1] % whole), total)
    failed = place.sash("run", *FIRST)
    assert failed.code == 2 and read_ledger(place.store, "rides")[0].status == "failed"
    place.write_spec((priced[0], priced[1] % "fare + 0.5"), total)
    assert place.sash("run", *FIRST).code == 0
    assert sorted(it["total__total"] for it in rows(place, "frames")) == [10.5, 20.5]


MODES = {"first": "discarding", "second": "accumulating", "third": "retracting"}
LATER = {"first": "retracting", "second": "discarding", "third": "accumulating"}
LAST = {"first": "accumulating", "second": "retracting", "third": "discarding"}
GOES = "  goes: {tumbling: 1 hour, allowed_lateness: 10 days}"
BEGUN = [(1, 0, True, 1)]
TOLD = {
    # What discarding panes came to is what the first retract after them takes back.
    "first": [
        *BEGUN,
        (2, 1, True, 1),
        *[(3, 2, False, 2), (3, 2, True, 3), (4, 3, False, 3), (4, 3, True, 4)],
        (5, 4, True, 5),
    ],
    "second": [
        *BEGUN,
        (2, 1, True, 2),
        *[(3, 2, True, 1), (4, 3, True, 1)],
        *[(5, 4, False, 4), (5, 4, True, 5)],
    ],
    "third": [
        *BEGUN,
        *[(2, 1, False, 1), (2, 1, True, 2)],
        *[(3, 2, True, 3), (4, 3, True, 4)],
        (5, 4, True, 1),
    ],
    "shuts": [*BEGUN, (2, 1, True, 2)],
    # It takes in what it had missed, and others had not.
    "opens": [*BEGUN, (3, 1, True, 3), (4, 2, True, 4), (5, 3, True, 5)],
    "goes": [*BEGUN, (2, 1, True, 2)],
}
"""By window the panes of one hour: the day of the batch, the index, whether it is an insert, rides."""


def in_modes(modes: dict[str, str], *others: str) -> tuple[str, str]:
    """Windows by the hour in these modes, and others, in the place of the one that the spec has."""
    told = [
        f"  {name}: {{tumbling: 1 hour, allowed_lateness: 10 days, panes: {{mode: {mode}}}}}"
        for name, mode in modes.items()
    ]
    return "  hourly: {tumbling: 1 hour}", "\n".join([*told, *others])


def lasting(**lengths: str) -> list[str]:
    return [f"  {name}: {{tumbling: 1 hour, allowed_lateness: {it}}}" for name, it in lengths.items()]


#   Jan 1  7            8        Jan 2  3  4  5
#          ├──30──40──55┤        a ride of the same hour arrives each day
@pytest.mark.slow
def test_changed_modes_and_latenesses_hold_from_the_next_batch_on_and_a_window_that_is_gone_stays(
    place: Place, spark: SparkSession
):
    late: list[Ride] = [("Bern", 1.0, day(1, 7, 30 + 5 * at), day(at, 1)) for at in range(2, 6)]
    place.write_rides([("Bern", 1.0, day(1, 7, 30), day(1, 8)), ("Chur", 1.0, day(1, 12), day(1, 13)), *late])
    place.write_spec(in_modes(MODES, *lasting(shuts="10 days", opens="0 s"), GOES))
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d").code == 0
    place.write_spec(in_modes(LATER, *lasting(shuts="0 s", opens="10 days")))
    assert place.sash("run", "--from", "2024-01-03", "--to", "2024-01-05", "--every", "1d").code == 0
    place.write_spec(in_modes(LAST, *lasting(shuts="0 s", opens="10 days")))
    assert place.sash("run", "--from", "2024-01-05", "--to", "2024-01-06").code == 0

    told: dict[str, list[tuple]] = {}
    for it in rows(place, "panes"):
        if it["city"] == "Bern" and it["window"] != "rolling":
            assert (it["restated"], it["timing"]) == (False, "LATE" if it["pane_index"] else "ON_TIME")
            pane = (it["batch_start"].day, it["pane_index"], it["kind"] == "insert", it["rides"])
            told.setdefault(it["window"], []).append(pane)
    assert {name: sorted(panes) for name, panes in told.items()} == TOLD
    stands = {
        it["window"]: (it["rides"], it["pane_index"]) for it in rows(place, "windows") if it["city"] == "Bern"
    }
    del stands["rolling"]
    assert stands == {
        **dict.fromkeys(("first", "second", "third"), (5, 4)),
        **dict.fromkeys(("shuts", "goes"), (2, 1)),
        "opens": (5, 3),
    }
    missed = {(it["window"], it["batch_start"].day) for it in rows(place, "late_events")}
    assert {it for it in missed if it[0] != "rolling"} == {("opens", 2), *[("shuts", at) for at in (3, 4, 5)]}


def watermarks(there: Place) -> dict[str | None, list[tuple[str | None, int]]]:
    """By source the substreams of the newest batch, each with the hour of its watermark on the second day."""
    newest = max(it["batch_start"] for it in rows(there, "watermarks"))
    found: dict[str | None, list[tuple[str | None, int]]] = {}
    for it in rows(there, "watermarks"):
        if it["batch_start"] == newest:
            hours = (it["watermark"] - day(2)) // timedelta(hours=1)
            found.setdefault(it["source"], []).append((it["substream"], hours))
    return {source: sorted(told, key=str) for source, told in found.items()}


@pytest.mark.slow
def test_substreams_that_are_told_apart_otherwise_do_not_hold_the_watermark_back_and_a_source_may_be_renamed(
    place: Place, spark: SparkSession
):
    by_city = ("event_time: at", "event_time: at\n  substream: city")
    place.write_rides([*RIDES[:2], ("Bern", 1.0, day(2, 5), day(2, 6)), ("Chur", 1.0, day(2, 4), day(2, 6))])
    assert place.sash("run", *FIRST).code == 0
    place.write_spec(by_city)
    for _ in range(2):
        # The second time it is the same batch again, with the older one's substream still known before it.
        assert place.sash("run", *SECOND).code == 0
        assert watermarks(place) == {"main": [("Bern", 5), ("Chur", 4)], None: [(None, 4)]}
    assert len(rows(place, "runs")) == 2
    place.write_rides([("Bern", 1.0, day(3, 1), day(3, 2))])
    place.write_spec(by_city, ("key: [city]", "sources: {taxis: {}}\nkey: [city]"))
    assert place.sash("run").code == 0
    assert watermarks(place) == {"taxis": [("Bern", 25), ("Chur", 4)], None: [(None, 4)]}
