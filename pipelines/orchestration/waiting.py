"""What stands in the way of a batch, and for how long a run waits for it.

A batch that is being run ends by itself, so it is waited for. One that has stopped or failed needs a
person, whose remedy may be to run its tasks again: with one active run at a time Airflow would never
start them while this run waits. So this run gives up then.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from pipelines.errors import WaitForTheBatch
from pipelines.intervals import Interval

PATIENCE = timedelta(minutes=15)
"""Longer than the pauses between a task's tries, in which its batch stands as failed."""


class Unfinished(Protocol):
    """What we read of a row of the ledger."""

    @property
    def batch(self) -> Interval: ...

    @property
    def status(self) -> str: ...


def obstacle(
    batch: Interval,
    pending: Unfinished | None,
    *,
    earlier: str | None,
    waited: timedelta,
    of_another: bool = False,
) -> str | None:
    """What the batch has to wait for: another unfinished batch, or an earlier run of the schedule.
    `None`: nothing.

    An unfinished attempt at the batch itself is none: it is taken over, but while it is `of_another` run,
    which this one has been waiting for and which may try it again. Raises `WaitForTheBatch` when waiting does
    not help.
    """
    if pending is not None and pending.batch == batch:
        if of_another and waited <= PATIENCE:
            return f"it is another run's, which may try it again (its status is {pending.status})"
        return None
    if pending is None:
        return None if earlier is None else f"the earlier run {earlier} is at work"
    # Of an earlier run that is alive the tasks are tried again, and that may be what it waits for.
    if pending.status != "running" and earlier is None and waited > PATIENCE:
        raise WaitForTheBatch(
            f"batch {batch} cannot start: batch {pending.batch} is unfinished (its status is "
            f"{pending.status}), and has been for {waited.total_seconds() / 60:.0f} minutes. Clear the "
            "failed tasks of its run, or trigger a run for it, or `sash abandon` it; then clear this run"
        )
    stands = f"batch {pending.batch} is unfinished (its status is {pending.status})"
    if earlier is None and waited > PATIENCE:
        minutes = f"{waited.total_seconds() / 60:.0f} minutes"
        return (
            f"{stands}, and the ledger stands still since {minutes}; if nobody is at it, `sash abandon` it, "
            "or mark this run as failed and clear the failed tasks of its own"
        )
    return stands
