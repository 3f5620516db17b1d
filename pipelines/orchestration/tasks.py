"""What the tasks of a batch do when they run. Spark, Delta and Great Expectations are imported inside
them, never at parse.

Each may be killed and run again at any moment, by itself: it takes the batch over, and starts the Spark
of its run where there is none.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from airflow.sdk import PokeReturnValue, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from pipelines.errors import WaitForTheBatch
from pipelines.intervals import from_us
from pipelines.orchestration import choosing, embedded, kept
from pipelines.orchestration.batches import Chosen, batch_in
from pipelines.orchestration.connection import configured_address
from pipelines.spec import Pipeline, load
from pipelines.store.ledger_rows import LedgerRow, standing, unfinished

log = logging.getLogger(__name__)

Told = dict[str, str | int | bool | None]
"""What a task tells, as its XCom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTasks:
    """The tasks of one spec. `store` and `spark_conn_id` as in `windowed_dag`, `others` as in
    `read_wishes`.
    """

    spec: Path
    store: str | None = field(default=None, repr=False)  # Airflow logs what it calls
    spark_conn_id: str | None = None
    others: frozenset[str] | None = None

    def choose_batch(self) -> PokeReturnValue:
        """Which batch this run is for, once it may begin."""
        return choosing.choose_batch(self.spec, store=self.store, others=self.others)

    def open_batch(self, chosen: Chosen | None) -> PokeReturnValue:
        """Start Spark, unless one is configured, and open the batch in the ledger or take it over; not done
        yet while another is at work, which may have begun since this one was chosen, or long before this task
        was cleared.
        """
        if chosen is None:
            raise AirflowFailException(
                "no batch was chosen in this run: clear `choose_batch`, with those after it"
            )
        pipeline, batch = load(self.spec), batch_in(chosen)
        pending = unfinished(self._rows(pipeline))
        try:
            if choosing.has_to_wait(batch, pending, pipeline=pipeline, store=self.store):
                return PokeReturnValue(is_done=False)
        except WaitForTheBatch as error:
            # It has done its waiting: what is in the way needs a person.
            raise AirflowFailException(str(error)) from error
        folder = _folder()
        try:
            run = self._open(chosen)
        except BaseException:
            # Airflow runs no teardown for a setup that failed.
            embedded.stop_server(folder)
            raise
        server = embedded.running_server(folder)
        running = {} if server is None else {"spark_pid": server.pid, "spark_port": server.port}
        return PokeReturnValue(is_done=True, xcom_value={**chosen, **run, **running})

    def accumulate(self, opened: Chosen, source: str) -> Told:
        """Events of one source become partial frames."""
        return self._run(opened, "accumulate", source=source)

    def combine(self, opened: Chosen) -> Told:
        """Partial frames of all sources become frames."""
        return self._run(opened, "combine")

    def finalise(self, opened: Chosen) -> Told:
        """Frames become windows, and windows panes."""
        return self._run(opened, "finalise")

    def publish(self, opened: Chosen) -> Told:
        """Panes become the table of windows, and the batch is done: the asset event tells of it."""
        counts = self._run(opened, "publish")
        row = self._row(opened)
        watermark_us = None if row is None else row.watermark_after_us
        watermark = None if watermark_us is None else from_us(watermark_us).isoformat()
        bounds = {"from": opened["from"], "to": opened["to"], "watermark": watermark}
        if row is not None and row.revision == opened["revision"]:
            # Killed after the batch was done, and run again: then there was nothing left to publish.
            counts = {**counts, "panes": row.panes}
        events = get_current_context()["outlet_events"]
        for asset in get_current_context()["task"].outlets:
            events[asset].extra = {**bounds, **counts}
        return counts

    def close_spark(self, opened: Chosen) -> None:
        """End the Spark of the run. Fails if the batch was not published, for Airflow does not call that
        a failure.

        A run that is marked as failed has its open tasks skipped, and a run whose last tasks were skipped
        is a success.
        """
        if embedded.stop_server(_folder()):
            log.info("the embedded Spark has ended")
        _refuse_unopened(opened)
        publish = kept.beside("publish")
        state = kept.state_in(get_current_context()["ti"].run_id, publish)
        self._leave(opened)
        if state == "success" and self._is_unpublished(opened):
            raise AirflowFailException(
                f"batch {batch_in(opened)} is not published: a task was cleared without those after it, or "
                f"`{publish}` was marked as done by hand. Clear `{publish}`, with the failed tasks before it"
            )
        if state != "success":
            # Those that were skipped, as all are of a run that was marked as failed, are no failed ones.
            cleared = f"`{publish}` with those before it" if state == "skipped" else "the failed tasks"
            raise AirflowFailException(
                f"batch {batch_in(opened)} was not published: the task `{publish}` is "
                f"{state or 'not run'}. Look at the tasks before it; once that is put right, clear "
                f"{cleared} of this run, and it goes on where it stopped; where data were put right, clear "
                "`accumulate` of all sources too, which reads them"
            )

    def _is_unpublished(self, opened: Chosen) -> bool:
        """Whether the ledger has the batch as one that failed or was stopped."""
        pending = unfinished(self._rows(load(self.spec)))
        if pending is None or pending.batch != batch_in(opened):
            return False
        return pending.revision == opened["revision"] and pending.status != "running"

    def _leave(self, opened: Chosen) -> None:
        """Let the ledger say that the batch failed, also where a task was killed and could not."""
        from pipelines.stages.site import folder_of
        from pipelines.store.ledger import leave

        pipeline = load(self.spec)
        tables = folder_of(choosing.store_of(pipeline, self.store), pipeline)
        attempt = opened.get("attempt")
        is_left = leave(
            tables,
            batch_in(opened),
            revision=int(str(opened["revision"])),
            opened=None if attempt is None else int(attempt),
        )
        if is_left:
            log.info("the batch stood as running, and nobody is at work for it: it has failed")

    def _open(self, chosen: Chosen) -> Told:
        from pipelines.orchestration import stage_work

        pipeline = load(self.spec)
        place = {"store": choosing.store_of(pipeline, self.store), "address": self._spark()}
        with stage_work.at_work(pipeline, chosen, **place) as (site, request), _ending():
            run = stage_work.open_batch(site, request)
        log.info("batch %s is open: revision %d", request.batch, run.revision)
        return {
            "revision": run.revision,
            "attempt": run.begun.attempt,
            "started_us": run.opening.started_at_us,
        }

    def _run(self, opened: Chosen, stage: str, *, source: str | None = None) -> Told:
        from pipelines.orchestration import stage_work
        from pipelines.orchestration.given_up import is_given_up
        from pipelines.store import attempts

        _refuse_unopened(opened)
        pipeline = load(self.spec)
        place = {"store": choosing.store_of(pipeline, self.store), "address": self._spark()}
        with stage_work.at_work(pipeline, opened, **place) as (site, request), _ending():
            # Now, for to open a session may take long. A stage would open the batch once more.
            if is_given_up(opened, self._rows(pipeline), begun=attempts.read(site.tables)):
                raise AirflowFailException(
                    f"batch {request.batch} was given up since this run opened it (`sash abandon`). To run "
                    "it after all, clear `open_batch` with those after it"
                )
            report = stage_work.run_stage(site, request, stage=stage, source=source)
        log.info(report.line)
        for line in report.warnings:
            log.warning(line)
        return dict(report.counts)

    def _spark(self) -> str:
        """The address of the Spark that is configured, or of the one of this run, started if it does not
        run.
        """
        from pipelines.orchestration import stage_work

        address = configured_address(self.spark_conn_id)
        return address or embedded.ensure_server(_folder(), stage_work.launch).address

    def _row(self, opened: Chosen) -> LedgerRow | None:
        """What the ledger says of the batch."""
        rows = standing(self._rows(load(self.spec)))
        return next((row for row in rows if row.batch == batch_in(opened)), None)

    def _rows(self, pipeline: Pipeline) -> list[LedgerRow]:
        from pipelines.store.reader import read_ledger

        return read_ledger(choosing.store_of(pipeline, self.store), pipeline.name)


@contextmanager
def _ending() -> Iterator[None]:
    """Fail for good where somebody else has gone on with the batch, or given it up: another try would open it
    again.
    """
    try:
        yield
    except WaitForTheBatch as error:
        if error.is_over:
            raise AirflowFailException(str(error)) from error
        raise


def _refuse_unopened(opened: Chosen | None) -> None:
    """Fail for good where `open_batch` tells no batch: it was marked as done by hand."""
    if opened is None:
        raise AirflowFailException("no batch was opened in this run: clear `open_batch`, with those after it")


def _folder() -> Path:
    """Where the embedded Spark of this run is: of this group of tasks, if the DAG has several."""
    task = get_current_context()["ti"]
    group = task.task_id.rpartition(".")[0]
    return embedded.folder_of(f"{task.dag_id}\0{task.run_id}\0{group}")
