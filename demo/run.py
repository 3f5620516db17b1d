"""`make demo`: a year of flights through Airflow, from raw rows to published windows and a picture.

January comes in weekly batches, one DAG run each, then the rest of the year as one. What is started here is
ended here, also on Ctrl-C.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Mapping, Sequence
from types import FrameType

from demo.dag_runs import Airflow, log_end
from demo.flights import prepare
from demo.line import Line, say
from demo.place import DAG, FEED, ROOT, STORE, DemoError, alone, begin_afresh
from demo.services import Service, check, end_leftovers
from demo.stand import stand
from demo.tell import tell_all
from pipelines.store.ledger_rows import newest
from pipelines.store.reader import read_ledger

BATCHES: tuple[Mapping[str, str], ...] = (
    {"from": "2013-01-01", "to": "2013-01-08"},
    {"from": "2013-01-08", "to": "2013-01-15"},
    {"from": "2013-01-15", "to": "2013-01-22"},
    {"from": "2013-01-22", "to": "2013-01-29"},
    {"from": "2013-01-29", "to": "2013-02-01"},
    # After the year nothing leaves any more: with this watermark every window is due, none waits for news.
    {"from": "2013-02-01", "to": "2014-01-03", "watermark": "2014-01-03"},
)
LOOK_SECONDS = 0.5
INTERRUPTED = 130


def main() -> int:
    """Runs the demo; returns the exit code."""
    signal.signal(signal.SIGTERM, interrupt)
    began = time.monotonic()
    try:
        with alone():
            end_leftovers()
            begin_afresh()
            prepare_feed()
            with stand() as (airflow, services):
                for params in BATCHES:
                    run_batch(airflow, services, params=params)
            tell_all()
    except DemoError as problem:
        say(f"\nmake demo: {problem}")
        return 1
    except KeyboardInterrupt:
        say("\nmake demo: stopped, and with it all that it had started. The next one begins afresh.")
        return INTERRUPTED
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    say(f"Done in {minutes} min {seconds} s.")
    return 0


def prepare_feed() -> None:
    """The events, as files on disk."""
    line = Line("flights of 2013")
    line.now("preparing the feed")
    is_new = prepare(FEED)
    line.done(f"in {FEED.relative_to(ROOT)}, {'written' if is_new else 'as they were'}")


def run_batch(airflow: Airflow, services: Sequence[Service], *, params: Mapping[str, str]) -> None:
    """One DAG run, from its trigger to its row in the ledger."""
    line = Line(f"{params['from']} … {params['to']}")
    run = f"demo_{params['from']}_{params['to']}"
    airflow.trigger(run, params)
    state = "queued"
    while state not in ("success", "failed"):
        check(services)
        at_work = sorted({str(task) for task in airflow.tasks(run) if task.state == "running"})
        line.now(", ".join(at_work))
        time.sleep(LOOK_SECONDS)
        state = airflow.state(run)
    if state == "failed":
        line.done("failed")
        raise DemoError(told_failure(airflow, run))
    line.done(told_success(params))


def told_success(params: Mapping[str, str]) -> str:
    """What the ledger says of the batch. Raises `DemoError` if that is not that it has been published."""
    row = newest(read_ledger(str(STORE), DAG))
    if row is None or row.status != "published" or str(row.batch) != told_batch(params):
        raise DemoError(f"the run was a success, but the ledger's newest row is {row}")
    counts = (
        (row.ingested, "rows"),
        (row.late, "late"),
        (row.quarantined, "quarantined"),
        (row.panes, "panes"),
    )
    return ", ".join(f"{count:,} {name}" for count, name in counts if count is not None)


def told_batch(params: Mapping[str, str]) -> str:
    return f"[{params['from']} 00:00, {params['to']} 00:00)"


def told_failure(airflow: Airflow, run: str) -> str:
    """Which tasks failed, and the end of what each has logged."""
    failed = [task for task in airflow.tasks(run) if task.state == "failed"]
    logs = [f"task `{task}` of run {run} failed. Its log ends so:\n{log_end(run, task)}" for task in failed]
    return "\n\n".join(logs) or f"run {run} failed, and none of its tasks did"


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Being told to end is like Ctrl-C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
