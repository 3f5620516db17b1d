"""Processes that run for as long as a block of the demo lasts.

Each is in a session of its own, so that a Ctrl-C is for the demo alone to hear. At the end each is ended by
its number, with all that it has started; what a demo that was killed has left, the next one ends.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from demo.place import LOGS, DemoError

GRACE_SECONDS = 10
LOG_LINES = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A process of ours, and where what it says is kept."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def running(
    commands: Mapping[str, Sequence[str]], environment: Mapping[str, str]
) -> Iterator[tuple[Service, ...]]:
    """Starts each command and ends them all with the block, however it ends."""
    started: list[Service] = []
    try:
        for name, command in commands.items():
            started.append(start(name, command, environment=environment))
        yield tuple(started)
    finally:
        end(started)


def start(name: str, command: Sequence[str], *, environment: Mapping[str, str]) -> Service:
    path = LOGS / f"{name}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    began = psutil.Process(process.pid).create_time()
    path.with_suffix(".pid").write_text(f"{process.pid} {began}")
    return Service(name=name, process=process, log=path)


def end_leftovers() -> None:
    """Ends what a demo that was killed could not end. Whoever has got such a number since is left alone."""
    for path in LOGS.glob("*.pid"):
        pid, began = path.read_text().split()
        found = family(int(pid))
        if found and found[0].create_time() == float(began):
            end_all(found)


def finish(service: Service) -> None:
    """Waits until a process that ends by itself has ended well."""
    if service.process.wait() != 0:
        raise DemoError(told_end(service))


def check(services: Sequence[Service]) -> None:
    """Raises `DemoError` where one that should run has ended."""
    for service in services:
        if service.process.poll() is not None:
            raise DemoError(told_end(service))


def told_end(service: Service) -> str:
    lines = service.log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    how = f"{service.name} has ended with exit {service.process.returncode}"
    return "\n".join([f"{how}. Its log, {service.log}, ends so:", *lines])


def end(services: Sequence[Service]) -> None:
    """Ends them, the last one started first."""
    for service in reversed(services):
        end_all(family(service.process.pid))
        service.process.wait()


def end_all(processes: Sequence[psutil.Process]) -> None:
    """Asks the first of a family to end, and kills whoever is left of it after a while."""
    for first in processes[:1]:
        with suppress(psutil.NoSuchProcess):
            first.terminate()
    _, left = psutil.wait_procs(processes, timeout=GRACE_SECONDS)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def family(pid: int) -> list[psutil.Process]:
    """A process and all that it has started, and that these have; none once it has ended."""
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
