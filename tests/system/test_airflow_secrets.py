"""What a source keeps secret is in nothing that Airflow writes, keeps or shows of runs that work or fail."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.test_secrets import SECRETS, SPEC, SUITE, text_of
from tests.conftest import SMALL_WORK
from tests.system.services import REST_SECONDS, Services, await_that
from tests.system.serving import DAG_FILE, serving, spark_of

pytestmark = [pytest.mark.slow, pytest.mark.system]

DAG = 'windowed_dag("{name}.yml", spark_conn_id="always", default_args={{"retries": 0}})\n'
WRONG = (
    ("user: me", "user: me\n    passwords: [open-sesame]"),
    ("event_time: at", "pasword: open-sesame\n  event_time: at"),
    ("format: jdbc", "format: jdbc\n  path: [jdbc:derby:no;password=word-in-the-address]"),
    ("tumbling: 1 hour", "tumbling: an hour"),
)
"""What makes a spec wrong beside and in its secrets: Airflow keeps what is said of it."""
FAILS = {
    "no such table": (("APP.rides", "APP.walks"), "WALKS"),
    "no such database": (("jdbc:derby:", "jdbc:nowhere:"), "password=***"),
    "no such number": (("event_time: at", 'where: "1 / (fare - fare) > 0"\n  event_time: at'), "fare - fare"),
}
"""What is changed so that a run fails, and what is then said."""
RIDES = """\
import sys
from pipelines.session import open_session

rides = open_session(sys.argv[1]).sql(
    "SELECT * FROM VALUES ('Bern', 1.0D, TIMESTAMP '2024-01-01 07:00:00'), "
    "('Bern', -1.0D, TIMESTAMP '2024-01-01 08:00:00'), (null, 9.0D, TIMESTAMP '2024-01-01 09:00:00') "
    "AS rides(city, fare, at)"
)
rides.write.format("jdbc").options(url=sys.argv[2], dbtable="rides").save()
"""
BOUNDS = {"from": "2024-01-01", "to": "2024-01-02"}
TASKS = ("choose_batch", "open_batch", "combine", "finalise", "publish", "close_spark")
OF_DAG = (
    *("dags", "dags/rides", "dags/rides/details", "dags/rides/tasks", "dags/rides/dagVersions"),
    *("dagSources/rides", "assets", "assets/events", "importErrors", "dagWarnings", "eventLogs?limit=1000"),
)
PAGES = (
    *("", "dags/rides", "ui/dags", "ui/grid/runs/rides", "ui/grid/structure/rides", "ui/dependencies"),
    "ui/structure/structure_data?dag_id=rides",
)


def url_in(folder: Path) -> str:
    return f"jdbc:derby:{folder}/derby;create=true"


def spec_in(folder: Path, *changes: tuple[str, str], name: str = "rides") -> None:
    """Write the spec, with what is to be changed in it."""
    written = SPEC.replace("name: rides", f"name: {name}").replace("URL", url_in(folder))
    for old, new in changes:
        assert old in written, old
        written = written.replace(old, new)
    (folder / "dags" / f"{name}.yml").write_text(written)


def write_rides(airflow: Services) -> None:
    """Let the Spark that is always there make the database: another could not open it then."""
    words = (spark_of(airflow).address, url_in(airflow.folder))
    subprocess.run([sys.executable, "-c", RIDES, *words], check=True, timeout=300)


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Airflow with a DAG whose source has secrets, and a file with one that is wrong."""
    folder = tmp_path_factory.mktemp("airflow")
    (folder / "dags").mkdir()
    (folder / "dags" / "suite.yml").write_text(SUITE)
    spec_in(folder)
    spec_in(folder, *WRONG, name="wrong")
    for name in ("rides", "wrong"):
        (folder / "dags" / f"{name}.py").write_text(DAG_FILE + DAG.format(name=name))
    with serving(folder, {"rides"}, before_scheduling=write_rides, settings=SMALL_WORK) as services:
        yield services


