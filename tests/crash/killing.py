"""Ends a running command the hard way as soon as it has written something: SIGKILL, to its Python and its
JVM at once, or to one of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import psutil

from tests.crash.watching import Watch

LOOK_SECONDS = 0.001
WATCH_SECONDS = 0.05
PATIENCE_SECONDS = 300.0
# Most are killed before what a second compiler brings has paid for itself: two thirds of the time. Without
# it a JVM keeps 48 MB for what it compiles, which a long soak fills.
QUICK = {
    "SPARK_SUBMIT_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
    "SASH_MEMORY": "1g",
}

What = Literal["commit", "data file"]
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

    def has_come(self, store: Path, stood: set[Path], watch: Watch) -> bool:
        if self.what == "commit":
            return watch.sees(self.number, table=self.table, seconds=WATCH_SECONDS)
        return len(written(store, self.what) - stood) >= self.number


def run_and_kill(command: Sequence[str], store: Path, *, at: Moment, victim: Victim = "both") -> Ended:
    """Start a command and kill it at a moment. One that writes less ends by itself, and has to end well."""
    stood = written(store, at.what)
    with Watch(store) as watch:
        process = subprocess.Popen(
            command,
            env={**os.environ, **QUICK},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            reached = wait_until(lambda: at.has_come(store, stood, watch), process)
            if reached:
                kill(process.pid, victim=victim)
            said, _ = process.communicate(timeout=PATIENCE_SECONDS)
            assert reached or process.returncode == 0, said
            watch.catch_up()
            return Ended(reached, said, watch.tables[-1] if watch.tables else None)
        finally:
            kill(process.pid, victim="both")
            process.wait()


def written(store: Path, what: What) -> set[Path]:
    """The files of that sort which are there now."""
    return {path for path in store.glob(PATTERNS[what]) if what == "commit" or "_delta_log" not in path.parts}


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> bool:
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
