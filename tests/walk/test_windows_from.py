"""Windows that begin at an instant which the spec says."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from pyspark.sql import SparkSession

from tests.cli.conftest import Place, Ride, day, place
from tests.walk.test_changed_spec import rows

__all__ = ["place"]

RIDES: list[Ride] = [("Bern", float(number), day(number, 12), day(number, 13)) for number in range(1, 5)]
LATE: Ride = ("Bern", 100.0, day(1, 12), day(4, 14))
LAST = ("--from", "2024-01-04", "--to", "2024-01-05", "--final", "--yes")
DAILY, WIDE, GROWN = "{tumbling: 1 day", "{sliding: 2 days, step: 1 day", "{cumulate: 1 day, step: 12 hours"


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
