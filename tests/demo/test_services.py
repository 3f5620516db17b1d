"""What the demo starts it ends, with all that this has started, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from demo import services
from demo.place import DemoError
from demo.services import check, end_leftovers, finish, running, start

PARENT = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
time.sleep(600)
"""
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]

pytestmark = pytest.mark.system


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(services, "LOGS", tmp_path)
    monkeypatch.setattr(services, "GRACE_SECONDS", 2)
    return tmp_path


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is not the demo's."""
    with subprocess.Popen(SLEEP) as process:
        yield process
        process.kill()


def soon(happens: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while not happens() and time.monotonic() < until:
        time.sleep(0.05)
    return happens()


def runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_a_service_is_ended_with_what_it_has_started(tmp_path: Path) -> None:
    told = tmp_path / "child"
    with running({"parent": [sys.executable, "-c", PARENT, str(told)]}, os.environ) as (service,):
        assert soon(lambda: told.is_file() and told.read_text() != "")
        child = int(told.read_text())
        assert runs(child)
        check([service])
    assert service.process.poll() is not None
    assert soon(lambda: not runs(child))


def test_services_are_ended_when_the_block_is_interrupted() -> None:
    def interrupted() -> None:
        with running({"one": SLEEP, "two": SLEEP}, os.environ) as started:
            begun.extend(started)
            raise KeyboardInterrupt

    begun: list[services.Service] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [service.process.poll() is None for service in begun] == [False, False]


def test_a_service_that_does_not_hear_is_killed(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    deaf = (
        "import pathlib, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "pathlib.Path(sys.argv[1]).touch(); time.sleep(600)"
    )
    with running({"deaf": [sys.executable, "-c", deaf, str(ready)]}, os.environ) as (service,):
        assert soon(ready.is_file)
    assert service.process.returncode == -9


def test_a_service_that_has_ended_by_itself_is_told_with_the_end_of_its_log() -> None:
    with running({"short": [sys.executable, "-c", "print('no room'); exit(3)"]}, os.environ) as (service,):
        service.process.wait()
        with pytest.raises(DemoError, match=r"short has ended with exit 3(.|\n)*no room"):
            check([service])
        with pytest.raises(DemoError, match="exit 3"):
            finish(service)


def test_what_a_killed_demo_left_is_ended_by_the_next_one() -> None:
    left = start("left", SLEEP, environment=os.environ)
    end_leftovers()
    assert left.process.poll() is not None


def test_a_process_that_has_got_the_number_of_a_former_service_is_left_alone(
    logs: Path, stranger: subprocess.Popen[bytes]
) -> None:
    (logs / "scheduler.pid").write_text(f"{stranger.pid} 12345.0")
    end_leftovers()
    assert stranger.poll() is None
