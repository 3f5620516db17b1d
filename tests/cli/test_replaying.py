"""`sash replay` again, after it was cut off in the middle."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipelines.cli.arguments import read_arguments
from pipelines.cli.replay import replayed
from pipelines.spec import state_fingerprint
from pipelines.stages import Request, Site, run_batch, run_stage
from pipelines.store import small
from pipelines.store.ledger import now_us, read_rows
from pipelines.store.ledger_rows import standing
from pipelines.store.opening import opening_of
from pipelines.store.reader import read_ledger
from tests.cli.conftest import Place, Ride, day, days

FIRST = ("--from", "2024-01-01", "--to", "2024-01-02")
SECOND = ("--from", "2024-01-02", "--to", "2024-01-03")
BOTH = ("--from", "2024-01-01", "--to", "2024-01-03")
RIDES: list[Ride] = [
    ("Bern", 10.0, day(1, 7, 30), day(1, 8)),
    ("Bern", 20.0, day(1, 20), day(1, 21)),
    ("Bern", 40.0, day(1, 7), day(2, 1)),  # its window had closed
    ("Chur", 5.0, day(2, 1), day(2, 2)),
    ("Chur", 1.0, None, day(2, 3)),
]


def accumulate(place: Place, spark: SparkSession, request: Request) -> None:
    """All that a replay does before it is cut off: rows that it was asked for are gone from their table."""
    run_stage(Site(spark, place.store, place.pipeline), request, stage="accumulate", source="main")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["late", "quarantine"])
def test_a_replay_that_was_cut_off_goes_on_when_it_is_said_again(
    place: Place, spark: SparkSession, what: str
):
    place.write_rides(RIDES)
    assert place.sash("run", *BOTH, "--every", "1d").code == 0
    is_late = what == "late"
    if not is_late:
        place.write_rides(RIDES[:4])
    accumulate(place, spark, Request(batch=days(2, 3), ignore_lateness=is_late, replays=what))
    outside = place.sash("replay", what, *FIRST)
    assert (outside.code, "nothing to replay" in outside.out) == (0, True)
    said = place.sash("replay", what)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("batch [2024-01-02 00:00, 2024-01-03 00:00) is unfinished, and comes first\n")
    rows = standing(read_ledger(place.store, "rides"))
    assert [(it.status, it.revision, it.late) for it in rows][1] == ("published", 1, 0 if is_late else 1)
    again = place.sash("run", *SECOND)
    assert (again.code, "1 late event in batch" in again.err) == (0, is_late)


@pytest.mark.slow
def test_a_replay_goes_on_that_was_killed_before_the_ledger_had_its_number(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *BOTH, "--every", "1d").code == 0
    store = Site(spark, place.store, place.pipeline).tables
    rows, fingerprint = read_rows(store), state_fingerprint(place.pipeline)
    opening = opening_of(rows, days(2, 3), fingerprint=fingerprint, replace=False)
    opened = opening.row(fingerprint=fingerprint, started_at_us=now_us())
    small.overwrite(small.open_table(store, "runs"), [it.values() for it in (*rows, opened)])
    said = place.sash("replay", "quarantine", *SECOND)
    assert (said.code, "comes first" in said.out) == (0, True)
    assert place.sash("replay", "late").code == 0
    assert [it.late for it in standing(read_ledger(place.store, "rides"))] == [0, 0]


@pytest.mark.slow
def test_a_replay_lets_alone_what_somebody_else_is_at(place: Place, spark: SparkSession):
    place.write_rides([*RIDES, ("Bern", 1.0, None, day(1, 9))])
    assert place.sash("run", *BOTH, "--every", "1d").code == 0
    place.write_rides(RIDES[:4])
    accumulate(place, spark, Request(batch=days(2, 3)))
    said = place.sash("replay", "quarantine")
    assert said.code == 4 and "2024-01-03 00:00) is unfinished (its status is running)" in said.err
    # Also where that one has such rows, and no other.
    said = place.sash("replay", "late")
    assert said.code == 4 and "2024-01-03 00:00), which alone has rows in late_events" in said.err
    assert place.sash("run", *SECOND).code == 0
    assert place.sash("replay", "quarantine").code == 0
    assert [it.quarantined for it in standing(read_ledger(place.store, "rides"))] == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("done", [0, 1])
def test_a_row_that_arrived_elsewhere_is_counted_wherever_its_replay_is_cut_off(
    place: Place, spark: SparkSession, done: int
):
    place.write_rides([*RIDES[:2], RIDES[3], ("Chur", 1.0, None, None)])
    assert place.sash("run", *BOTH, "--every", "1d").code == 0
    place.write_rides([*RIDES[:2], RIDES[3], ("Chur", 1.0, day(2, 1), day(2, 3))])
    words = read_arguments(["replay", str(place.spec), "quarantine"])
    requests = replayed(words, place.pipeline, store=place.store, what="quarantine", say=print)
    assert len(requests) == 2
    for request in requests[:done]:
        list(run_batch(Site(spark, place.store, place.pipeline), request))
    accumulate(place, spark, requests[done])
    assert place.sash("replay", "quarantine").code == 0
    rows = standing(read_ledger(place.store, "rides"))
    assert [(it.status, it.ingested, it.quarantined) for it in rows] == [("published", 2, 0)] * 2


RULE = """\
events:
  - expect_column_values_to_be_between: {column: fare, min_value: 0}
    on_failure: quarantine
