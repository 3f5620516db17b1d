"""Ends a running command the hard way as soon as it has written something: SIGKILL, to its Python and its
JVM at once, or to one of them. Or stops it there for as long as somebody copies what a SIGKILL would leave.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, NamedTuple

import psutil

from tests.crash.watching import Watch, What

LOOK_SECONDS = 0.001
WATCH_SECONDS = 0.05
PATIENCE_SECONDS = 300.0
# Most are killed before what a second compiler brings has paid for itself: two thirds of the time. Without
# it a JVM keeps 48 MB for what it compiles, which a long soak fills.
QUICK = {
    "SPARK_SUBMIT_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
    "SASH_MEMORY": "1g",
}

Victim = Literal["both", "jvm", "python"]

PATTERNS: dict[What, str] = {"commit": "*/*/_delta_log/*.json", "data file": "*/*/**/*.parquet"}


class Ended(NamedTuple):
    """Whether a command was killed, all that it said, and the table of its last commit, if it made any."""

    was_killed: bool
    said: str
    last: str | None


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The `number`-th write of a command into a store, counted from 1; or into one table of it.

    Between a data file and the commit that makes it count lies most of a write.
    """

    what: What = "commit"
    number: int = 1
    table: str | None = None


def run_and_kill(command: Sequence[str], store: Path, *, at: Moment, victim: Victim = "both") -> Ended:
    """Start a command and kill it at a moment. One that writes less ends by itself, and has to end well."""
    with Watch(store, at.what) as watch, started(command) as (process, output):
        reached = wait_until(lambda: watch.sees(at.number, table=at.table, seconds=WATCH_SECONDS), process)
        if reached:
            kill(process.pid, victim=victim)
        process.wait(timeout=PATIENCE_SECONDS)
        said = all_of(output)
        assert reached or process.returncode == 0, said
        watch.catch_up()
        return Ended(reached, said, watch.tables[-1] if watch.tables else None)


def run_and_freeze(
    command: Sequence[str], store: Path, *, what: What, keep: Callable[[Sequence[Path]], None]
) -> None:
    """Start a command, and stop all of it at each of its writes while `keep`, which is told what came since
    it was stopped before, looks at what a SIGKILL would leave there: the same, for a process that is stopped
    writes nothing, and one that is killed tidies nothing up. It has to end well.
    """
    with Watch(store, what) as watch, started(command) as (process, output):
        tree, kept = Tree(process.pid), 0
        while wait_until(lambda after=kept: watch.sees(after + 1, seconds=WATCH_SECONDS), process):
            with tree.frozen():
                watch.catch_up()
                keep(watch.writes[kept:])
            kept = len(watch.writes)
        # `None`: it has neither written nor ended for too long.
        assert process.poll() == 0, all_of(output)


def uncommit(commit: Path) -> None:
    """Leave what was there just before a commit to a table, its newest: its data stay, and count for nothing.

    A process that is stopped may have made a commit or two since the one that it was to be stopped at.
    """
    for path in commit.parent.glob(f"*{commit.stem}*"):
        path.unlink()
    newest = commit.parent / "_last_checkpoint"
    if newest.exists() and json.loads(newest.read_text())["version"] >= int(commit.stem):
        newest.unlink()


@contextmanager
def started(command: Sequence[str]) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """A process and the file of all that it says; nothing of it is left in the end."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env={**os.environ, **QUICK}, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            yield process, output
        finally:
            kill(process.pid, victim="both")
            process.wait()


def all_of(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read().decode()


class Tree:
    """A process and all below it. To find those takes longer than a commit: they are remembered."""

    def __init__(self, pid: int) -> None:
        self.root = psutil.Process(pid)
        self.known = [self.root]

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """All stopped, and sent on again."""
        self._send(signal.SIGSTOP)
        self.known = [self.root, *self.root.children(recursive=True)]
        self._send(signal.SIGSTOP)
        while not all(has_stopped(it) for it in self.known):
            time.sleep(LOOK_SECONDS)
        try:
            yield
        finally:
            self._send(signal.SIGCONT)

    def _send(self, what: signal.Signals) -> None:
        for it in self.known:
            send(it, what)


def has_stopped(process: psutil.Process) -> bool:
    """Or has ended."""
    try:
        return process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def written(store: Path, what: What) -> set[Path]:
    """The files of that sort which are there now."""
    return {path for path in store.glob(PATTERNS[what]) if what == "commit" or "_delta_log" not in path.parts}


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[bytes]) -> bool:
    """Whether it came to hold before the process ended."""
    until = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < until:
        if holds():
            return True
        time.sleep(LOOK_SECONDS)
    return False


def kill(pid: int, *, victim: Victim) -> None:
    """SIGKILL to a process of Python's, to the JVM that it started, or to both."""
    if not psutil.pid_exists(pid):
        return
    root = psutil.Process(pid)
    if victim == "both":
        # To find the JVM takes longer than a commit.
        send(root, signal.SIGSTOP)
    below = root.children(recursive=True)
    jvms = [it for it in below if it.is_running() and it.name() == "java"]
    victims = {"both": [root, *below], "jvm": jvms, "python": [root]}[victim]
    for it in victims:
        send(it, signal.SIGKILL)


def send(process: psutil.Process, what: signal.Signals) -> None:
    """A signal, unless the process has ended meanwhile."""
    try:
        process.send_signal(what)
    except psutil.NoSuchProcess:
        return
