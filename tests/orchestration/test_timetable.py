"""Which batch is scheduled next, as truth tables: starts of batches by day of January 2013."""

from __future__ import annotations

from datetime import UTC, datetime

import pendulum
import pytest
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction

from pipelines.intervals import to_us
from pipelines.orchestration.timetable import BatchTimetable

DAY_US = 86_400_000_000


def day(number: int) -> pendulum.DateTime:
    return pendulum.datetime(2013, 1, 1).add(days=number - 1)


def day_us(number: int) -> int:
    return to_us(datetime(2013, 1, 1, tzinfo=UTC)) + (number - 1) * DAY_US


def weeks(*, until: int | None = None) -> BatchTimetable:
    """Weeks from Tuesday the 1st; those of Airflow begin on Thursdays, as 1970 did."""
    until_us = None if until is None else day_us(until)
    return BatchTimetable(start_us=day_us(1), length_us=7 * DAY_US, until_us=until_us)


def days_of(found: DagRunInfo | None) -> tuple[pendulum.DateTime, pendulum.DateTime] | None:
    return None if found is None else (found.data_interval.start, found.data_interval.end)


@pytest.mark.parametrize(
    ("last", "earliest", "latest", "following"),
    [
        (None, None, None, (1, 8)),
        ((1, 8), None, None, (8, 15)),
        # Airflow's own weeks, from before the grid was ours, or another length: one that leads to the grid.
        ((3, 10), None, None, (10, 15)),
        ((8, 9), None, None, (9, 15)),
        ((1, 31), None, None, (31, 36)),
        # A backfill from one day to another takes the batches that begin between.
        (None, 3, 25, (8, 15)),
        ((15, 22), 3, 25, (22, 29)),
        ((22, 29), 3, 25, None),
        (None, 8, 8, (8, 15)),
        (None, -20, None, (1, 8)),
    ],
)
def test_the_batch_after_the_last(
    last: tuple[int, int] | None,
    earliest: int | None,
    latest: int | None,
    following: tuple[int, int] | None,
) -> None:
    found = weeks().next_dagrun_info(
        last_automated_data_interval=None if last is None else DataInterval(day(last[0]), day(last[1])),
        restriction=TimeRestriction(
            None if earliest is None else day(earliest), None if latest is None else day(latest), catchup=True
        ),
    )
    assert days_of(found) == (None if following is None else (day(following[0]), day(following[1])))


def test_without_catching_up_it_is_the_newest_that_has_ended() -> None:
    found = weeks().next_dagrun_info(
        last_automated_data_interval=DataInterval(day(1), day(8)),
        restriction=TimeRestriction(None, None, catchup=False),
    )
    assert found is not None
    start, end = found.data_interval
    now = datetime.now(UTC)
    assert end <= now < end.add(days=7)
    assert (start - day(1)).total_days() % 7 == 0


@pytest.mark.parametrize(("after", "is_there"), [(22, True), (29, True), (36, False)])
def test_after_its_end_no_batch_begins(after: int, is_there: bool) -> None:
    found = weeks(until=29).next_dagrun_info(
        last_automated_data_interval=DataInterval(day(after - 7), day(after)),
        restriction=TimeRestriction(None, None, catchup=True),
    )
    assert (found is not None) is is_there


def test_it_is_kept_and_found_again_whole() -> None:
    kept = weeks(until=29)
    assert BatchTimetable.deserialize(kept.serialize()).serialize() == kept.serialize()
    assert (kept.summary, kept.description) == ("every 7 days", "a batch every 7 days, from 2013-01-01 00:00")


def test_a_run_by_hand_is_shown_with_the_newest_batch_that_had_ended() -> None:
    assert weeks().infer_manual_data_interval(run_after=day(17)) == DataInterval(day(8), day(15))


def test_a_run_by_hand_at_the_date_of_a_batch_is_for_it_and_the_schedule_goes_on_after_it() -> None:
    its = weeks().infer_manual_data_interval(run_after=day(15))
    assert its == DataInterval(day(15), day(22))
    # Airflow finds a run for that date, and asks for the one after it.
    after = weeks().next_dagrun_info(
        last_automated_data_interval=its, restriction=TimeRestriction(None, None, catchup=True)
    )
    assert after is not None
    assert after.data_interval == DataInterval(day(22), day(29))
