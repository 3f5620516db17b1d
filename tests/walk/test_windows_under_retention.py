"""A window that is new, over frames of which the oldest have been let go."""

from __future__ import annotations

from datetime import datetime

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


SPARED = ("schedule:", "retention: {frames: 30 days}\nschedule:")
LAST = ("run", "--final", "--yes")


@pytest.fixture
def kept(place: Place) -> Place:
    """A pipeline of five days, of which upkeep has let go all but the last two."""
    place.write_spec(KEPT)
    place.write_rides(RIDES)
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-06", "--every", "1d").code == 0
    assert place.sash("maintain").code == 0
    # The watermark is noon of the fifth; 36 hours before it is the midnight that begins the fourth.
    assert sorted({it["frame_start"] for it in rows(place, "frames")}) == [day(4, 12), day(5, 12)]
    return place


def standing(place: Place, *windows: str) -> list[tuple[str, datetime, float]]:
    stand = [it for it in rows(place, "windows") if it["window"] in windows]
    return sorted((it["window"], it["window_start"], it["mean_fare"]) for it in stand)


@pytest.mark.slow
def test_it_is_refused_until_it_says_from_when_on_it_is_told(kept: Place, spark: SparkSession):
    kept.write_spec(KEPT, ("  hourly:", f"{NEW}  hourly:"))
    before = rows(kept, "panes")
    for command in (("plan",), LAST):
        said = kept.sash(*command)
        assert said.code == 2
        assert "line 12: window `daily` is new, and asks for frames before 2024-01-04 00:00" in said.err
        assert (
            "window `wide` is new" in said.err and "Say `from: 2024-01-04 00:00` or later in it" in said.err
        )
    assert rows(kept, "panes") == before
    told = NEW.replace("}", ", from: 2024-01-04 00:00}")
    kept.write_spec(KEPT, ("  hourly:", f"{told}  hourly:"))
    said = kept.sash(*LAST)
    assert said.code == 0, said.err
    assert standing(kept, "daily", "wide") == [
        *[("daily", day(4), 4.0), ("daily", day(5), 5.0), ("daily", day(6), 6.0)],
        *[("wide", day(4), 4.5), ("wide", day(5), 5.5), ("wide", day(6), 6.0)],
    ]
    # What was published of the days that are gone stands as it did.
    assert [it for _, it, _ in standing(kept, "hourly")] == [day(number, 12) for number in range(1, 7)]


@pytest.mark.slow
def test_one_of_another_length_that_has_lost_frames_is_to_have_another_name(kept: Place, spark: SparkSession):
    kept.write_spec(KEPT, ("hourly: {tumbling: 1 hour", "hourly: {tumbling: 2 hours"))
    said = kept.sash(*LAST)
    assert said.code == 2
    assert "window `hourly` is new under a name that was there before, and asks" in said.err
    assert "Call it otherwise, or all that was published under that name before is taken back" in said.err


@pytest.mark.slow
def test_a_history_that_begins_in_the_first_window_is_told_whole(place: Place, spark: SparkSession):
    place.write_spec(KEPT)
    place.write_rides(RIDES[3:])
    assert place.sash("run", "--from", "2024-01-04", "--to", "2024-01-06", "--every", "1d").code == 0
    place.write_spec(KEPT, ("  hourly:", f"{NEW}  hourly:"))
    said = place.sash(*LAST)
    assert said.code == 0, said.err
    # It keeps what is of the fourth, and after: the first of these windows begins on the third.
    assert standing(place, "wide") == [
        ("wide", day(3), 4.0),
        ("wide", day(4), 4.5),
        ("wide", day(5), 5.5),
        ("wide", day(6), 6.0),
    ]


@pytest.mark.slow
def test_it_is_told_whole_where_upkeep_had_nothing_to_let_go(place: Place, spark: SparkSession):
    place.write_spec(SPARED)
    place.write_rides(RIDES)
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-06", "--every", "1d").code == 0
    assert place.sash("maintain").code == 0
    place.write_spec(SPARED, ("  hourly:", f"{NEW}  hourly:"))
    said = place.sash(*LAST)
    assert said.code == 0, said.err
    assert standing(place, "daily") == [("daily", day(number), float(number)) for number in range(1, 7)]
