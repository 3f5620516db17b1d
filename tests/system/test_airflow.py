"""Real Airflow, from the params of a run to the tables: five small pipelines, each in a DAG of its own.

`strict` starts a Spark for each run, and a check stops it; `visits` and the backfilled `daily` work on one
that is always there.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.intervals import LATEST_US, Interval, to_us
from tests.system.backfills import create, create_beside_scheduler
from tests.system.services import RUN_SECONDS, Services, await_that
from tests.system.serving import DAG_FILE, ledger, serving, stored

pytestmark = pytest.mark.system

SOURCE = """\
source:
  format: csv
  schema: "page STRING, seen TIMESTAMP, arrived TIMESTAMP"
  event_time: seen
  arrival_time: arrived
"""
SPECS = {
    "visits": SOURCE
    + "sources: {web: {path: data/web.csv}, app: {path: data/app.csv}}\n"
    + "key: [page]\naggregates: {visits: count}\nwindows: {hourly: {tumbling: 1 hour}}\n",
    "strict": SOURCE
    + "sources: {web: {path: data/web.csv}}\nschedule: {start: 2024-01-01}\n"
    + "key: [page]\naggregates: {visits: count}\nwindows: {hourly: {tumbling: 1 hour}}\n"
    + "expectations: expectations/strict.yml\n",
    "hourly": SOURCE
    + "sources: {app: {path: data/app.csv}}\nschedule: {start: 2024-01-01}\n"
    + "key: []\naggregates: {visits: count}\nwindows: {hourly: {tumbling: 1 hour}}\n",
    "pair": SOURCE
    + "sources: {web: {path: data/web.csv}}\n"
    + "key: [page]\naggregates: {visits: count}\nwindows: {hourly: {tumbling: 1 hour}}\n",
    "daily": SOURCE
    + "sources: {app: {path: data/app.csv}}\nschedule: {start: 2024-01-01}\n"
    + "key: []\naggregates: {visits: count}\nwindows: {daily: {tumbling: 1 day}}\n",
}
DAG_FILES = {
    "visits": 'windowed_dag("visits.yml", spark_conn_id="always")',
    "strict": 'windowed_dag("strict.yml", schedule=None)',
    "hourly": 'windowed_dag("hourly.yml", spark_conn_id="always", schedule=None)',
    "pair": 'windowed_dag("pair.yml", spark_conn_id="always", schedule=None, max_active_runs=2)',
    # The end keeps Airflow from starting a run for yesterday.
    "daily": 'windowed_dag("daily.yml", spark_conn_id="always", end_date=datetime(2024, 1, 3))',
}
#         00:00        01:00        02:00        03:00
#  web      a10   a50    b20                                 in the batch of the first of January, as is
#  app        a30                     b40                    all of this but the last, which is of the second
ROWS = {
    "web": ["a,2024-01-01 00:10", "a,2024-01-01 00:50", "b,2024-01-01 01:20"],
    "app": ["a,2024-01-01 00:30", "b,2024-01-01 02:40", "b,2024-01-02 05:00"],
}
NOBODY_VISITS_A = """\
events:
  - expect_column_values_to_be_in_set: {column: page, value_set: [b]}
    on_failure: stop
"""
FIRST = Interval(to_us(datetime(2024, 1, 1, tzinfo=UTC)), to_us(datetime(2024, 1, 2, tzinfo=UTC)))
SECOND = Interval(FIRST.end_us, 2 * FIRST.end_us - FIRST.start_us)
BOUNDS = {"from": "2024-01-01", "to": "2024-01-02"}


def lay_out(folder: Path) -> None:
    """The files of the pipelines."""
    for name in ("dags", "data", "expectations"):
        (folder / name).mkdir()
    for name, spec in SPECS.items():
        (folder / "dags" / f"{name}.yml").write_text(f"name: {name}\n{spec}")
        (folder / "dags" / f"{name}.py").write_text(DAG_FILE + DAG_FILES[name] + "\n")
    for name, rows in ROWS.items():
        (folder / "data" / f"{name}.csv").write_text("".join(f"{row}:00,{row[2:]}:00\n" for row in rows))
    (folder / "expectations" / "strict.yml").write_text(NOBODY_VISITS_A)


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Airflow with the DAGs, a Spark that is always there, and the backfill of `daily` under way."""
    folder = tmp_path_factory.mktemp("airflow")
    lay_out(folder)
    days = ("2024-01-01", "2024-01-02")
    with serving(
        folder, set(SPECS), before_scheduling=lambda it: create(it, "daily", days, "--max-active-runs", "2")
    ) as services:
        yield services


@pytest.fixture(scope="module")
def visits(airflow: Services) -> str:
    """A run of `visits` for the first of January."""
    run = airflow.trigger("visits", **BOUNDS, watermark="2024-01-01T02:00:00Z")
    assert airflow.outcome("visits", run) == "success"
    return run


@pytest.fixture(scope="module")
def stopped(airflow: Services) -> str:
    """A run of `strict` without a batch in its params, which its check stops."""
    run = airflow.trigger("strict", final=True)
    assert airflow.outcome("strict", run) == "failed"
    return run


