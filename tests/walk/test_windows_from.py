"""Windows that begin at an instant which the spec says."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cli.conftest import Place, Ride, day, place
from tests.generators import SECOND, Case
from tests.generators.aggregates import CATALOGUE
from tests.oracle import Batch, Event, Pipeline, Source, Walk, Window
from tests.walk import Stand, same_tables
from tests.walk.test_changed_spec import rows

__all__ = ["place"]

RIDES: list[Ride] = [("Bern", float(number), day(number, 12), day(number, 13)) for number in range(1, 5)]
LATE: Ride = ("Bern", 100.0, day(1, 12), day(4, 14))
LAST = ("--from", "2024-01-04", "--to", "2024-01-05", "--final", "--yes")
KEPT = ("schedule:", "retention: {frames: 36 hours}\nschedule:")
DAILY, WIDE, GROWN = "{tumbling: 1 day", "{sliding: 2 days, step: 1 day", "{cumulate: 1 day, step: 12 hours"
#   By change points, with starts before 1970, and with events between windows that are in none.
LATENESS = 60 * SECOND
BEGUN = (
    Window(name="many", size=100 * SECOND, step=5 * SECOND, lateness=LATENESS, begins=55 * SECOND),
    Window(name="older", size=50 * SECOND, step=10 * SECOND, offset=5 * SECOND, begins=-45 * SECOND),
    Window(name="gapped", size=10 * SECOND, step=30 * SECOND, lateness=LATENESS, begins=30 * SECOND),
)
PIPELINE = Pipeline(
    sources=(Source(max_disorder=10 * SECOND),),
    aggregates=tuple(it for it in CATALOGUE if it.name in ("rows", "mean", "least", "length", "latest")),
    windows=BEGUN,
)
CUTS = (-100, 60, 160, 300)


def events() -> list[Event]:
    """Rows of three keys, of which a third are late by up to three minutes."""
    chosen = random.Random(3)
    told = []
    for number in range(150):
        at = chosen.randrange(CUTS[0], CUTS[-1])
        arrives = min(at + (chosen.randrange(180) if chosen.random() < 0.3 else 0), CUTS[-1] - 1)
        values = {"number": chosen.randrange(-3, 4), "money": None, "real": chosen.randrange(-8, 9) / 4}
        times = {"event_us": at * SECOND, "arrival_us": arrives * SECOND}
        told.append(Event(id=number, key=(chosen.choice([None, "a", "b"]),), **times, values=values))
    return told


def windows(**told: str) -> tuple[str, str]:
    return ("  hourly:", "".join(f"  {name}: {shape}\n" for name, shape in told.items()) + "  hourly:")


def standing(place: Place, window: str) -> list[tuple[datetime, float]]:
    stand = [it for it in rows(place, "windows") if it["window"] == window]
    return sorted((it["window_start"], it["mean_fare"]) for it in stand)


@pytest.mark.slow
def test_new_ones_take_up_the_frames_from_there_on_and_nothing_is_late_for_those_before(
    place: Place, spark: SparkSession
) -> None:
    place.write_rides(RIDES[:3])
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-04", "--every", "1d").code == 0
    # Of the rides before the fourth day frames tell, and nothing else does any more.
    place.write_rides([RIDES[3], LATE])
    place.write_spec(
        windows(
            daily=f"{DAILY}, from: 2024-01-02}}",
            wide=f"{WIDE}, from: '2024-01-01T12:00'}}",
            grown=f"{GROWN}, from: 2024-01-03}}",
        )
    )
    assert "from 2024-01-02 00:00" in place.sash("explain").out
    planned = json.loads(place.sash("plan", *LAST[:-1], "--format", "json").out)
    assert place.sash("run", *LAST).code == 0
    assert standing(place, "daily") == [(day(2), 2.0), (day(3), 3.0), (day(4), 4.0)]
    assert standing(place, "wide") == [(day(2), 2.5), (day(3), 3.5), (day(4), 4.0)]
    assert standing(place, "grown") == [(day(3), 3.0), (day(4), 4.0)]
    # The late ride misses windows of those definitions alone that have some where it happened.
    assert sorted((it["window"], it["missed"], it["kept"]) for it in rows(place, "late_events")) == [
        ("hourly", 1, 0),
        ("rolling", 4, 0),
    ]
    published = {it["window"]: it["panes"] for it in planned["published"]}
    assert (published["daily"], published["wide"], published["grown"]) == (3, 3, 2)


@pytest.mark.slow
def test_those_of_an_old_name_that_lie_before_are_taken_back(place: Place, spark: SparkSession) -> None:
    place.write_rides(RIDES)
    place.write_spec(windows(daily=f"{DAILY}}}"))
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-04", "--every", "1d").code == 0
    assert standing(place, "daily") == [(day(1), 1.0), (day(2), 2.0)]
    place.write_spec(windows(daily=f"{DAILY}, from: 2024-01-02}}"))
    assert place.sash("run", *LAST).code == 0
    assert standing(place, "daily") == [(day(2), 2.0), (day(3), 3.0), (day(4), 4.0)]
    taken = [it for it in rows(place, "panes") if it["window"] == "daily" and it["window_start"] == day(1)]
    assert sorted(it["kind"] for it in taken) == ["insert", "retract"]


@pytest.mark.slow
def test_those_before_are_taken_back_although_their_frames_are_gone(
    place: Place, spark: SparkSession
) -> None:
    place.write_rides([("Bern", float(number), day(number, 12), day(number, 13)) for number in range(1, 7)])
    place.write_spec(KEPT, windows(daily=f"{DAILY}}}"))
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-06", "--every", "1d").code == 0
    assert place.sash("maintain").code == 0
    assert min(it["frame_start"] for it in rows(place, "frames")) == day(4, 12)
    place.write_spec(KEPT, windows(daily=f"{DAILY}, from: 2024-01-05}}"))
    said = place.sash("run", "--final", "--yes")
    assert said.code == 0 and "told from" not in said.err
    assert standing(place, "daily") == [(day(5), 5.0), (day(6), 6.0)]


@pytest.mark.slow
def test_the_walk_equals_the_oracle_wherever_windows_begin(spark: SparkSession, tmp_path: Path) -> None:
    listed = [Batch(start=a * SECOND, end=b * SECOND) for a, b in pairwise(CUTS)]
    batches = [*listed[:-1], replace(listed[-1], final=True)]
    case = Case(pipeline=PIPELINE, devices=False, events=events(), batches=batches)
    stand, walk = Stand(spark, tmp_path, case), Walk(pipeline=PIPELINE)
    corrected = [replace(it, key=("b",)) if it.id % 4 == 0 else it for it in case.events if it.id % 9 != 0]
    for batch, its in (*((it, case.events) for it in batches[:2]), *((it, corrected) for it in batches)):
        stand.feed(its)
        stand.run(batch)
        walk.run(batch, its)
        same_tables(stand, walk)
    starts = {
        name: min(it["window_start"] for it in stand.rows("windows") if it["window"] == name)
        for name in ("many", "older", "gapped")
    }
    assert starts == {"many": 55 * SECOND, "older": -45 * SECOND, "gapped": 30 * SECOND}
    assert walk.ledger[1].fates.losses
