"""The DAG files as Airflow reads them: without errors, quickly, and with nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

from tests.orchestration.conftest import SPEC

DAGS = Path(__file__).resolve().parents[2] / "dags"
PARSE_SECONDS = 0.5
DAG_FILE = "# an Airflow DAG\nfrom pipelines.orchestration import windowed_dag\ndag = windowed_dag({!r})\n"

IN_A_FRESH_PROCESS = """
import importlib.util, json, sys, time
from airflow.sdk import DAG, task, TaskGroup, Asset, Param, DeltaDataIntervalTimetable
from airflow.sdk import ExceptionRetryPolicy, PokeReturnValue
task.sensor, task.python  # the decorators are Airflow's own import, too
files, seconds = json.loads(sys.argv[1]), {}
for file in files:
    began = time.process_time()
    spec = importlib.util.spec_from_file_location("a_dag_file", file)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    seconds[file] = time.process_time() - began
print(json.dumps({"seconds": seconds, "modules": sorted(sys.modules)}))
"""


def dag_files() -> list[str]:
    return sorted(str(path) for path in DAGS.glob("*.py"))


def bag(folder: Path) -> DagBag:
    return DagBag(folder, known_pools={"default_pool"})


def test_there_are_dag_files() -> None:
    assert len(dag_files()) >= 2


@pytest.mark.system
def test_all_of_them_parse_quickly_and_load_nothing_heavy() -> None:
    command = [sys.executable, "-c", IN_A_FRESH_PROCESS, json.dumps(dag_files())]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=DAGS.parent)
    told = json.loads(done.stdout.splitlines()[-1])
    assert all(seconds < PARSE_SECONDS for seconds in told["seconds"].values()), told["seconds"]
    heavy = {"pyspark", "delta", "deltalake", "great_expectations", "pandas", "pyarrow"}
    assert heavy.isdisjoint(told["modules"])


def test_airflow_finds_a_dag_in_each_and_no_error() -> None:
    found = bag(DAGS)
    assert found.import_errors == {}
    assert {"airport_traffic", "example_own_dag", "upkeep"} <= set(found.dags)
    assert {dag.fileloc for dag in found.dags.values()} == set(dag_files())


def test_the_example_runs_the_stages_between_the_tasks_of_its_own() -> None:
    dag = bag(DAGS).dags["example_own_dag"]
    assert dag.get_task("extract").downstream_task_ids == {"airport_traffic.choose_batch"}
    assert dag.get_task("notify").upstream_task_ids == {"airport_traffic.publish"}


def test_a_spec_that_is_wrong_is_an_import_error_with_every_problem_of_it(tmp_path: Path) -> None:
    (tmp_path / "visits.yml").write_text(SPEC.replace("1 hour", "1 month") + "colour: blue\n")
    text = DAG_FILE.format("visits.yml")
    (tmp_path / "visits.py").write_text(text)
    (error,) = bag(tmp_path).import_errors.values()
    for says in ("visits.yml has 2 problems", "1 month", "colour"):
        assert says in error


def test_a_spec_that_is_not_there_is_an_import_error_that_names_it(tmp_path: Path) -> None:
    text = (
        "# an Airflow DAG\nfrom pipelines.orchestration import windowed_dag\ndag = windowed_dag('gone.yml')\n"
    )
    (tmp_path / "visits.py").write_text(text)
    (error,) = bag(tmp_path).import_errors.values()
    assert "gone.yml" in error


def test_dag_files_may_not_import_anything_heavy(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--config", str(DAGS / "ruff.toml")]
    for line, passes in (("from pyspark.sql import Row", False), ("from airflow.sdk import DAG", True)):
        file = tmp_path / "a_dag.py"
        file.write_text(f'"""A DAG."""\n\n{line}\n\n__all__ = ["{line.split()[-1]}"]\n')
        done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is passes, done.stdout


@pytest.mark.parametrize("file", dag_files(), ids=lambda it: Path(it).name)
def test_airflow_looks_into_the_file(file: str) -> None:
    # It skips files that do not name both words.
    text = Path(file).read_text().lower()
    assert "airflow" in text
    assert "dag" in text