def windows(airflow: Services, pipeline: str) -> set[tuple[object, ...]]:
    rows = stored(airflow, "windows", pipeline=pipeline)
    return {(row["page"], row["window_start"], row["visits"]) for row in rows}


def hour(number: int) -> datetime:
    return datetime(2024, 1, 1, number, tzinfo=UTC)


def test_a_triggered_run_publishes_the_windows_of_its_batch(airflow: Services, visits: str) -> None:
    assert windows(airflow, "visits") == {("a", hour(0), 3), ("b", hour(1), 1)}
    panes = stored(airflow, "panes", pipeline="visits")
    assert {(row["page"], row["timing"], row["kind"]) for row in panes} == {
        ("a", "ON_TIME", "insert"),
        ("b", "ON_TIME", "insert"),
    }


def test_the_ledger_has_the_batch_with_its_counts_and_its_watermark(airflow: Services, visits: str) -> None:
    (row,) = ledger(airflow, "visits")
    assert (row.batch, row.status, row.ingested, row.accepted, row.panes) == (FIRST, "published", 5, 5, 2)
    assert row.watermark_after_us == to_us(hour(2))


def test_each_source_is_a_task_that_says_what_it_read(airflow: Services, visits: str) -> None:
    tasks = airflow.tasks("visits", visits)
    assert {"accumulate web", "accumulate app"} <= set(tasks)
    assert {it["state"] for it in tasks.values()} == {"success"}
    (log,) = airflow.folder.glob("logs/dag_id=visits/*/task_id=accumulate/map_index=0/*.log")
    assert "accumulate web: read 3 rows" in log.read_text()


def test_the_asset_event_carries_batch_counts_and_watermark(airflow: Services, visits: str) -> None:
    (event,) = airflow.ask("GET", "assets/events?source_dag_id=visits")["asset_events"]
    assert (event["uri"], event["source_run_id"]) == ("sash://visits/windows", visits)
    wanted = {"from": "2024-01-01T00:00:00+00:00", "watermark": "2024-01-01T02:00:00+00:00", "accepted": 5}
    assert event["extra"].items() >= wanted.items()


@pytest.mark.slow
def test_two_runs_of_one_batch_at_once_change_nothing(airflow: Services, visits: str) -> None:
    before = ledger(airflow, "visits"), stored(airflow, "panes", pipeline="visits")
    runs = [airflow.trigger("visits", **BOUNDS) for _ in range(2)]
    assert [airflow.outcome("visits", run) for run in runs] == ["success", "success"]
    assert (ledger(airflow, "visits"), stored(airflow, "panes", pipeline="visits")) == before


@pytest.mark.slow
def test_two_runs_that_are_at_a_new_batch_at_once_leave_what_one_would(airflow: Services) -> None:
    runs = [airflow.trigger("pair", **BOUNDS, final=True) for _ in range(2)]
    outcomes = [airflow.outcome("pair", run) for run in runs]
    first, second = (airflow.ask("GET", f"dags/pair/dagRuns/{run}") for run in runs)
    assert second["start_date"] < first["end_date"]
    (row,) = ledger(airflow, "pair")
    assert (row.batch, row.status, row.revision, row.accepted) == (FIRST, "published", 0, 3)
    assert windows(airflow, "pair") == {("a", hour(0), 2), ("b", hour(1), 1)}
    # One may have taken the batch over from the other, which stops then and says so.
    assert "success" in outcomes
    for run, outcome in zip(runs, outcomes, strict=True):
        logs = [it.read_text() for it in airflow.folder.glob(f"logs/dag_id=pair/run_id={run}/**/*.log")]
        assert any("a newer attempt has taken over" in it for it in logs) == (outcome == "failed")


@pytest.mark.slow
def test_a_task_cleared_in_the_middle_fails_the_run_until_those_after_it_are_cleared_too(
    airflow: Services, visits: str
) -> None:
    before = ledger(airflow, "visits"), windows(airflow, "visits")
    airflow.clear("visits", visits, "combine")
    assert airflow.outcome("visits", visits) == "failed"
    (log,) = airflow.folder.glob(f"logs/dag_id=visits/run_id={visits}/task_id=close_spark/attempt=2.log")
    assert (
        "a task was cleared without those after it, or `publish` was marked as done by hand"
        in log.read_text()
    )
    airflow.clear("visits", visits, "finalise", "publish")
    assert airflow.outcome("visits", visits) == "success"
    assert (ledger(airflow, "visits"), windows(airflow, "visits")) == before


def test_an_unknown_param_fails_at_once_also_after_the_schedule_has_ended(
    airflow: Services, visits: str
) -> None:
    run = airflow.trigger("daily", form="2024-01-01")
    assert airflow.outcome("daily", run) == "failed"
    assert airflow.tasks("daily", run)["choose_batch"]["try_number"] == 1
    assert "found `form`; allowed are from, to" in airflow.log("daily", run, task="choose_batch")


