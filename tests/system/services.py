"""A real Airflow of our own: its home, database and ports in a folder, its processes ours to end."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psutil

from pipelines.orchestration.embedded import stop_server

AIRFLOW = [sys.executable, "-m", "airflow"]
UP_SECONDS = 120
RUN_SECONDS = 240
REST_SECONDS = 60
Json = dict[str, object]


class Services:
    """Airflow on SQLite with a LocalExecutor: `start`, then ask it over REST, then `stop` whatever
    happened.
    """

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.processes: list[psutil.Popen] = []
        self.token: str | None = None
        self.environment = {**os.environ, **self._settings(), **variables}

    def run(self, *command: str) -> str:
        """Run an `airflow` command to its end; returns what it said."""
        done = subprocess.run(
            [*AIRFLOW, *command], env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self, *commands: str) -> None:
        """Start services in the background, each with a log of its own."""
        for command in commands:
            with (self.folder / f"{command}.log").open("w") as log:
                self.processes.append(
                    psutil.Popen(
                        [*AIRFLOW, command],
                        env=self.environment,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )

    def end(self, command: str) -> None:
        """Let one of the services end by itself."""
        (process,) = [it for it in self.processes if it.args[-1] == command]
        self.processes.remove(process)
        process.terminate()
        process.wait(UP_SECONDS)

    def stop(self) -> None:
        """End what was started, its children too, and the Sparks that tasks have left."""
        family = [it for process in self.processes if process.is_running() for it in process.children(True)]
        for process in [*self.processes, *family]:
            send(process, signal.SIGTERM)
        _, alive = psutil.wait_procs([*self.processes, *family], timeout=10)
        for process in alive:
            send(process, signal.SIGKILL)
        for record in self.folder.glob("tmp/sash-spark-*/*/server.json"):
            stop_server(record.parent)

    def ask(self, method: str, path: str, **content: object) -> Json:
        """Ask the REST API; an answer that is an error fails the test with its text."""
        if self.token is None:
            self.token = httpx.get(f"{self.address}/auth/token", timeout=REST_SECONDS).json()["access_token"]
        answer = httpx.request(
            method,
            f"{self.address}/api/v2/{path}",
            json=content or None,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=REST_SECONDS,
        )
        assert answer.is_success, answer.text
        return answer.json()

    def trigger(self, dag: str, *, interval: Mapping[str, str] | None = None, **conf: object) -> str:
        """Trigger a run as the web form does, which fills in the clock; returns its id."""
        said = {"logical_date": datetime.now(UTC).isoformat(), **(interval or {})}
        return str(self.ask("POST", f"dags/{dag}/dagRuns", conf=conf, **said)["dag_run_id"])

    def clear(self, dag: str, run: str, *tasks: str) -> None:
        """Let tasks of a run be done again, as its page does, without those after them."""
        self.ask(
            "POST",
            f"dags/{dag}/clearTaskInstances",
            dag_run_id=run,
            task_ids=list(tasks),
            only_failed=False,
            include_downstream=False,
            dry_run=False,
        )

    def outcome(self, dag: str, run: str) -> str:
        """How a run ended."""
        path = f"dags/{dag}/dagRuns/{run}"
        await_that(lambda: self.ask("GET", path)["state"] in ("success", "failed"), RUN_SECONDS)
        return str(self.ask("GET", path)["state"])

    def tasks(self, dag: str, run: str) -> dict[str, Json]:
        """The tasks of a run by name; mapped ones by the name of what they are mapped over."""
        answer = self.ask("GET", f"dags/{dag}/dagRuns/{run}/taskInstances")
        told: dict[str, Json] = {}
        for it in answer["task_instances"]:
            name = it["task_id"] if it["map_index"] < 0 else f"{it['task_id']} {it['rendered_map_index']}"
            told[name] = it
        return told

    def log(self, dag: str, run: str, *, task: str) -> str:
        """What the first try of a task has logged."""
        path = f"dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs/1?map_index=-1&full_content=true"
        return str(self.ask("GET", path)["content"])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def is_up(self, dags: set[str]) -> bool:
        """Whether the server answers and all the DAGs have been read."""
        try:
            return dags <= {it["dag_id"] for it in self.ask("GET", "dags")["dags"]}
        except httpx.TransportError:
            return False

    def _settings(self) -> dict[str, str]:
        temporary = self.folder / "tmp"
        temporary.mkdir()
        return {
            "AIRFLOW_HOME": str(self.folder),
            "TMPDIR": str(temporary),
            # SQLite gives up after five seconds, for which a busy machine may hold its lock.
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.folder / 'airflow.db'}?timeout=60",
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.folder / "dags"),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "pipelines.orchestration.executor.ReadyLocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "3",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.address}/execution/",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
            # Nobody changes the files meanwhile, and to parse them again takes a part of a core.
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",
        }


def await_that(holds: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds; fails when it does not in time."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds} seconds"
        time.sleep(1)


def send(process: psutil.Process, what: signal.Signals) -> None:
    try:
        process.send_signal(what)
    except psutil.NoSuchProcess:
        return


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
