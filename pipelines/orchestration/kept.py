"""What the tasks of a run know of each other, and what one keeps for when it starts again."""

from __future__ import annotations

from collections.abc import Callable

from airflow.sdk import get_current_context
from airflow.sdk.execution_time.context import NEVER_EXPIRE

from pipelines.intervals import Interval
from pipelines.orchestration.batches import batch_in, bounds_of

CHOSEN, AWAITED, GIVEN = "batch", "awaited", "given"
"""What the task keeps in its state: the batch that it chose, the last of others that it waited for, and the
interval that somebody gave its run.
"""


def state_in(run_id: str, task_id: str) -> str | None:
    """How a task of this DAG stands in one of its runs, nothing where it has not begun."""
    task = get_current_context()["ti"]
    states = task.get_task_states(dag_id=task.dag_id, task_ids=[task_id], run_ids=[run_id])
    found = states.get(run_id, {}).get(task_id)
    return None if found is None else str(found)


def beside(task: str) -> str:
    """The whole name of another task of the batch, in the group of this one if there is one."""
    group, dot, _ = get_current_context()["ti"].task_id.rpartition(".")
    return f"{group}{dot}{task}"


def chosen_before() -> Interval | None:
    """The batch that this run has opened or chosen already: cleared, it is for the same one again.

    Airflow forgets what a task told when that task starts again, be it `open_batch` or this one. What a task
    keeps in its state it finds again, unless the site lets that go.
    """
    context = get_current_context()
    opened = context["ti"].xcom_pull(task_ids=beside("open_batch"))
    return kept(CHOSEN) if opened is None else batch_in(opened)


def kept(name: str) -> Interval | None:
    """A batch that the task keeps in its state."""
    told = get_current_context()["task_state_store"].get(name)
    return None if told is None else batch_in(told)


def found_once(name: str, find: Callable[[], Interval | None]) -> Interval | None:
    """What was found when the task was first asked, whatever has changed since."""
    states = get_current_context()["task_state_store"]
    told = states.get(name)
    if told is None:
        found = find()
        states.set(name, {} if found is None else bounds_of(found), retention=NEVER_EXPIRE)
        return found
    return batch_in(told) if told else None


def keep(name: str, batch: Interval) -> None:
    """Keep it there, for as long as there is the task."""
    get_current_context()["task_state_store"].set(name, bounds_of(batch), retention=NEVER_EXPIRE)
