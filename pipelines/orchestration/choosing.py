"""The task `choose_batch`: which batch a run is for, once it may begin. It needs no Spark, only the
ledger's files.

Whatever it cannot understand is refused here, before anything is started.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk import PokeReturnValue, get_current_context
from airflow.sdk.execution_time.context import NEVER_EXPIRE
from airflow.sdk.log import mask_secret

from pipelines.errors import CorrectTheCall
from pipelines.intervals import Interval, from_us
from pipelines.orchestration.batches import BY_INTERVAL, batch_in, batch_of, data_interval, hand_on, is_beside
from pipelines.orchestration.params import Wishes, read_wishes
from pipelines.orchestration.waiting import obstacle
from pipelines.spec import Pipeline, load, secrets_in, store_at
from pipelines.store.ledger_rows import LedgerRow, newest, next_batch, unfinished

log = logging.getLogger(__name__)

CHOSEN = "batch"
"""What the task keeps in its state."""


def choose_batch(spec: Path, *, store: str | None, others: frozenset[str] | None) -> PokeReturnValue:
    """Choose the batch of this run; not done yet while it has to wait. `others` as in `read_wishes`."""
    from pipelines.store.reader import read_ledger, wishes_of

    context = get_current_context()
    pipeline = load(spec)
    run = context["dag_run"]
    wishes = read_wishes(context["params"], others=others)
    interval = data_interval(
        run.run_type, run.data_interval_start, end=run.data_interval_end, date=run.logical_date
    )
    rows = read_ledger(store_of(pipeline, store), pipeline.name)
    pending = unfinished(rows)
    mine = chosen_before() or interval
    if run.run_type == "backfill":
        refuse_nowhere(wishes.batch or mine)
    batch = batch_of(wishes, mine, following=lambda: ended(next_batch(rows, pipeline)))
    refuse_early(batch, wishes, run_type=run.run_type)
    earlier = None if interval is None else earlier_at_work(batch, rows)
    if has_to_wait(batch, pending, pipeline=pipeline, store=store, earlier=earlier):
        return PokeReturnValue(is_done=False)
    if wishes.batch is None and interval is None and pending is not None:
        # What was asked for it before still holds.
        known = wishes_of(store_of(pipeline, store), pipeline.name, batch=batch, revision=pending.revision)
        wishes = wishes.beside(known)
    log.info("batch %s of pipeline %s", batch, pipeline.name)
    told = hand_on(batch, wishes)
    bounds = {"from": told["from"], "to": told["to"]}
    context["task_state_store"].set(CHOSEN, bounds, retention=NEVER_EXPIRE)
    return PokeReturnValue(is_done=True, xcom_value=told)


def has_to_wait(
    batch: Interval,
    pending: LedgerRow | None,
    *,
    pipeline: Pipeline,
    store: str | None,
    earlier: str | None = None,
) -> bool:
    """Whether something is in the way of a batch, as `obstacle` tells it; says so in the log."""
    from pipelines.store.reader import ledger_changed

    context = get_current_context()
    changed = ledger_changed(store_of(pipeline, store), pipeline.name)
    since = context["ti"].get_first_reschedule_date(context)
    found = obstacle(batch, pending, earlier=earlier, waited=waited(since, changed))
    if found is not None:
        log.info("batch %s has to wait: %s", batch, found)
    return found is not None


def refuse_nowhere(found: Interval | None) -> None:
    """Raise `CorrectTheCall` where nothing says which batch a backfill of dates means."""
    if found is None:
        raise CorrectTheCall(
            "this run of a backfill is for no interval: the schedule of its DAG knows instants alone, as "
            "Airflow takes a cron text. Give the DAG a CronDataIntervalTimetable, or make it with "
            "`windowed_dag`; or run the batches with `sash run --from … --to … --every …`"
        )


def refuse_early(batch: Interval, wishes: Wishes, *, run_type: str) -> None:
    """Raise `CorrectTheCall` where a run that was triggered with the date of a batch comes before its end:
    the schedule would not come back to it.
    """
    if wishes.batch is None and run_type not in BY_INTERVAL:
        ended(batch)


def earlier_at_work(batch: Interval, rows: Sequence[LedgerRow]) -> str | None:
    """The run before this one in the schedule, while its batch is not published; whatever a DAG of one's own
    does after that nobody waits for. Nor does a new batch for one that fills in what is older than the newest
    of the ledger's `rows`: such a one is a restatement whenever it runs.
    """
    earlier = get_current_context()["ti"].get_previous_dagrun(state="running")
    if earlier is None or state_in(earlier.run_id, beside("publish")) == "success":
        return None
    last = newest(row for row in rows if row.status == "published")
    if last is not None and is_beside(batch, earlier.data_interval_end, newest=last.batch):
        return None
    return str(earlier.run_id)


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
    told = opened or context["task_state_store"].get(CHOSEN)
    return None if told is None else batch_in(told)


def ended(batch: Interval) -> Interval:
    """The batch, if no row can arrive for it any more. Raises `CorrectTheCall` if it goes on."""
    if from_us(batch.end_us) > datetime.now(UTC):
        raise CorrectTheCall(
            f"batch {batch} has not ended yet: rows still arrive for it. Trigger the DAG after "
            "that, or with `from` and `to` to run it all the same"
        )
    return batch


def store_of(pipeline: Pipeline, store: str | None) -> str:
    """The store named here, or in `SASH_STORE`. A relative folder starts where the spec's own paths do.

    It cannot start where the process was started: the processes of Airflow and of Spark have folders of
    their own. A password in its address is shown in no log from then on.
    """
    found = store_at(store or os.environ.get("SASH_STORE") or "var/store", pipeline.home)
    for secret in secrets_in(found):
        mask_secret(secret)
    return found


def waited(since: datetime | None, changed: datetime | None) -> timedelta:
    """How long this run has been waiting with nothing new in the ledger: a batch at work may have failed just
    now, and its task be about to try again.
    """
    if since is None or changed is None:
        return timedelta()
    return datetime.now(UTC) - max(since, changed)
