"""Batches that reach back, with what they bring, to frames that retention has let go."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.cli.conftest import Place, Ride, day, place
from tests.walk.test_changed_spec import rows
from tests.walk.test_windows_under_retention import KEPT, RIDES

__all__ = ["place"]

#  Jan 3  22:00   4          12:00          5  12:00
#         Chur, which arrives in the fourth's batch
#  gone ──────────┤ kept
EDGE: Ride = ("Chur", 7.0, day(3, 22), day(4, 1))
FOURTH = ("run", "--from", "2024-01-04", "--to", "2024-01-05")


@pytest.fixture
def kept(place: Place, spark: SparkSession) -> Place:
    """A pipeline of five days, of which upkeep has let go all but the last two."""
    place.write_spec(KEPT)
    place.write_rides([*RIDES, EDGE])
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-06", "--every", "1d").code == 0
    assert place.sash("maintain").code == 0
    assert first_frame(place) == day(4, 12)
    return place


def first_frame(there: Place) -> object:
    return min(it["frame_start"] for it in rows(there, "frames"))


def hourly(there: Place) -> dict[tuple[object, object], int]:
    found = [it for it in rows(there, "windows") if it["window"] == "hourly"]
    return {(it["city"], it["window_start"]): it["rides"] for it in found}


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    [[*RIDES, EDGE, ("Bern", 9.0, day(3, 23), day(4, 1))], [*RIDES, (*EDGE[:1], 8.0, *EDGE[2:])], RIDES],
)
def test_one_that_changes_what_is_gone_is_refused_and_changes_nothing(kept: Place, changed: list[Ride]):
    before = {table: rows(kept, table) for table in ("runs", "panes", "windows", "frames", "partial_frames")}
    kept.write_rides([*changed, ("Bern", 9.0, day(4, 2), day(4, 4))])
    for command in ("run", "plan"):
        said = kept.sash(command, *FOURTH[1:])
        assert said.code == 4
        assert "would change what happened before 2024-01-04 00:00" in said.err
    assert {table: rows(kept, table) for table in before} == before
    # No batch waits for it.
    assert kept.sash("run").code == 0


@pytest.mark.slow
def test_one_that_changes_what_is_kept_corrects_that_and_brings_nothing_back(kept: Place):
    kept.write_rides([*RIDES, EDGE, ("Bern", 9.0, day(4, 12), day(4, 13))])
    said = kept.sash(*FOURTH)
    assert said.code == 0, said.err
    assert hourly(kept)["Bern", day(4, 12)] == 2
    assert hourly(kept)["Chur", day(3, 22)] == 1
    assert first_frame(kept) == day(4, 12)


@pytest.mark.slow
def test_what_is_too_late_for_what_is_kept_stays_late_where_lateness_is_ignored(kept: Place):
    late: list[Ride] = [("Bern", 9.0, day(number, 9), day(6, 1)) for number in (1, 4)]
    kept.write_rides([*RIDES, EDGE, *late])
    said = kept.sash("run", "--ignore-lateness")
    assert said.code == 0, said.err
    assert hourly(kept)["Bern", day(4, 9)] == 1
    assert ("Bern", day(1, 9)) not in hourly(kept)

    def lost() -> list[tuple[object, ...]]:
        found = [(it["window"], it["missed"], it["kept"], it["at"]) for it in rows(kept, "late_events")]
        return sorted(found)

    assert lost() == [("hourly", 1, 0, day(1, 9)), ("rolling", 4, 0, day(1, 9))]
    said = kept.sash("replay", "late")
    assert said.code == 0, said.err
    assert lost() == [("hourly", 1, 0, day(1, 9)), ("rolling", 4, 0, day(1, 9))]


@pytest.mark.slow
def test_one_that_never_ran_and_is_refused_for_its_sessions_leaves_no_frames(
    place: Place, spark: SparkSession
):
    place.write_spec(
        ("schedule:", "  visits: {session: 1 hour}\nretention: {frames: 2145 minutes}\nschedule:")
    )
    #  Kept is what ends after 00:15 of the fourth: the frame does, and a session may have ended before.
    place.write_rides([*RIDES, ("Chur", 7.0, day(4, 0, 5), day(4, 1))])
    for start, end in (("2024-01-01", "2024-01-04"), ("2024-01-05", "2024-01-06")):
        assert place.sash("run", "--from", start, "--to", end, "--every", "1d").code == 0
    before = {table: rows(place, table) for table in ("runs", "frames", "partial_frames", "partial_sessions")}
    said = place.sash(*FOURTH)
    assert said.code == 4
    assert "would change what happened before 2024-01-04 00:15" in said.err
    assert {table: rows(place, table) for table in before} == before
