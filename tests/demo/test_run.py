"""`make demo` itself: real Airflow, real flights, and nothing left running after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from demo.place import AIRFLOW_HOME, DAG, DATA_DOCS, LOGS, PICTURE, ROOT, STORE
from pipelines.store.reader import count_rows

pytestmark = [pytest.mark.slow, pytest.mark.system]

DEMO = [sys.executable, "-m", "demo.run"]
PRINTED = (
    "2013-02-01 00:00  2014-01-03 00:00  published     310,128     301,942       0          8,186",
    "JFK       rolling   2013-01-07 14:00  LATE                 1         26",
    "event_time is null                                                 8,713  quarantined",
    "Picture    var/demo/newark.png",
    "Data Docs  var/demo/store/airport_traffic/data_docs/index.html",
    "source var/demo/variables && airflow standalone",
    "source var/demo/variables && airflow dags trigger airport_traffic --conf",
)
"""Of the ledger, the windows, the findings, the places and the two lines that go on from there."""


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Where what the demo prints is kept."""
    return tmp_path / "told"


@pytest.fixture
def demo(told: Path) -> Iterator[subprocess.Popen[bytes]]:
    with told.open("wb") as output:
        process = subprocess.Popen(DEMO, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        yield process
        process.terminate()
        process.wait(60)


def left_running() -> list[str]:
    """Processes that work for the demo's Airflow, by what they were started with."""
    found = []
    for process in psutil.process_iter(["environ", "cmdline"]):
        if process.pid != os.getpid() and (process.info["environ"] or {}).get("AIRFLOW_HOME") == str(
            AIRFLOW_HOME
        ):
            found.append(" ".join(process.info["cmdline"]))
    return found


def pids() -> list[int]:
    return [int(path.read_text().split()[0]) for path in LOGS.glob("*.pid")]


def await_line(told: Path, words: str) -> None:
    until = time.monotonic() + 300
    while words not in told.read_text():
        if time.monotonic() > until:
            raise TimeoutError(f"the demo did not come to `{words}`; it said:\n{told.read_text()}")
        time.sleep(0.5)


def test_a_year_of_flights_becomes_windows_and_a_picture(demo: subprocess.Popen[bytes], told: Path) -> None:
    assert demo.wait(1500) == 0, told.read_text()
    assert count_rows(str(STORE), DAG, table="windows", where="window = 'hourly'") == 21_103
    assert count_rows(str(STORE), DAG, table="windows", where="window = 'rolling'") == 44_152
    assert count_rows(str(STORE), DAG, table="quarantine") == 8_713
    assert count_rows(str(STORE), DAG, table="runs", where="status = 'published'") == 6
    assert [line for line in PRINTED if line not in told.read_text()] == []
    assert PICTURE.stat().st_size > 10_000
    assert DATA_DOCS.is_file()
    assert left_running() == []
    assert not any(psutil.pid_exists(pid) for pid in pids())


def test_a_demo_that_is_interrupted_leaves_nothing_running(demo: subprocess.Popen[bytes], told: Path) -> None:
    await_line(told, "accumulate")
    demo.send_signal(signal.SIGINT)
    assert demo.wait(120) == 130
    assert left_running() == []
    assert not any(psutil.pid_exists(pid) for pid in pids())
