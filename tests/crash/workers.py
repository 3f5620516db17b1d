"""Workers as seen from outside: started, told, paused, killed, and hindered at writing."""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from pipelines.stages import Request
from tests.crash.by_stages import Task
from tests.crash.killing import QUICK, Victim, kill, send

# A superuser writes whatever the permissions say, unless this is taken from it.
WITHOUT_OVERRIDE = ["setpriv", "--bounding-set", "-dac_override"]


@dataclass(frozen=True)
class Command:
    """A command of `sash`, and what is said after the spec."""

    name: str
    words: tuple[str, ...] = ()


Asked = Request | Command


class Worker:
    """One process with a session of its own. It is ready when it has said so."""

    def __init__(self, store: Path) -> None:
        words = [sys.executable, "-m", "tests.crash.worker", store]
        limited = WITHOUT_OVERRIDE if os.geteuid() == 0 and shutil.which("setpriv") else []
        self.process = subprocess.Popen(
            [*limited, *map(str, words)],
            env={**os.environ, **QUICK},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            # What ends the soak, and is said to all that it has started, ends no batch in the middle.
            start_new_session=True,
        )
        self.is_ready = False

    def tell(self, asked: Asked, *, spec: Path, tasks: Sequence[Task] = ()) -> None:
        """Ask for a batch of a pipeline, or for something else, and do not wait for it; `tasks`: for these of
        its stages, as Airflow asks for them.
        """
        self.wait_until_ready()
        told: dict[str, object]
        if isinstance(asked, Command):
            told = {"words": [asked.name, str(spec), *asked.words]}
        else:
            bounds = (asked.batch.start_us, asked.batch.end_us)
            told = {**asdict(asked), "spec": str(spec), "batch": bounds, "tasks": tasks}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        """What it says next; nothing if it is dead."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    @property
    def has_answered(self) -> bool:
        """Whether an answer waits to be read, or none will come."""
        return bool(select.select([self.process.stdout], [], [], 0)[0])

    def wait_until_ready(self) -> None:
        if not self.is_ready:
            assert self.answer() == "ready", "a worker did not start"
            self.is_ready = True

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def kill(self, victim: Victim = "both") -> None:
        kill(self.process.pid, victim=victim)
        if victim != "jvm":
            self.process.wait()

    def pause(self) -> None:
        self._send(signal.SIGSTOP)

    def go_on(self) -> None:
        self._send(signal.SIGCONT)

    def limit_files(self, most_bytes: int) -> None:
        """No file can grow beyond so many bytes, as on a disk that is full; -1 takes the limit back."""
        for process in self._all():
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))

    def _send(self, what: signal.Signals) -> None:
        for process in self._all():
            send(process, what)

    def _all(self) -> list[psutil.Process]:
        root = psutil.Process(self.process.pid)
        return [root, *root.children(recursive=True)]
