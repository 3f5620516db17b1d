"""`sash plan` where a run was cut off, would stop, or cannot read what it should."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import to_us
from pipelines.store.reader import read_ledger
from tests.cli.conftest import Place, day, days
from tests.cli.test_plans import RIDES, at, bounds, files_of, rewritten, without_written_sizes

WITH_IDS = ("arrival_time: arrived", "arrival_time: arrived\n  event_id: {of: [fare]}")
CHECKED = ("schedule:", "expectations: expectations/few.yml\nschedule:")
FEW = """
panes:
  - expect_column_max_to_be_between: {column: rides, max_value: 1}
    on_failure: stop
"""


def expect_few(place: Place) -> None:
    place.write_spec(CHECKED)
    (place.home / "expectations").mkdir()
    (place.home / "expectations" / "few.yml").write_text(FEW)


def test_a_batch_whose_ids_are_asked_for_no_more_does_what_its_plan_told(place: Place, spark: SparkSession):
    place.write_spec(WITH_IDS)
    place.write_rides(RIDES)
    assert place.sash("run", *bounds(1, 2)).code == 0
    place.write_spec()
    planned = place.sash("plan", *bounds(1, 2), "--format", "json")
    assert (planned.code, planned.err) == (0, "")
    plan, files = json.loads(planned.out), files_of(place)
    assert (plan["kind"], plan["published"]) == ("same", [])
    assert place.sash("run", *bounds(1, 2)).code == 0
    told = {it["table"]: without_written_sizes(it) for it in plan["rewritten"]}
    assert told == rewritten(files, files_of(place)) and "event_ids" in told


def test_a_plan_that_a_check_would_stop_tells_what_is_done_until_then(place: Place, spark: SparkSession):
    expect_few(place)
    place.write_rides(RIDES)
    assert place.sash("run", *bounds(1, 2)).code == 0
    place.write_rides([*RIDES, ("Chur", 5.0, day(2, 1), day(2, 2))])
    planned = json.loads(place.sash("plan", *bounds(2, 3), "--format", "json").out)
    files = files_of(place)
    assert place.sash("run", *bounds(2, 3)).code == 3
    row = max(read_ledger(place.store, "rides"), key=lambda it: it.started_at_us or 0)
    assert row.watermark_before_us is not None and "expect_column_max" in planned["stopped"]
    assert (planned["watermark_before"], planned["watermark_after"]) == (at(row.watermark_before_us), None)
    told = {it["table"]: without_written_sizes(it) for it in planned["rewritten"]}
    assert told == rewritten(files, files_of(place)) and "frames" in told
    # Now it is there, and has not ended.
    assert json.loads(place.sash("plan", *bounds(2, 3), "--format", "json").out)["kind"] == "unfinished"
    assert place.sash("abandon", *bounds(2, 3)).code == 0


@pytest.mark.slow
def test_a_restatement_that_has_not_ended_is_told_as_unfinished(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *bounds(1, 2)).code == 0
    expect_few(place)
    place.write_rides([*RIDES, ("Bern", 11.0, day(1, 7, 31), day(1, 8))])
    assert place.sash("run", *bounds(1, 2)).code == 3
    planned = json.loads(place.sash("plan", *bounds(1, 2), "--format", "json").out)
    assert planned["kind"] == "unfinished"


@pytest.mark.slow
def test_the_same_batch_again_that_was_stopped_is_told_to_change_nothing(place: Place, spark: SparkSession):
    rides = [("Bern", 10.0, day(1, 7, 30), day(1, 8)), ("Bern", 20.0, day(2, 10), day(2, 11))]
    # What an older batch brings is ahead of all, and nothing to the same rows again.
    ahead = ("Bern", 12.0, day(2, 15), day(1, 23))
    for told, number in ((rides, 1), (rides, 2), ([*rides, ahead], 1)):
        place.write_rides(told)
        assert place.sash("run", *bounds(number, number + 1)).code == 0
    (place.home / "few.yml").write_text(
        "events:\n  - expect_column_max_to_be_between: {column: fare, max_value: 15}\n"
    )
    place.write_spec(("schedule:", "expectations: few.yml\nschedule:"))
    assert place.sash("run", *bounds(2, 3)).code == 3
    place.write_spec()
    planned = json.loads(place.sash("plan", *bounds(2, 3), "--format", "json").out)
    assert (planned["kind"], planned["published"]) == ("unfinished", [])
    assert planned["watermark_after"] == at(to_us(day(2, 10)))
    assert place.sash("run", *bounds(2, 3)).code == 0
    assert [(it.batch, it.revision) for it in read_ledger(place.store, "rides")] == [
        (days(1, 2), 0),
        (days(2, 3), 0),
        (days(1, 2), 1),
    ]


@pytest.mark.parametrize("command", ["plan", "run"])
def test_all_sources_that_cannot_be_read_are_told_at_once(place: Place, spark: SparkSession, command: str):
    place.write_spec(("key: [city]", "sources: {a: {path: nowhere/a}, b: {path: nowhere/b}}\nkey: [city]"))
    said = place.sash(command, *bounds(1, 2))
    assert said.code == 2 and said.err.startswith("sash: rides.yml has 2 problems:")
    assert "source `a`: there is no file" in said.err and "source `b`: there is no file" in said.err
