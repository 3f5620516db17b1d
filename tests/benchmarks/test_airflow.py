"""What Airflow adds to the stages of a small batch: a run of a DAG, from its trigger to its end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from pipelines.store.reader import read_ledger
from tests.system.services import UP_SECONDS, Json, Services, await_that

Measured = list[tuple[str, str, str]]
SPEC = """\
name: visits
source:
  format: csv
  schema: "page STRING, seen TIMESTAMP, arrived TIMESTAMP"
  event_time: seen
  arrival_time: arrived
  path: data/visits.csv
key: [page]
aggregates: {visits: count}
windows: {hourly: {tumbling: 1 hour}}
"""
DAG = """\
# An Airflow DAG.
from pipelines.orchestration import windowed_dag

dag = windowed_dag("visits.yml", schedule=None)
"""
DAYS = ("2024-01-01", "2024-01-02", "2024-01-03")


@pytest.fixture
def airflow(tmp_path: Path) -> Iterator[Services]:
    for name in ("dags", "data"):
        (tmp_path / name).mkdir()
    (tmp_path / "dags" / "visits.yml").write_text(SPEC)
    (tmp_path / "dags" / "visits.py").write_text(DAG)
    rows = [f"a,{day} {hour:02}:30:00,{day} {hour:02}:31:00\n" for day in DAYS for hour in range(24)]
    (tmp_path / "data" / "visits.csv").write_text("".join(rows))
    services = Services(tmp_path, SASH_STORE=str(tmp_path / "store"))
    try:
        services.run("db", "migrate")
        services.start("api-server", "dag-processor")
        await_that(lambda: services.is_up({"visits"}), UP_SECONDS)
        services.start("scheduler")
        yield services
    finally:
        services.stop()


def test_what_airflow_adds(airflow: Services, measured: Measured) -> None:
    for since, until in pairwise(DAYS):
        run = airflow.trigger("visits", **{"from": since, "to": until})
        assert airflow.outcome("visits", run) == "success"
    told = airflow.ask("GET", f"dags/visits/dagRuns/{run}")
    tasks = airflow.tasks("visits", run)
    newest = max(read_ledger(str(airflow.folder / "store"), "visits"), key=lambda row: row.batch)
    stages = sum(newest.stage_seconds.values())
    whole, inside = lasted(told, "queued_at"), sum(lasted(task, "start_date") for task in tasks.values())
    measured.append(("a DAG run of a small batch, with a Spark of its own", f"{whole:.0f} s", ""))
    parts = ", ".join(f"{name.split('.')[-1]} {lasted(it, 'start_date'):.1f}" for name, it in tasks.items())
    measured.append((f"of it in its {len(tasks)} tasks: {parts}", f"{inside:.1f} s", ""))
    measured.append(("of these in the stages themselves, as the ledger has them", f"{stages:.1f} s", ""))


def lasted(one: Json, since: str) -> float:
    """Seconds from one moment of a task or run to its end."""
    first, last = (datetime.fromisoformat(str(one[it])) for it in (since, "end_date"))
    return (last - first).total_seconds()
