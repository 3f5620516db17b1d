"""Real Airflow: which batch a run chooses that somebody triggers, how it waits while another one is at work,
and that it leaves alone what was given up. No batch is published.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.intervals import Interval, to_us
from pipelines.store import small
from pipelines.store.ledger_rows import LedgerRow, Status
from pipelines.store.tables import RUNS, Folder
from tests.system.services import RUN_SECONDS, Json, Services, await_that
from tests.system.serving import DAG_FILE, ledger, serving

pytestmark = [pytest.mark.system, pytest.mark.slow]

SPEC = """\
name: visits
source: {format: csv, schema: "seen TIMESTAMP", path: data, event_time: seen}
schedule: {start: 2024-01-01}
key: []
aggregates: {visits: count}
windows: {hourly: {tumbling: 1 hour}}
"""
DATED = f"""\
from datetime import UTC, datetime

{DAG_FILE}windowed_dag("visits.yml", dag_id="dated", end_date=datetime(2024, 1, 1, tzinfo=UTC))
"""
"""With the spec's own schedule, which ends before it has a run."""
BROKEN = SPEC.replace("visits\nsource", "broken\nsource").replace("path: data", "path: broken.csv.gz")
"""Its file ends too early, so that a task of it is tried again."""
CALL = 'windowed_dag("broken.yml", schedule=None, spark_conn_id="always")'
SASH = "from pipelines.cli.main import process; process()"
FIRST = Interval(*[to_us(datetime(2024, 1, day, tzinfo=UTC)) for day in (1, 2)])
OF_ANOTHER = LedgerRow(batch=FIRST, revision=0, status="running", spec_fingerprint="f")


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Airflow with the DAG, in whose ledger somebody's batch is at work."""
    folder = tmp_path_factory.mktemp("waiting")
    (folder / "dags").mkdir()
    (folder / "dags" / "visits.yml").write_text(SPEC)
    (folder / "dags" / "visits.py").write_text(f'{DAG_FILE}windowed_dag("visits.yml", schedule=None)\n')
    (folder / "dags" / "dated.py").write_text(DATED)
    (folder / "dags" / "broken.yml").write_text(BROKEN)
    (folder / "dags" / "broken.py").write_text(f"{DAG_FILE}{CALL}\n")
    (folder / "broken.csv.gz").write_bytes(gzip.compress(b"2024-01-01 00:00:00\n" * 1000)[:-20])
    small.create(runs_in(folder), "runs", columns=RUNS)
    stands(folder, "running")
    with serving(folder, {"visits", "dated", "broken"}, before_scheduling=lambda _: None) as services:
        yield services


def test_a_run_for_the_next_batch_leaves_the_one_that_it_waits_for_to_its_next_try(airflow: Services) -> None:
    run = airflow.trigger("visits")
    await_that(lambda: says(airflow, "visits", run, "(its status is running)"), RUN_SECONDS)
    stands(airflow.folder, "failed")
    words = "it is another run's, which may try it again (its status is failed)"
    await_that(lambda: says(airflow, "visits", run, words), RUN_SECONDS)
    stands(airflow.folder, "running")
    airflow.ask("PATCH", f"dags/visits/dagRuns/{run}", state="failed")
    assert airflow.outcome("visits", run) == "failed"
    assert [(row.batch, row.status) for row in ledger(airflow, "visits")] == [(FIRST, "running")]


def test_a_run_is_for_the_data_interval_that_its_form_was_given(airflow: Services) -> None:
    stands(airflow.folder, "running")
    said = {"data_interval_start": "2024-01-08T00:00:00Z", "data_interval_end": "2024-01-15T00:00:00Z"}
    run = airflow.trigger("dated", interval=said)
    words = "batch [2024-01-08 00:00, 2024-01-15 00:00) has to wait"
    await_that(lambda: says(airflow, "dated", run, words), RUN_SECONDS)
    airflow.ask("PATCH", f"dags/dated/dagRuns/{run}", state="failed")
    assert airflow.outcome("dated", run) == "failed"


def test_a_batch_that_was_given_up_is_not_begun_again_by_the_next_try_of_its_tasks(airflow: Services) -> None:
    bounds = {"from": "2024-01-01", "to": "2024-01-02"}
    run = airflow.trigger("broken", **bounds)
    waits = "up_for_retry"
    await_that(lambda: reading(airflow, run)["state"] == waits, RUN_SECONDS)
    given = [word for name, instant in bounds.items() for word in (f"--{name}", instant)]
    words = ("abandon", airflow.folder / "dags" / "broken.yml", *given, "--store", airflow.folder / "store")
    subprocess.run([sys.executable, "-c", SASH, *words], check=True, timeout=120)
    assert airflow.outcome("broken", run) == "failed"
    task = reading(airflow, run)
    assert (task["state"], task["try_number"]) == ("failed", 2)
    log = f"dags/broken/dagRuns/{run}/taskInstances/accumulate/logs/2?map_index=0&full_content=true"
    assert "was given up since this run opened it (`sash abandon`)" in str(airflow.ask("GET", log)["content"])
    assert [(row.batch, row.status) for row in ledger(airflow, "broken")] == [(FIRST, "abandoned")]


def reading(airflow: Services, run: str) -> Json:
    """The one task that reads the broken file; it has a name once it was mapped over its source."""
    (task,) = [it for it in airflow.tasks("broken", run).values() if it["task_id"] == "accumulate"]
    return task


def says(airflow: Services, dag: str, run: str, words: str) -> bool:
    """Whether the run waits, and says this."""
    asked = airflow.tasks(dag, run)["choose_batch"]["state"] == "up_for_reschedule"
    return asked and words in airflow.log(dag, run, task="choose_batch")


def runs_in(folder: Path) -> Folder:
    return Folder(root=str(folder / "store" / "visits"))


def stands(folder: Path, status: Status) -> None:
    """Let the batch stand like this in the ledger."""
    place = runs_in(folder)
    small.overwrite(small.open_table(place, "runs"), [replace(OF_ANOTHER, status=status).values()])
