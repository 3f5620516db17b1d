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
from airflow.sdk.log import mask_secret
from airflow.sdk.types import DagRunProtocol
from pendulum import instance

from pipelines.errors import CorrectTheCall
from pipelines.intervals import Interval, from_us
from pipelines.orchestration.batches import (
    BY_INTERVAL,
    Bounds,
    batch_of,
    data_interval,
    hand_on,
    is_beside,
)
from pipelines.orchestration.kept import (
    AWAITED,
    CHOSEN,
    GIVEN,
    beside,
    chosen_before,
    found_once,
    keep,
    kept,
    state_in,
)
from pipelines.orchestration.params import Wishes, read_wishes
from pipelines.orchestration.waiting import obstacle
from pipelines.spec import Pipeline, load, secrets_in, store_at
from pipelines.store.ledger_rows import LedgerRow, is_begun, newest, next_batch, unfinished

log = logging.getLogger(__name__)


def choose_batch(spec: Path, *, store: str | None, others: frozenset[str] | None) -> PokeReturnValue:
    """Choose the batch of this run; not done yet while it has to wait. `others` as in `read_wishes`."""
    from pipelines.store.reader import read_ledger, wishes_of

    context = get_current_context()
    pipeline = load(spec)
    run = context["dag_run"]
    wishes = read_wishes(context["params"], others=others)
    interval = interval_of(run, timetable=context["dag"].timetable)
    rows = read_ledger(store_of(pipeline, store), pipeline.name)
    pending = unfinished(rows)
    mine = chosen_before() or interval
    if run.run_type == "backfill":
        refuse_nowhere(wishes.batch or mine)
    batch = batch_of(wishes, mine, following=lambda: following(rows, pipeline))
    if interval is not None:
        refuse_early(batch, wishes, run_type=run.run_type)
    earlier = None if interval is None else earlier_at_work(batch, rows)
    if has_to_wait(batch, pending, pipeline=pipeline, store=store, earlier=earlier):
        return PokeReturnValue(is_done=False)
    if wishes.batch is None and interval is None and pending is not None:
        # What was asked for it before still holds.
        known = wishes_of(store_of(pipeline, store), pipeline.name, batch=batch, revision=pending.revision)
        wishes = wishes.beside(known)
    log.info("batch %s of pipeline %s", batch, pipeline.name)
    keep(CHOSEN, batch)
    return PokeReturnValue(is_done=True, xcom_value=hand_on(batch, wishes))


def interval_of(run: DagRunProtocol, *, timetable: object) -> Interval | None:
    """The data interval that a run is for, if it has one."""

    def given() -> Interval | None:
        made = intervals_at([run.logical_date, run.run_after], timetable=timetable)
        ends, date = run.data_interval_end, run.logical_date
        return data_interval(run.run_type, run.data_interval_start, end=ends, date=date, made=made)

    if run.run_type in BY_INTERVAL:
        return data_interval(run.run_type, run.data_interval_start, end=run.data_interval_end)
    # Another schedule would have made another interval: that is not what somebody said.
    return found_once(GIVEN, given)


def intervals_at(dates: Sequence[datetime | None], *, timetable: object) -> set[Bounds] | None:
    """The data intervals that Airflow gives to runs that are triggered at these dates, where nobody says one.
    `None`: the timetable cannot be asked here.
    """
    # What a DAG is written with only describes a timetable: the scheduler's own one infers intervals.
    from airflow.serialization.encoders import coerce_to_core_timetable

    infer = getattr(coerce_to_core_timetable(timetable), "infer_manual_data_interval", None)
    if infer is None:
        return None
    try:
        found = [infer(run_after=instance(date)) for date in dates if date is not None]
    except NotImplementedError:
        # Airflow's own base class has the method, and leaves it to those that infer intervals.
        return None
    return {(it.start, it.end) for it in found if it is not None}


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
    of_another = kept(AWAITED) == batch != kept(CHOSEN)
    found = obstacle(batch, pending, earlier=earlier, waited=waited(since, changed), of_another=of_another)
    if found is None:
        return False
    log.info("batch %s has to wait: %s", batch, found)
    if pending is not None:
        keep(AWAITED, pending.batch)
    return True


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
        refuse_unended(batch)


def earlier_at_work(batch: Interval, rows: Sequence[LedgerRow]) -> str | None:
    """The run before this one in the schedule, while its batch is not published; whatever a DAG of one's own
    does after that nobody waits for. Nor does a new batch for one that fills in what is older than the newest
    of the ledger's `rows`: such a one is a restatement whenever it runs.
    """
    earlier = get_current_context()["ti"].get_previous_dagrun(state="running")
    # What was skipped has no batch, or one that the ledger has as unfinished.
    if earlier is None or state_in(earlier.run_id, beside("publish")) in ("success", "skipped"):
        return None
    last = newest(row for row in rows if row.status == "published")
    if last is not None and is_beside(batch, earlier.data_interval_end, newest=last.batch):
        return None
    return str(earlier.run_id)


def following(rows: Sequence[LedgerRow], pipeline: Pipeline) -> Interval:
    """The next batch by the ledger. Raises `CorrectTheCall` where it goes on, unless it was begun all the
    same.
    """
    batch = next_batch(rows, pipeline)
    if not is_begun(rows, batch):
        refuse_unended(batch)
    return batch


def refuse_unended(batch: Interval) -> None:
    """Raise `CorrectTheCall` where rows can still arrive for a batch."""
    if from_us(batch.end_us) > datetime.now(UTC):
        raise CorrectTheCall(
            f"batch {batch} has not ended yet: rows still arrive for it. Trigger the DAG after "
            "that, or with `from` and `to` to run it all the same, or another one"
        )


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
