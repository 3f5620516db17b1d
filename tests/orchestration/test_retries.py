"""Airflow's own retry policy, asked about every kind of error."""

from __future__ import annotations

from datetime import timedelta

import pytest
from airflow.sdk import ExceptionRetryPolicy, RetryAction
from airflow.sdk.definitions.retry_policy import RetryDecision

from pipelines import errors
from pipelines.orchestration.retries import RETRIES, choosing_policy, stage_defaults, stage_policy

NEVER = [
    errors.CorrectTheSpec("visits.yml", ("line 1",)),
    errors.CorrectTheCall("no"),
    errors.LookAtTheData("no"),
    errors.ChooseAnotherBatch("no"),
]
LATER = [errors.RunAgain("later"), errors.WaitForTheBatch("later")]


def decide(policy: ExceptionRetryPolicy, error: BaseException) -> RetryDecision:
    return policy.evaluate(error, try_number=1, max_tries=RETRIES)


@pytest.mark.parametrize("error", NEVER, ids=lambda it: type(it).__name__)
def test_what_only_a_person_can_put_right_fails_at_once(error: errors.SashError) -> None:
    for policy in (stage_policy(), choosing_policy()):
        assert decide(policy, error).action is RetryAction.FAIL


@pytest.mark.parametrize("error", LATER, ids=lambda it: type(it).__name__)
def test_what_passes_is_tried_again_after_a_while(error: errors.SashError) -> None:
    decision = decide(stage_policy(), error)
    assert decision.action is RetryAction.RETRY
    assert decision.retry_delay is not None
    assert decision.retry_delay >= timedelta(seconds=10)


def test_the_task_that_has_waited_does_not_wait_again() -> None:
    assert decide(choosing_policy(), errors.WaitForTheBatch("no")).action is RetryAction.FAIL
    assert decide(choosing_policy(), errors.RunAgain("later")).action is RetryAction.RETRY


def test_a_conflict_of_delta_and_anything_unknown_is_tried_again_a_few_times_with_a_delay() -> None:
    from delta.exceptions import ConcurrentAppendException

    for error in (ConcurrentAppendException("conflict"), OSError("disk")):
        assert decide(stage_policy(), error).action is RetryAction.DEFAULT
    defaults = stage_defaults()
    assert defaults["retries"] == 3
    assert defaults["retry_delay"] == timedelta(seconds=30)


def test_every_error_of_ours_has_a_rule() -> None:
    ruled = [error for rule in stage_policy().rules for error in [rule.exception]]
    assert set(ruled) == set(errors.SashError.__subclasses__())


def test_no_task_runs_for_ever() -> None:
    assert stage_defaults()["execution_timeout"] == timedelta(hours=12)
