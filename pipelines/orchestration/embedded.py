"""The embedded Spark: one Connect server for one DAG run on this machine, for whoever has no cluster.

Which server belongs to a run is a matter of the run's name alone, so any task of it finds the server,
starts one where there is none, and ends it, also when the task that started it was killed before it could
tell.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # it ships no types

from pipelines.errors import CorrectTheCall, RunAgain
from pipelines.orchestration import spark_server

IDLE_SECONDS = 30 * 60
"""Longer than any pause between two tasks of a run that is well."""
READY_SECONDS = 180
PORTS_TRIED = 3
LOG_LINES = 25

Launch = Callable[[int], tuple[list[str], Mapping[str, str]]]
"""For a port: the command that serves there in the foreground, and its environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that runs: the process that watches over it, and the port that clients connect to."""

    pid: int
    began: float
    port: int
    token: str
    is_ready: bool

    @property
    def address(self) -> str:
        """Where clients connect. It holds the server's secret, so it is not for logs."""
        return f"sc://localhost:{self.port}/;token={self.token}"

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        try:
            return not self.is_another() and bool(psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    def is_another(self) -> bool:
        """Whether the process's number has been given to another one since."""
        try:
            return bool(psutil.Process(self.pid).create_time() != self.began)
        except psutil.NoSuchProcess:
            return False


def folder_of(run: str) -> Path:
    """Where the server of a run keeps its record and log: a name for a run is a folder of this user's own."""
    home = os.environ.get("AIRFLOW_HOME", "")
    digest = hashlib.sha256(f"{home}\0{run}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"sash-spark-{os.getuid()}" / digest


def ensure_server(folder: Path, launch: Launch, *, idle_seconds: float = IDLE_SECONDS) -> Server:
    """The server of the folder, started if none runs. Raises `RunAgain`, with the end of its log, if it
    does not come up.
    """
    with _held(folder):
        running = running_server(folder)
        if running is not None and running.is_ready:
            return running
        _end(_recorded(folder))
        for tried in range(1, PORTS_TRIED + 1):
            started = _start(folder, launch, idle_seconds=idle_seconds)
            if started is not None:
                return started
            if tried == PORTS_TRIED or not _was_taken(folder):
                break
    raise RunAgain(
        "the embedded Spark server did not come up; run the task again, or name a Spark of your own in "
        f"the connection `sash_spark`. Its log ends so:\n{_log_end(folder)}"
    )


def running_server(folder: Path) -> Server | None:
    """The server of the folder, if one runs."""
    server = _recorded(folder)
    return server if server is not None and server.is_alive() else None


def stop_server(folder: Path) -> bool:
    """End the server of the folder and forget it; returns whether there was one. Nothing happens the
    second time.
    """
    if not folder.is_dir():
        return False
    with _held(folder):
        server = _recorded(folder)
        was_alive = server is not None and server.is_alive()
        _end(server)
        shutil.rmtree(folder, ignore_errors=True)
    return was_alive


def _start(folder: Path, launch: Launch, *, idle_seconds: float) -> Server | None:
    port = _free_port()
    command, environment = launch(port)
    # By its path, and without that path's folder among the imports: as a module it would import Airflow
    # first.
    watched = [
        sys.executable,
        "-P",
        spark_server.__file__,
        str(folder),
        str(port),
        str(idle_seconds),
        *command,
    ]
    with (folder / spark_server.LOG).open("wb") as log:
        process = subprocess.Popen(
            watched,
            env={**environment, spark_server.TOKEN: secrets.token_urlsafe(32)},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return _await(folder, process)


def _await(folder: Path, process: subprocess.Popen[bytes]) -> Server | None:
    until = time.monotonic() + READY_SECONDS
    try:
        while process.poll() is None and time.monotonic() < until:
            server = _recorded(folder)
            if server is not None and server.pid == process.pid and server.is_ready:
                return server
            time.sleep(0.2)
    except BaseException:
        _end_group(process.pid)
        raise
    _end_group(process.pid)
    process.wait()
    return None


def _recorded(folder: Path) -> Server | None:
    try:
        return Server(**json.loads((folder / spark_server.RECORD).read_text()))
    except FileNotFoundError:
        return None


def _end(server: Server | None) -> None:
    """End a server: the process that watches, which ends the JVM, then whatever is left of the two."""
    if server is None:
        return
    if server.is_alive():
        os.kill(server.pid, signal.SIGTERM)
        until = time.monotonic() + spark_server.GRACE_SECONDS + 5
        while server.is_alive() and time.monotonic() < until:
            time.sleep(0.1)
    if not server.is_another():
        _end_group(server.pid)


def _end_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _was_taken(folder: Path) -> bool:
    log = (folder / spark_server.LOG).read_text(errors="replace")
    return "Address already in use" in log or "BindException" in log


def _free_port() -> int:
    """A port that is free now. Another process may take it first: then the server does not come up, and
    the next one is tried.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _log_end(folder: Path) -> str:
    lines = (folder / spark_server.LOG).read_text(errors="replace").splitlines()
    return "\n".join(lines[-LOG_LINES:])


def _refuse_a_strangers(folder: Path) -> None:
    """Whoever owns it could name another server in it, to which our plans and passwords would go."""
    said = folder.lstat()
    if said.st_uid != os.getuid() or said.st_mode & 0o077 or not stat.S_ISDIR(said.st_mode):
        raise CorrectTheCall(
            f"{folder} is not a folder of this user's alone, so no Spark is started from it: remove it, or "
            "let TMPDIR name another place"
        )


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """One task at a time; whoever dies lets go."""
    path = folder / "lock"
    while True:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        _refuse_a_strangers(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        with path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Whoever held it before may have removed the folder: then what is locked is nobody's any more.
            if path.exists() and path.stat().st_ino == os.fstat(lock.fileno()).st_ino:
                yield
                return
