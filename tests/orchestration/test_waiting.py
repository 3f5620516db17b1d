"""What a batch waits for, what it does not wait for, and when it gives up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.errors import CorrectTheCall, WaitForTheBatch
from pipelines.intervals import LATEST_US, Interval, to_us
from pipelines.orchestration.choosing import following, refuse_early, refuse_unended
from pipelines.orchestration.params import Wishes
from pipelines.orchestration.waiting import PATIENCE, obstacle
from pipelines.store.ledger_rows import LedgerRow, Status
from tests.store.test_ledger_rows import PIPELINE

MINE, OTHER = Interval(10, 20), Interval(0, 10)
NOT_YET, TOO_LONG = PATIENCE, PATIENCE + timedelta(microseconds=1)


def row(batch: Interval, status: Status) -> LedgerRow:
    return LedgerRow(batch=batch, revision=0, status=status, spec_fingerprint="x")


def test_nothing_in_the_way_is_nothing_to_wait_for() -> None:
    assert obstacle(MINE, None, earlier=None, waited=timedelta()) is None


def test_an_earlier_run_of_the_schedule_goes_first() -> None:
    found = obstacle(MINE, None, earlier="scheduled__2013-01-01", waited=TOO_LONG)
    assert found is not None
    assert "scheduled__2013-01-01" in found


@pytest.mark.parametrize("status", ["running", "stopped", "failed"])
def test_an_attempt_at_the_same_batch_is_taken_over_even_if_an_earlier_run_waits_for_it(
    status: Status,
) -> None:
    assert obstacle(MINE, row(MINE, status), earlier="scheduled__2013-01-01", waited=TOO_LONG) is None


@pytest.mark.parametrize("status", ["stopped", "failed"])
def test_a_batch_of_a_run_that_was_waited_for_is_left_to_its_next_tries(status: Status) -> None:
    found = obstacle(OTHER, row(OTHER, status), earlier=None, waited=NOT_YET, of_another=True)
    assert found is not None
    assert status in found
    assert obstacle(OTHER, row(OTHER, status), earlier=None, waited=TOO_LONG, of_another=True) is None


def test_a_next_batch_that_was_begun_is_gone_on_with_before_its_end() -> None:
    goes_on = Interval(0, LATEST_US)
    assert following([row(goes_on, "failed")], PIPELINE) == goes_on
    with pytest.raises(CorrectTheCall, match="has not ended yet"):
        following([row(Interval(0, to_us(datetime.now(UTC))), "published")], PIPELINE)


@pytest.mark.parametrize("status", ["running", "stopped", "failed"])
def test_another_unfinished_batch_is_waited_for_and_named(status: Status) -> None:
    found = obstacle(MINE, row(OTHER, status), earlier=None, waited=NOT_YET)
    assert found is not None
    assert str(OTHER) in found
    assert status in found


def test_what_seems_to_be_at_work_for_long_is_told_with_what_to_do() -> None:
    found = obstacle(MINE, row(OTHER, "running"), earlier=None, waited=TOO_LONG)
    assert found is not None
    assert "since 15 minutes; if nobody is at it, `sash abandon` it" in found


def test_a_batch_that_failed_is_waited_for_while_an_earlier_run_is_at_work() -> None:
    assert obstacle(MINE, row(OTHER, "failed"), earlier="scheduled__2013-01-01", waited=TOO_LONG) is not None


def test_a_next_batch_that_goes_on_is_refused() -> None:
    refuse_unended(Interval(0, 10))
    with pytest.raises(CorrectTheCall, match="has not ended yet"):
        refuse_unended(Interval(0, LATEST_US))


def test_a_run_that_was_triggered_with_the_date_of_a_batch_is_refused_before_its_end() -> None:
    goes_on = Interval(0, LATEST_US)
    with pytest.raises(CorrectTheCall, match="has not ended yet"):
        refuse_early(goes_on, Wishes(), run_type="manual")
    refuse_early(goes_on, Wishes(batch=goes_on), run_type="manual")
    refuse_early(goes_on, Wishes(), run_type="scheduled")


def test_a_batch_at_work_is_waited_for_as_long_as_it_takes() -> None:
    assert obstacle(MINE, row(OTHER, "running"), earlier=None, waited=TOO_LONG) is not None


@pytest.mark.parametrize("status", ["stopped", "failed"])
def test_a_batch_that_needs_a_person_is_given_up_on_with_what_to_do(status: Status) -> None:
    with pytest.raises(WaitForTheBatch) as refused:
        obstacle(MINE, row(OTHER, status), earlier=None, waited=TOO_LONG)
    for says in (str(MINE), str(OTHER), status, "15 minutes", "sash abandon"):
        assert says in str(refused.value)