"""


def break_a_row(place: Place, broken: Ride) -> None:
    """Both days, where a row stands in the quarantine of the first that arrived on the second."""
    (place.home / "rule.yml").write_text(RULE)
    place.write_spec(("schedule:", "expectations: rule.yml\nschedule:"))
    place.write_rides([*RIDES[:2], RIDES[3], broken])
    assert place.sash("run", *BOTH, "--every", "1d").code == 0
    rows = standing(read_ledger(place.store, "rides"))
    assert [(it.revision, it.ingested, it.quarantined) for it in rows] == [(0, 3, 1), (0, 1, 0)]
    place.write_rides([*RIDES[:2], RIDES[3], ("Chur", 1.0, day(2, 1), day(2, 3))])


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken",
    [("Chur", 1.0, None, None), ("Chur", -1.0, day(1, 5), None)],
    ids=["no time", "no arrival"],
)
def test_a_row_is_counted_where_it_arrived_once_its_time_is_mended(
    place: Place, spark: SparkSession, broken: Ride
):
    break_a_row(place, broken)
    said = place.sash("replay", "quarantine")
    assert (said.code, said.err) == (0, "")
    assert "rows now arrive in 1 batch more, which run again too" in said.out
    rows = standing(read_ledger(place.store, "rides"))
    assert [(it.revision, it.ingested, it.quarantined) for it in rows] == [(1, 2, 0), (1, 2, 0)]


@pytest.mark.slow
def test_a_replay_says_where_rows_arrive_that_its_bounds_leave_out(place: Place, spark: SparkSession):
    break_a_row(place, ("Chur", -1.0, day(1, 5), None))
    said = place.sash("replay", "quarantine", *FIRST)
    assert (said.code, said.err) == (0, "")
    assert "left out: 1 batch in which more rows arrive now, first [2024-01-02 00:00, 2024-01-03" in said.out
    assert place.sash("run", *SECOND).code == 0
    rows = standing(read_ledger(place.store, "rides"))
    assert [(it.revision, it.ingested, it.quarantined) for it in rows] == [(1, 2, 0), (1, 2, 0)]


@pytest.mark.slow
def test_what_cannot_be_read_again_is_not_replayed_and_a_spec_that_is_wrong_is_told(
    place: Place, spark: SparkSession
):
    by_day = ("path: data/rides", 'path: "data/{from:%d}"')
    place.write_spec(by_day)
    place.write_rides(RIDES[:2], name="01")
    place.write_rides(RIDES[2:], name="02")
    assert place.sash("run", *BOTH, "--every", "1d").code == 0
    part = place.home / "data" / "02" / "part-0.parquet"
    there = part.read_bytes()
    part.unlink()
    for words in (("replay", "late"), ("plan", "--replay", "late")):
        said = place.sash(*words)
        assert said.code == 2 and "source `main` has 2 rows of it in late_events, and no file" in said.err
    assert len(read_ledger(place.store, "rides")) == 2
    part.write_bytes(there)
    accumulate(place, spark, Request(batch=days(2, 3), ignore_lateness=True, replays="late"))
    part.unlink()
    said = place.sash("replay", "late")
    assert said.code == 2 and "or give the batch up, which is unfinished, with `sash abandon`" in said.err
    assert "`sash replay " in place.sash("status").out
    part.write_bytes(there)
    assert place.sash("replay", "late").code == 0
    assert [it.late for it in standing(read_ledger(place.store, "rides"))] == [0, 0]


@pytest.mark.slow
def test_a_replay_that_retention_has_overtaken_is_to_be_given_up(place: Place, spark: SparkSession):
    place.write_rides([*RIDES, ("Bern", 1.0, day(5, 12), day(5, 12))])
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-06", "--every", "1d").code == 0
    accumulate(place, spark, Request(batch=days(1, 2), ignore_lateness=True, replays="late"))
    place.write_spec(("schedule:", "retention: {frames: 1 day}\nschedule:"))
    said = place.sash("replay", "late")
    assert said.code == 4 and "give it up with `sash abandon`, then say this again" in said.err
    assert place.sash("abandon", *FIRST).code == 0
    assert place.sash("replay", "late").code == 0


@pytest.mark.slow
def test_a_batch_is_not_replayed_where_what_another_of_its_sources_counted_would_be_taken_back(
    place: Place, spark: SparkSession
):
    by_day = ("key: [city]", "sources: {east: {}, west: {path: 'data/west/{from:%d}'}}\nkey: [city]")
    east = ("path: data/rides", "path: 'data/east/{from:%d}'")
    place.write_spec(by_day, east)
    for source, rides in {"east": RIDES, "west": RIDES[1:4:2]}.items():
        for number in (1, 2):
            arrived = [it for it in rides if it[3] is not None and it[3].day == number]
            place.write_rides(arrived, name=f"{source}/0{number}")
    assert place.sash("run", *BOTH, "--every", "1d").code == 0
    part = place.home / "data" / "west" / "02" / "part-0.parquet"
    there = part.read_bytes()
    part.unlink()
    said = place.sash("replay", "late")
    assert said.code == 2 and "source `west` has 1 row of it in partial_frames, and no file" in said.err
    part.write_bytes(there)
    place.write_spec((by_day[0], by_day[1].replace(", west: {path: 'data/west/{from:%d}'}", "")), east)
    said = place.sash("replay", "late")
    assert said.code == 2 and "source `west` has 1 row" in said.err and "in the spec no more" in said.err
    # A name may change, also where the other source has no such rows.
    place.write_spec((by_day[0], by_day[1].replace("east: {", "right: {")), east)
    assert place.sash("plan", "--replay", "late").code == 0
    place.write_spec((by_day[0], by_day[1].replace("west: {", "left: {")), east)
    assert place.sash("replay", "late").code == 0
    rows = standing(read_ledger(place.store, "rides"))
    assert [(it.late, it.accepted) for it in rows] == [(0, 3), (0, 3)]


@pytest.mark.slow
def test_a_replay_under_a_spec_that_cannot_read_the_rows_leaves_with_2(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *BOTH, "--every", "1d").code == 0
    place.write_spec(("arrival_time: arrived", "arrival_time: arived"))
    said = place.sash("replay", "quarantine")
    assert said.code == 2 and "arived" in said.err


@pytest.mark.slow
def test_late_events_are_not_taken_in_where_other_rows_would_be_taken_back(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *BOTH, "--every", "1d").code == 0
    place.write_rides(RIDES[:3])
    refused = place.sash("replay", "late")
    assert refused.code == 2 and "has 1 row now, and had 3 when it last ran" in refused.err
    place.write_rides(RIDES)
    assert place.sash("replay", "late").code == 0
    rows = standing(read_ledger(place.store, "rides"))
    assert [(it.ingested, it.late) for it in rows] == [(2, 0), (3, 0)]
    # Whoever mends a file may take rows out of it; not the one that counted nowhere is missed.
    place.write_rides(RIDES[:3])
    told = place.sash("replay", "quarantine")
    assert told.code == 0 and "has 1 row now, and had 3" in told.err and "is taken back" in told.err


@pytest.mark.slow
@pytest.mark.parametrize("fewer", ["repetitions", "read otherwise"])
def test_late_events_are_taken_in_where_no_other_row_is_missed(place: Place, spark: SparkSession, fewer: str):
    arrived = "  arrival_time: arrived"
    place.write_spec((arrived, f"{arrived}\n  event_id: {{of: [fare]}}"))
    place.write_rides([*RIDES, *RIDES[3:4] * 2])
    assert place.sash("run", *BOTH, "--every", "1d").code == 0
    rows = standing(read_ledger(place.store, "rides"))
    assert [(it.late, it.duplicates) for it in rows] == [(0, 0), (1, 2)]
    if fewer == "repetitions":
        place.write_rides(RIDES)
    else:
        place.write_spec((arrived, f"{arrived}\n  event_id: {{of: [fare]}}\n  where: fare > 6"))
    said = place.sash("replay", "late")
    assert said.code == 0, said.err
    assert ("is not there any more, is taken back" in said.err) == (said.err != ""), said.err
    (_, replayed_one) = standing(read_ledger(place.store, "rides"))
    counted = {"repetitions": (3, 2, 1), "read otherwise": (1, 1, 0)}[fewer]
    assert (replayed_one.ingested, replayed_one.accepted, replayed_one.quarantined) == counted
    assert (replayed_one.late, replayed_one.duplicates) == (0, 0)
