"""A window that is new, over frames of which the oldest have been let go."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from tests.cli.conftest import Place, Ride, day, place
from tests.walk.test_changed_spec import rows

__all__ = ["place"]

#  Jan 1  12:00   2  12:00   3  12:00   4  12:00   5  12:00   6  12:00
#         ride       ride       ride       ride       ride       ride
#  gone, as far as upkeep has come after the fifth day ┤ kept: whole days from the fourth on
RIDES: list[Ride] = [("Bern", float(number), day(number, 12), day(number, 13)) for number in range(1, 7)]
KEPT = ("schedule:", "retention: {frames: 36 hours}\nschedule:")
NEW = "  daily: {tumbling: 1 day}\n  wide: {sliding: 2 days, step: 1 day}\n"


@pytest.mark.slow
def test_it_is_published_from_the_first_one_on_whose_frames_are_all_there(place: Place, spark: SparkSession):
    place.write_spec(KEPT)
    place.write_rides(RIDES)
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-06", "--every", "1d").code == 0
    assert place.sash("maintain").code == 0
    # The watermark is noon of the fifth; 36 hours before it is the midnight that begins the fourth.
    assert sorted({it["frame_start"] for it in rows(place, "frames")}) == [day(4, 12), day(5, 12)]
    place.write_spec(KEPT, ("  hourly:", f"{NEW}  hourly:"))
    planned = place.sash("plan", "--format", "json")
    assert planned.code == 0, planned.err
    plan = json.loads(planned.out)
    said = place.sash("run", "--final", "--yes")
    assert said.code == 0, said.err
    for told in (*plan["warnings"], said.err):
        assert "told from 2024-01-04 00:00 on" in told and "`retention`" in told
    stand = [it for it in rows(place, "windows") if it["window"] in ("daily", "wide")]
    assert sorted((it["window"], it["window_start"], it["mean_fare"]) for it in stand) == [
        *[("daily", day(4), 4.0), ("daily", day(5), 5.0), ("daily", day(6), 6.0)],
        *[("wide", day(4), 4.5), ("wide", day(5), 5.5), ("wide", day(6), 6.0)],
    ]
    # What was published of the days that are gone stands as it did.
    hourly = [it for it in rows(place, "windows") if it["window"] == "hourly"]
    assert sorted(it["window_start"] for it in hourly) == [day(number, 12) for number in range(1, 7)]
