"""`sash run`, `stage` and `status` on the real walk: what they say and what they leave behind."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from pipelines.cli.steps import STAGES, steps_of
from pipelines.intervals import Interval
from pipelines.stages import STAGES as STAGES_THAT_RUN
from pipelines.store.reader import read_ledger, read_table
from tests.cli.conftest import Place, day, days

#   Jan 1  7   8   9   10                  Jan 2       Jan 3
#          ├─1─┼─2─┤    1 and 2 rides      nothing     one ride
RIDES = [
    ("Bern", 10.0, day(1, 7, 30), day(1, 8)),
    ("Bern", 20.0, day(1, 8, 0), day(1, 9)),
    ("Bern", None, day(1, 8, 59), day(1, 9)),
    ("Chur", 5.0, day(3, 0, 0), day(3, 1)),
]
ODD = [
    ("Bern", 1.0, None, day(1, 8)),  # no event time: quarantined
    ("Bern", 1.0, datetime(1965, 1, 1, tzinfo=UTC), day(1, 8)),  # before 1970: fine
    ("Bern", 1.0, day(1, 9), None),  # no arrival time: it is of the batch of its event time
    ("Bern", 1.0, day(2, 9), None),
    (None, 1.0, day(1, 9), day(1, 9)),  # a null key is a key
]
SUITE = """\
events:
  - expect_column_values_to_be_between: {column: fare, min_value: 0, max_value: 15}
