"""What Airflow does about an error: try again where that helps, and never where only a person can.

A failed check, a wrong spec or a wrong call fails at once. A conflict of writers, Delta's own included,
is tried again.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import ExceptionRetryPolicy, RetryAction, RetryRule

from pipelines.errors import (
    ChooseAnotherBatch,
    CorrectTheCall,
    CorrectTheSpec,
    LookAtTheData,
    RunAgain,
    WaitForTheBatch,
)

RETRIES = 3
RETRY_DELAY = timedelta(seconds=30)
BUSY_DELAY = timedelta(minutes=2)
LONGEST = timedelta(hours=12)
"""How long a task may run before Airflow ends it."""


def stage_policy() -> ExceptionRetryPolicy:
    """For tasks that work on a batch: wait for a busy pipeline, and take what passes again.

    No rule names Delta's conflicts, since naming a class here imports its module: what no rule names is
    tried again too.
    """
    return ExceptionRetryPolicy(
        rules=[
            _never(CorrectTheSpec, "only a corrected spec helps"),
            _never(CorrectTheCall, "only another call helps"),
            _never(LookAtTheData, "a check stopped the run: the same data fails again"),
            _never(ChooseAnotherBatch, "this batch conflicts with those that have run"),
            RetryRule(exception=WaitForTheBatch, retry_delay=BUSY_DELAY, reason="the pipeline is busy"),
            RetryRule(exception=RunAgain, retry_delay=RETRY_DELAY, reason="something passing got in the way"),
        ]
    )


def choosing_policy() -> ExceptionRetryPolicy:
    """For the task that chooses the batch: it has done its waiting when it says that it has to wait."""
    patient = _never(WaitForTheBatch, "the batch in the way needs a person")
    return ExceptionRetryPolicy(rules=[patient, *stage_policy().rules])


def stage_defaults() -> dict[str, object]:
    """The `default_args` of Sash's tasks."""
    return {
        "retries": RETRIES,
        "retry_delay": RETRY_DELAY,
        "retry_policy": stage_policy(),
        "execution_timeout": LONGEST,
    }


def _never(error: type[Exception], reason: str) -> RetryRule:
    return RetryRule(exception=error, action=RetryAction.FAIL, reason=reason)