@pytest.fixture(scope="module")
def runs(airflow: Services) -> dict[str, str]:
    """A run that works, and those that fail, by why."""
    found = {"works": airflow.trigger("rides", **BOUNDS, final=True)}
    assert airflow.outcome("rides", found["works"]) == "success"
    for why, (change, _) in FAILS.items():
        spec_in(airflow.folder, change)
        found[why] = airflow.trigger("rides", **BOUNDS)
        assert airflow.outcome("rides", found[why]) == "failed", why
    return found


@pytest.fixture(scope="module")
def words(airflow: Services) -> tuple[str, ...]:
    """The secrets of the source, and that of the connection to Spark."""
    return (*SECRETS, spark_of(airflow).token)


def kept(airflow: Services) -> dict[str, str]:
    """What every file says that Airflow, its tasks and Spark have written: but for the specs, the database
    that is read, and the note of the Spark's own secret, which only its owner may read.
    """
    notes = set(airflow.folder.glob("tmp/sash-spark-*/*/server.json"))
    own = [airflow.folder / "dags", airflow.folder / "derby"]
    paths = [path for path in airflow.folder.rglob("*") if path.is_file() and path not in notes]
    return {
        str(path.relative_to(airflow.folder)): text_of(path)
        for path in paths
        if not any(folder in path.parents for folder in own)
    }


def shown(airflow: Services, run: str) -> dict[str, str]:
    """What the API says of the DAG and a run, its tries and XComs, and what their pages are made of."""
    of_run = f"dags/rides/dagRuns/{run}"
    paths = [*OF_DAG, of_run, f"{of_run}/taskInstances", f"{of_run}/upstreamAssetEvents"]
    for it in airflow.ask("GET", f"{of_run}/taskInstances")["task_instances"]:
        task = f"{of_run}/taskInstances/{it['task_id']}"
        paths.append(task if it["map_index"] < 0 else f"{task}/{it['map_index']}")
        if it["pid"] is not None:
            paths.append(f"{task}/logs/1?map_index={it['map_index']}&full_content=true")
    for it in airflow.ask("GET", f"{of_run}/taskInstances/~/xcomEntries?limit=1000")["xcom_entries"]:
        entry = f"{of_run}/taskInstances/{it['task_id']}/xcomEntries/{it['key']}"
        paths.append(f"{entry}?map_index={it['map_index']}")
    headers = {"Authorization": f"Bearer {airflow.token}"}
    found = {}
    for path in (*(f"api/v2/{path}" for path in paths), *PAGES):
        answer = httpx.get(f"{airflow.address}/{path}", headers=headers, timeout=REST_SECONDS)
        assert answer.is_success, (path, answer.text)
        found[path] = answer.text
    return found


def test_no_file_has_a_secret(airflow: Services, runs: dict[str, str], words: tuple[str, ...]) -> None:
    said = kept(airflow)
    for word in words:
        assert [path for path, text in said.items() if word in text] == []
    kinds = ("airflow.db", "scheduler.log", "api-server.log", "dag-processor.log", "server.log", ".html")
    for kind in (*kinds, ".parquet", "_delta_log", *(f"task_id={task}/" for task in TASKS)):
        assert any(kind in path for path in said), kind
    # What stands beside the secrets is there: it was looked where they would be.
    database = "".join(text for path, text in said.items() if path.startswith("airflow.db"))
    for beside in ("rides.yml", "publish", "wrong.yml", "pasword"):
        assert beside in database, beside


def test_a_run_that_fails_tells_why_with_stars_for_the_secrets(
    airflow: Services, runs: dict[str, str]
) -> None:
    for why, (_, word) in FAILS.items():
        logs = airflow.folder.glob(f"logs/dag_id=rides/run_id={runs[why]}/**/*.log")
        assert any(word in log.read_text() for log in logs), why


def test_no_page_and_no_answer_has_a_secret(
    airflow: Services, runs: dict[str, str], words: tuple[str, ...]
) -> None:
    await_that(lambda: airflow.ask("GET", "importErrors")["total_entries"] == 1, 60)
    for run in runs.values():
        said = shown(airflow, run)
        for word in words:
            assert [path for path, text in said.items() if word in text] == []
        assert "windowed_dag" in said["api/v2/dagSources/rides"]
        assert "pasword" in said["api/v2/importErrors"]
