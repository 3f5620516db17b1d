"""Batches that reach back, with what they bring, to frames that retention has let go."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.cli.conftest import Place, Ride, day, place
from tests.walk.test_changed_spec import rows
from tests.walk.test_windows_under_retention import KEPT, RIDES, standing

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
    [
        [*RIDES, EDGE, ("Bern", 9.0, day(3, 23), day(4, 1))],
        [*RIDES, (*EDGE[:1], 8.0, *EDGE[2:])],
        RIDES,
        [*RIDES, EDGE],
    ],
    ids=["one more", "another", "none", "the same"],
)
def test_a_restatement_corrects_what_is_kept_brings_nothing_back_and_says_what_it_leaves(
    kept: Place, changed: list[Ride]
):
    before = hourly(kept)
    kept.write_rides([*changed, ("Bern", 9.0, day(4, 12), day(4, 13))])
    told = "changes windows that begin before 2024-01-04 00:00, of which `retention` lets frames"
    for command in ("plan", "run"):
        said = kept.sash(command, *FOURTH[1:])
        assert said.code == 0, said.err
        assert (told in said.out + said.err) == (EDGE not in changed or len(changed) > 7)
    assert hourly(kept) == {**before, ("Bern", day(4, 12)): 2}
    assert first_frame(kept) == day(4, 12)
    again = kept.sash(*FOURTH)
    assert again.code == 0 and told not in again.out + again.err


@pytest.mark.slow
def test_what_lateness_ignored_brings_of_what_is_gone_is_told(kept: Place):
    late: list[Ride] = [("Bern", 9.0, day(number, 9), day(6, 1)) for number in (1, 4)]
    kept.write_rides([*RIDES, EDGE, *late])
    said = kept.sash("run", "--ignore-lateness")
    assert said.code == 0, said.err
    assert "changes windows that begin before 2024-01-04 00:00" in said.err
    assert hourly(kept)["Bern", day(4, 9)] == 1
    assert ("Bern", day(1, 9)) not in hourly(kept)


@pytest.mark.slow
def test_a_batch_that_never_ran_and_reaches_back_to_what_is_gone_brings_what_is_kept(
    place: Place, spark: SparkSession
):
    place.write_spec(("schedule:", "  visits: {session: 1 hour}\nretention: {frames: 36 hours}\nschedule:"))
    place.write_rides([*RIDES, EDGE, ("Chur", 3.0, day(4, 0, 5), day(4, 1))])
    for start, end in (("2024-01-01", "2024-01-04"), ("2024-01-05", "2024-01-06")):
        assert place.sash("run", "--from", start, "--to", end, "--every", "1d").code == 0
    assert place.sash("maintain").code == 0
    said = place.sash(*FOURTH)
    assert said.code == 0 and "changes windows that begin before 2024-01-04 00:00" in said.err
    chur = [(it["window"], it["window_start"]) for it in rows(place, "windows") if it["city"] == "Chur"]
    assert sorted(chur) == [("hourly", day(4)), ("rolling", day(4)), ("visits", day(4, 0, 5))]


#  Mon Jan 1                                            Mon 8   Tue 9  12:00
#  weekly ──────────────────────────────────────────────┤ due      Bern
WEEKLY = ("  hourly:", "  weekly: {tumbling: 7 days, offset: 4 days}\n  hourly:")


@pytest.mark.slow
@pytest.mark.parametrize(
    "edited",
    [[KEPT], [KEPT, (WEEKLY[0], WEEKLY[1].replace("7 days", "1 day"))]],
    ids=["without the window", "of another size"],
)
def test_upkeep_under_windows_that_no_batch_has_run_with_lets_nothing_go_that_others_wait_for(
    place: Place, spark: SparkSession, edited: list[tuple[str, str]]
):
    place.write_spec(KEPT, WEEKLY)
    place.write_rides([*RIDES, ("Bern", 9.0, day(9, 12), day(9, 13))])
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-06", "--every", "1d").code == 0
    place.write_spec(*edited)
    said = place.sash("maintain")
    assert said.code == 0 and "warning: frames, sessions and ids of rides all stay" in said.err
    assert first_frame(place) == day(1, 12)
    place.write_spec(KEPT, WEEKLY)
    assert place.sash("maintain").err == ""
    assert place.sash("run", "--from", "2024-01-06", "--to", "2024-01-10", "--every", "1d").code == 0
    assert standing(place, "weekly") == [("weekly", day(1), 3.5)]
    # Once a batch has run without it, nothing waits any more.
    place.write_spec(KEPT)
    assert place.sash("run", "--from", "2024-01-10", "--to", "2024-01-11").code == 0
    said = place.sash("maintain")
    assert (said.code, said.err) == (0, "") and first_frame(place) > day(1, 12)