def test_a_failed_check_fails_its_task_once_and_says_why(airflow: Services, stopped: str) -> None:
    tasks = airflow.tasks("strict", stopped)
    assert (tasks["combine"]["state"], tasks["combine"]["try_number"]) == ("failed", 1)
    assert tasks["publish"]["state"] == "upstream_failed"
    said = airflow.log("strict", stopped, task="combine")
    for says in ("LookAtTheData", "expect_column_values_to_be_in_set", "page"):
        assert says in said
    assert [row.status for row in ledger(airflow, "strict")] == ["stopped"]


def test_a_run_that_is_marked_as_failed_while_it_waits_has_failed(airflow: Services, stopped: str) -> None:
    run = airflow.trigger("strict", **{"from": "2024-01-02", "to": "2024-01-03"})
    await_that(
        lambda: airflow.tasks("strict", run)["choose_batch"]["state"] == "up_for_reschedule", RUN_SECONDS
    )
    airflow.ask("PATCH", f"dags/strict/dagRuns/{run}", state="failed")
    await_that(
        lambda: airflow.tasks("strict", run)["close_spark"]["state"] in ("upstream_failed", "skipped"),
        RUN_SECONDS,
    )
    assert airflow.outcome("strict", run) == "failed"
    assert [row.batch for row in ledger(airflow, "strict")] == [FIRST]


def test_the_spark_of_a_run_ends_with_it_also_when_it_fails(airflow: Services, stopped: str) -> None:
    assert airflow.tasks("strict", stopped)["close_spark"]["end_date"] is not None
    left = [path.parent.name for path in airflow.folder.glob("tmp/sash-spark-*/*/server.json")]
    assert left == ["always"]


@pytest.mark.slow
def test_a_run_that_is_cleared_whole_twice_is_for_its_own_batch_again(airflow: Services) -> None:
    run = airflow.trigger("hourly")
    assert airflow.outcome("hourly", run) == "success"
    (row,) = ledger(airflow, "hourly")
    spec = airflow.folder / "dags" / "hourly.yml"
    text = spec.read_text()
    # Where `open_batch` fails it tells no batch any more, and the one that has run is published still.
    spec.write_text(text.replace("key: []", "key: [page]"))
    whole = {name.split()[0] for name in airflow.tasks("hourly", run)}
    airflow.clear("hourly", run, *whole)
    assert airflow.outcome("hourly", run) == "failed"
    assert airflow.tasks("hourly", run)["open_batch"]["state"] == "failed"
    spec.write_text(text)
    airflow.clear("hourly", run, *whole)
    assert airflow.outcome("hourly", run) == "success"
    assert [it.batch for it in ledger(airflow, "hourly")] == [row.batch]


@pytest.mark.slow
def test_once_it_is_put_right_clearing_the_failed_tasks_goes_on(airflow: Services, stopped: str) -> None:
    path = airflow.folder / "expectations" / "strict.yml"
    path.write_text(NOBODY_VISITS_A.replace("stop", "warn"))
    cleared = airflow.ask(
        "POST", "dags/strict/clearTaskInstances", dag_run_id=stopped, only_failed=True, dry_run=False
    )
    names = {it["task_id"] for it in cleared["task_instances"]}
    assert names == {"combine", "finalise", "publish", "close_spark"}
    assert airflow.outcome("strict", stopped) == "success"
    (row,) = ledger(airflow, "strict")
    assert (row.batch, row.status, row.watermark_after_us) == (FIRST, "published", LATEST_US)
    assert windows(airflow, "strict") == {("a", hour(0), 2), ("b", hour(1), 1)}


def test_a_backfill_runs_its_days_one_after_the_other(airflow: Services, visits: str) -> None:
    runs = airflow.ask("GET", "dags/daily/dagRuns?run_type=backfill")["dag_runs"]
    assert {airflow.outcome("daily", run["dag_run_id"]) for run in runs} == {"success"}
    first, second = ledger(airflow, "daily")
    assert (first.batch, second.batch) == (FIRST, SECOND)
    assert first.finished_at_us is not None
    assert second.started_at_us is not None
    assert first.finished_at_us < second.started_at_us


@pytest.mark.slow
def test_a_backfill_of_what_has_run_backwards_and_at_once_changes_nothing(
    airflow: Services, visits: str
) -> None:
    for run in airflow.ask("GET", "dags/daily/dagRuns?run_type=backfill")["dag_runs"]:
        assert airflow.outcome("daily", run["dag_run_id"]) == "success"
    before = ledger(airflow, "daily"), stored(airflow, "panes", pipeline="daily")
    create_beside_scheduler(
        airflow,
        "daily",
        from_date="2024-01-01T00:00:00Z",
        to_date="2024-01-02T00:00:00Z",
        run_backwards=True,
        max_active_runs=2,
        reprocess_behavior="completed",
    )

    def have_run_again() -> bool:
        runs = airflow.ask("GET", "dags/daily/dagRuns?run_type=backfill")["dag_runs"]
        tasks = [airflow.tasks("daily", run["dag_run_id"]) for run in runs]
        return all(it["choose_batch"]["try_number"] == 2 for it in tasks) and all(
            run["state"] == "success" for run in runs
        )

    await_that(have_run_again, 600)
    assert (ledger(airflow, "daily"), stored(airflow, "panes", pipeline="daily")) == before
