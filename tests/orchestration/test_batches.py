"""Which batch a run is for: the params say, else the data interval, else the ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from airflow.sdk import DAG, CronDataIntervalTimetable, DeltaDataIntervalTimetable

from pipelines.errors import CorrectTheCall
from pipelines.intervals import Interval, to_us
from pipelines.orchestration.batches import (
    Bounds,
    batch_of,
    bounds_of,
    data_interval,
    hand_on,
    is_beside,
    taken,
)
from pipelines.orchestration.choosing import intervals_at, refuse_nowhere
from pipelines.orchestration.given_up import is_given_up
from pipelines.orchestration.params import Wishes
from pipelines.orchestration.timetable import BatchTimetable
from pipelines.spec import Pipeline, load
from pipelines.store.attempts import Attempt
from pipelines.store.ledger_rows import LedgerRow, Status

DAY_US = 86_400_000_000
WEEK_US = 7 * DAY_US


def day(number: int) -> datetime:
    return datetime(2013, 1, number, tzinfo=UTC)


def days(first: int, last: int) -> Interval:
    """From the beginning of one day of January 2013 to that of another."""
    return Interval(to_us(day(first)), to_us(day(last)))


@pytest.fixture
def pipeline(spec: Path) -> Pipeline:
    return load(spec)


def test_params_win_over_the_data_interval() -> None:
    wishes = Wishes(batch=days(1, 3))
    assert batch_of(wishes, days(5, 6), following=lambda: days(8, 9)) == days(1, 3)


def test_the_data_interval_wins_over_the_ledger() -> None:
    assert batch_of(Wishes(), days(5, 6), following=lambda: days(8, 9)) == days(5, 6)


def test_with_neither_it_is_the_next_by_the_ledger() -> None:
    assert batch_of(Wishes(), None, following=lambda: days(8, 9)) == days(8, 9)


@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_scheduled_and_backfilled_runs_have_a_data_interval(run_type: str) -> None:
    assert data_interval(run_type, day(1), end=day(2)) == days(1, 2)


@pytest.mark.parametrize("run_type", ["manual", "asset_triggered", "operator_triggered"])
def test_a_run_that_was_triggered_has_none_whatever_airflow_says(run_type: str) -> None:
    assert data_interval(run_type, day(1), end=day(2)) is None


def test_the_kinds_of_runs_are_spelled_as_airflow_spells_them() -> None:
    from airflow.utils.types import DagRunType

    assert data_interval(DagRunType.SCHEDULED, day(1), end=day(2)) == days(1, 2)
    assert data_interval(DagRunType.BACKFILL_JOB, day(1), end=day(2)) == days(1, 2)
    assert data_interval(DagRunType.MANUAL, day(1), end=day(2)) is None
    # Its date is a moment after the batch has ended; or somebody gave it the date of the batch.
    assert data_interval(DagRunType.MANUAL, day(1), end=day(2), date=day(3)) is None
    assert data_interval(DagRunType.MANUAL, day(1), end=day(2), date=day(1)) == days(1, 2)


def test_a_run_that_was_triggered_has_the_interval_that_somebody_said() -> None:
    weekly = BatchTimetable(start_us=to_us(day(1)), length_us=WEEK_US)
    made = intervals_at([day(24), day(25), None], timetable=weekly)
    assert made == {(day(15), day(22))}
    assert data_interval("manual", day(15), end=day(22), date=day(24), made=made) is None
    assert data_interval("manual", day(8), end=day(15), date=day(24), made=made) == days(8, 15)
    assert data_interval("manual", day(1), end=day(20), date=day(24), made=made) == days(1, 20)
    unknown = intervals_at([day(24)], timetable=object())
    assert data_interval("manual", day(8), end=day(15), date=day(24), made=unknown) is None


@pytest.mark.parametrize(
    ("schedule", "made"),
    [
        (CronDataIntervalTimetable("0 0 * * *", timezone="UTC"), {(day(23), day(24))}),
        (DeltaDataIntervalTimetable(timedelta(days=1)), {(day(23), day(24))}),
        (DAG("any", schedule="@daily").timetable, {(day(24), day(24))}),
        (DAG("any", schedule=None).timetable, {(day(24), day(24))}),
    ],
    ids=["cron intervals", "lengths", "cron", "none"],
)
def test_an_interval_is_somebody_s_own_also_where_the_schedule_is_airflow_s(
    schedule: object, made: set[Bounds]
) -> None:
    assert intervals_at([day(24)], timetable=schedule) == made
    for start, end in made:
        assert data_interval("manual", start, end=end, date=day(24), made=made) is None
    assert data_interval("manual", day(8), end=day(15), date=day(24), made=made) == days(8, 15)


def test_the_empty_interval_of_a_cron_trigger_is_none() -> None:
    assert data_interval("scheduled", day(1), end=day(1)) is None
    assert data_interval("scheduled", None, end=None) is None


def test_a_backfill_of_dates_that_says_no_batch_is_refused() -> None:
    refuse_nowhere(days(1, 2))
    with pytest.raises(CorrectTheCall, match="Give the DAG a CronDataIntervalTimetable"):
        refuse_nowhere(None)


def test_a_new_batch_is_beside_an_earlier_run_that_fills_in_what_is_older_than_the_newest() -> None:
    assert is_beside(days(20, 21), day(5), newest=days(19, 20))
    # Its turn is still to come, or it is the newest again, or the batch itself is an older one.
    assert not is_beside(days(20, 21), day(20), newest=days(19, 20))
    assert not is_beside(days(20, 21), day(20), newest=days(18, 19))
    assert not is_beside(days(6, 7), day(5), newest=days(19, 20))
    assert not is_beside(days(20, 21), None, newest=days(19, 20))


@pytest.mark.parametrize(
    "wishes", [Wishes(), Wishes(watermark_us=-1, final=True), Wishes(watermark_us=1_000_001, replace=True)]
)
def test_what_is_handed_on_is_what_is_taken_to_the_microsecond(wishes: Wishes) -> None:
    batch = Interval(-1, 1_357_000_000_000_001)
    assert taken(hand_on(batch, wishes)) == (batch, replace(wishes, batch=batch))


@pytest.mark.parametrize(
    ("status", "started_us", "since", "expected"),
    [
        ("running", 5, None, False),
        ("failed", 5, None, False),
        ("published", 5, None, False),
        ("abandoned", 5, None, True),
        # Somebody else has begun it anew: another run, or `sash run`.
        ("running", 6, (8, "open"), True),
        ("failed", 6, (8, None), True),
        # A task of this run has: it had ended without a change.
        ("running", 6, (8, "accumulate"), False),
        ("running", 6, (7, "open"), False),
        # Another batch has begun since it was published.
        ("published", 6, None, True),
    ],
)
def test_a_batch_is_given_up_where_the_ledger_says_so_or_somebody_else_has_begun_it(
    status: Status, started_us: int, since: tuple[int, str | None] | None, *, expected: bool
) -> None:
    opened = {**bounds_of(days(1, 2)), "revision": 0, "attempt": 7, "started_us": 5}
    row = LedgerRow(
        batch=days(1, 2), revision=0, status=status, spec_fingerprint="f", started_at_us=started_us
    )
    begun = []
    if since is not None:
        one = Attempt.begun(days(1, 2), 0, stage=since[1], source=None, at_us=1)
        begun.append(replace(one, attempt=since[0]))
    assert is_given_up(opened, [row], begun=begun) == expected
    assert not is_given_up(opened, [replace(row, revision=1), replace(row, batch=days(2, 3))], begun=begun)
    without = {name: it for name, it in opened.items() if name != "started_us"}
    assert is_given_up(without, [row], begun=begun) == (status == "abandoned")
