"""The server of a run: started once, found again, ended in every way. Any program that listens will do."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from pipelines.errors import RunAgain
from pipelines.orchestration import embedded, spark_server
from pipelines.orchestration.embedded import Server, ensure_server, running_server, stop_server

LISTENS = """
import socket, sys, threading
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
kept = []
while True:
    kept.append(listening.accept())
"""
FAILS = "import sys; print('no memory for a heap'); sys.exit(7)"
STAYS_SILENT = "import time; time.sleep(60)"

Command = tuple[list[str], Mapping[str, str]]

pytestmark = pytest.mark.system


def runs(program: str) -> Callable[[int], Command]:
    return lambda port: ([sys.executable, "-c", program, str(port)], dict(os.environ))


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.05)
    return False


def child(server: Server) -> psutil.Process:
    return psutil.Process(server.pid).children()[0]


def is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        # Between the two questions.
        return True


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "spark" / "run"
    yield place
    stop_server(place)


def test_a_server_that_is_up_listens_where_it_says(folder: Path) -> None:
    server = ensure_server(folder, runs(LISTENS))
    with socket.create_connection(("127.0.0.1", server.port), timeout=5):
        assert server.address.startswith(f"sc://localhost:{server.port}/;token=")


def test_a_second_task_finds_the_server_of_the_first(folder: Path) -> None:
    first = ensure_server(folder, runs(LISTENS))
    assert ensure_server(folder, runs(FAILS)) == first
    assert running_server(folder) == first


def test_ending_it_ends_both_processes_and_the_second_time_does_nothing(folder: Path) -> None:
    server = ensure_server(folder, runs(LISTENS))
    listening = child(server)
    assert stop_server(folder) is True
    assert is_gone(listening)
    assert not server.is_alive()
    assert not folder.exists()
    assert stop_server(folder) is False


def test_told_to_end_it_ends_the_server(folder: Path) -> None:
    server = ensure_server(folder, runs(LISTENS))
    listening = child(server)
    os.kill(server.pid, signal.SIGTERM)
    assert within(10, lambda: is_gone(listening))


def test_when_the_server_dies_nothing_stays(folder: Path) -> None:
    server = ensure_server(folder, runs(LISTENS))
    child(server).kill()
    assert within(10, lambda: not server.is_alive())
    assert "has ended with exit -9" in (folder / spark_server.LOG).read_text()


def test_when_the_one_that_watches_is_killed_ending_ends_the_server(folder: Path) -> None:
    server = ensure_server(folder, runs(LISTENS))
    listening = child(server)
    os.kill(server.pid, signal.SIGKILL)
    assert within(10, lambda: not server.is_alive())
    assert not is_gone(listening)
    stop_server(folder)
    assert within(10, lambda: is_gone(listening))


def test_a_task_after_a_server_that_died_starts_another(folder: Path) -> None:
    first = ensure_server(folder, runs(LISTENS))
    os.kill(first.pid, signal.SIGTERM)
    assert within(10, lambda: not first.is_alive())
    second = ensure_server(folder, runs(LISTENS))
    assert second.pid != first.pid
    assert second.is_alive()


def test_without_a_client_it_ends_and_with_one_it_stays(folder: Path) -> None:
    server = ensure_server(folder, runs(LISTENS), idle_seconds=2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=5):
        assert not within(5, lambda: not server.is_alive())
    assert within(15, lambda: not server.is_alive())
    assert "no client for 2 seconds" in (folder / spark_server.LOG).read_text()


def test_one_that_does_not_come_up_is_told_with_the_end_of_its_log(folder: Path) -> None:
    with pytest.raises(RunAgain) as refused:
        ensure_server(folder, runs(FAILS))
    assert "no memory for a heap" in str(refused.value)
    assert "exit 7" in str(refused.value)
    assert "sash_spark" in str(refused.value)


def test_one_that_never_listens_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "READY_SECONDS", 2)
    with pytest.raises(RunAgain):
        ensure_server(folder, runs(STAYS_SILENT))
    assert running_server(folder) is None


def test_when_somebody_takes_the_port_first_another_is_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1], embedded._free_port()])
        monkeypatch.setattr(embedded, "_free_port", lambda: next(ports))
        server = ensure_server(folder, runs(LISTENS))
        assert server.port != taken.getsockname()[1]


def test_the_record_is_for_this_user_only(folder: Path) -> None:
    ensure_server(folder, runs(LISTENS))
    assert (folder / spark_server.RECORD).stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0


def test_runs_have_folders_of_their_own_which_every_process_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_HOME", "/opt/airflow")
    assert embedded.folder_of("a\0run 1\0").name == "04241d1525aed0bc"
    assert embedded.folder_of("a\0run 2\0").name != "04241d1525aed0bc"
    monkeypatch.setenv("AIRFLOW_HOME", "/opt/other")
    assert embedded.folder_of("a\0run 1\0").name != "04241d1525aed0bc"