"""


def ledger_of(place: Place) -> list[tuple[Interval, str]]:
    return sorted((row.batch, row.status) for row in read_ledger(place.store, "rides"))


def windows(place: Place) -> list[tuple[str, datetime, int, int]]:
    rows = read_table(place.store, "rides", table="windows", where="window = 'hourly'").to_pylist()
    return sorted((row["city"] or "", row["window_start"], row["rides"], row["event_count"]) for row in rows)


def test_batches_run_one_after_the_other_and_are_summed_up(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    said = place.sash("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d")
    lines = said.out.splitlines()
    assert (said.code, said.err) == (0, "")
    assert [line for line in lines if line.startswith("batch")] == [
        f"batch [2024-01-0{start} 00:00, 2024-01-0{start + 1} 00:00)" for start in (1, 2)
    ]
    assert len(lines) == 2 * (1 + len(steps_of(["main"]))) + 1
    assert lines[1].startswith("  accumulate main: read 3 rows; 3 accepted")
    assert lines[-1].startswith("rides: 2 batches done in ")
    assert "3 rows (3 accepted, 0 late, 0 quarantined, 0 duplicates)" in lines[-1]
    assert f"tables in {place.store}/rides" in lines[-1]
    assert ledger_of(place) == [(days(1, 2), "published"), (days(2, 3), "published")]
    assert windows(place) == [("Bern", day(1, 7), 1, 1)]

    page = place.sash("status").out
    assert (
        "Watermark: 2024-01-01T08:59:00Z, 1 day 15 hours 1 minute behind the end of the newest batch" in page
    )
    assert "Next: batch [2024-01-03 00:00, 2024-01-04 00:00), with `sash run" in page

    final = place.sash("run", "--final", "--yes")
    assert (final.code, final.err) == (0, "")
    assert "watermark 9999-12-31T23:59:59.999999Z" in final.out
    assert windows(place) == [("Bern", day(1, 7), 1, 1), ("Bern", day(1, 8), 2, 2), ("Chur", day(3), 1, 1)]
    assert ledger_of(place)[-1] == (days(3, 4), "published")
    assert "Watermark: the final one" in place.sash("status").out


def test_odd_rows_are_counted_and_stages_can_be_run_one_by_one(place: Place, spark: SparkSession):
    place.write_rides(ODD)
    batch = ("--from", "2024-01-01", "--to", "2024-01-02")
    for stage in STAGES[:2]:
        assert place.sash("stage", stage, *batch).code == 0
    busy = place.sash("run", "--from", "2024-01-02", "--to", "2024-01-03")
    assert (busy.code, busy.out) == (4, "")
    assert "batch [2024-01-01 00:00, 2024-01-02 00:00) is unfinished" in busy.err
    page = place.sash("status").out
    assert "Unfinished: batch [2024-01-01 00:00, 2024-01-02 00:00) is running since" in page
    assert "--from 2024-01-01T00:00:00Z --to 2024-01-02T00:00:00Z" in page
    for stage in STAGES[2:]:
        assert place.sash("stage", stage, *batch).code == 0
    (row,) = read_ledger(place.store, "rides")
    assert (row.ingested, row.accepted, row.late, row.quarantined) == (4, 3, 0, 1)
    rows = read_table(place.store, "rides", table="frames", where="event_count > 0").to_pylist()
    assert {row["frame_start"].year for row in rows} == {1965, 2024}
    assert {row["city"] for row in rows} == {"Bern", None}


def test_what_is_missing_or_wrong_leaves_with_2_and_no_batch_behind(place: Place, spark: SparkSession):
    batch = ("--from", "2024-01-01", "--to", "2024-01-02")
    missing = place.sash("run", *batch)
    assert (missing.code, missing.out.count("\n")) == (2, 1)
    assert "there is no file at" in missing.err and "data/rides" in missing.err
    place.write_rides(RIDES)
    place.write_spec(("{avg: fare}", "{avg: fair}"))
    unknown = place.sash("run", *batch)
    assert unknown.code == 2
    assert "`fair`" in unknown.err and "\tat " not in unknown.err
    assert read_ledger(place.store, "rides") == []


def test_a_check_that_stops_a_run_leaves_with_3_and_says_how_to_go_on(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    (place.home / "suite.yml").write_text(SUITE)
    place.write_spec(("key: [city]", "key: [city]\nexpectations: suite.yml"))
    planned = place.sash("plan")
    assert (planned.code, planned.err) == (0, "")
    assert "A check would stop it: " in planned.out and "fare" in planned.out
    assert "Data Docs" not in planned.out and "run the batch again" not in planned.out
    said = place.sash("run")
    assert said.code == 3
    assert "expect_column_values_to_be_between" in said.err and "fare" in said.err
    assert "on the Data Docs page" in said.err and "run the batch again" in said.err
    page = place.sash("status").out
    assert "was stopped by a check: `sash show" in page
    checks = place.sash("show", "checks", "--where", "NOT success AND batch_start = '2024-01-01T00:00:00Z'")
    assert "expect_column_values_to_be_between" in checks.out
    assert ledger_of(place) == [(days(1, 2), "stopped")]


def test_the_stages_that_are_named_are_those_that_run():
    assert STAGES == STAGES_THAT_RUN


@pytest.mark.slow
def test_a_stage_keeps_to_what_was_said_to_those_before_it_and_waits_for_every_source(
    place: Place, spark: SparkSession
):
    two = ("key: [city]", "sources: {EAST: {path: data/east}, 2nd-west: {path: data/west}}\nkey: [city]")
    place.write_spec(two)
    for name in ("east", "west"):
        place.write_rides([("Bern", 1.0, day(1, 1), day(1, 2))], name=name)
    batch = ("--from", "2024-01-01", "--to", "2024-01-02")
    assert place.sash("stage", "accumulate", "--source", "EAST", *batch, "--final", "--yes").code == 0
    early = place.sash("stage", "combine", *batch)
    assert early.code == 2 and "the stage accumulate of source 2nd-west has not run" in early.err
    assert [it.status for it in read_ledger(place.store, "rides")] == ["running"]
    west = ("stage", "accumulate", "--source", "2nd-west", *batch)
    said = place.sash(*west, "--rebuild", "--yes")
    assert said.code == 2 and "what it brought would go too; leave --rebuild out" in said.err
    assert place.sash(*west).code == 0
    assert place.sash("stage", "combine", *batch).code == 0
    # Said again it is no news.
    assert place.sash("stage", "finalise", *batch, "--final", "--yes").code == 0
    assert place.sash("stage", "publish", *batch).code == 0
    assert "Watermark: the final one" in place.sash("status").out


def test_a_misspelt_expectation_is_told_before_a_batch_is_opened(place: Place, spark: SparkSession):
    place.write_spec(("key: [city]", "key: [city]\nexpectations: dags/suite.yml"))
    suite = "panes:\n  - expect_column_maxx_to_be_between: {column: mean_fare, max_value: 9}\n"
    (place.home / "dags" / "suite.yml").write_text(suite)
    place.write_rides(RIDES)
    said = place.sash("run", "--from", "2024-01-01", "--to", "2024-01-02")
    assert said.code == 2 and "there is no expectation `expect_column_maxx_to_be_between`" in said.err
    assert read_ledger(place.store, "rides") == []
