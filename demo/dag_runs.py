"""DAG runs, asked for and watched over Airflow's REST interface, as any program outside could.

What comes back is taken apart here and nowhere else.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import quote

from demo.place import DAG, TASK_LOGS, DemoError

Answer = Mapping[str, object]

LOG_LINES = 30
TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task of a run. Of mapped ones each is a task, and `of` tells which."""

    name: str
    of: str
    map_index: int
    state: str
    tries: int

    def __str__(self) -> str:
        return f"{self.name} {self.of}".strip()


@dataclass(frozen=True, slots=True)
class Airflow:
    """The Airflow at `http://127.0.0.1:<port>`, asked by whoever holds the token."""

    port: int
    token: str

    @classmethod
    def at(cls, port: int) -> Airflow | None:
        """The Airflow there, once its page answers."""
        try:
            return cls(port, str(_ask(f"http://127.0.0.1:{port}/auth/token")["access_token"]))
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def knows_the_dag(self) -> bool:
        """Whether the DAG has been read. Raises `DemoError` if it cannot be."""
        broken = cast(Sequence[Answer], self._ask("/importErrors")["import_errors"])
        for error in broken:
            if str(error["filename"]).endswith(f"{DAG}.py"):
                raise DemoError(f"Airflow cannot read the DAG:\n{error['stack_trace']}")
        try:
            self._ask(f"/dags/{DAG}")
        except urllib.error.HTTPError:
            return False
        return True

    def unpause(self) -> None:
        """Lets runs of the DAG begin."""
        self._ask(f"/dags/{DAG}", {"is_paused": False}, method="PATCH")

    def trigger(self, run: str, params: Mapping[str, str]) -> None:
        """Asks for a run of the DAG, with these params of its form."""
        self._ask(f"/dags/{DAG}/dagRuns", {"dag_run_id": run, "logical_date": None, "conf": params})

    def state(self, run: str) -> str:
        """`queued`, `running`, `success` or `failed`."""
        return str(self._ask(f"/dags/{DAG}/dagRuns/{quote(run)}")["state"])

    def tasks(self, run: str) -> list[Task]:
        """The tasks of a run that are known so far, in the order in which they began."""
        answer = self._ask(f"/dags/{DAG}/dagRuns/{quote(run)}/taskInstances?limit=100")
        found = cast(Sequence[Answer], answer["task_instances"])
        return [_task(it) for it in sorted(found, key=lambda it: str(it["start_date"] or "~"))]

    def _ask(self, path: str, body: Answer | None = None, *, method: str | None = None) -> Answer:
        url = f"http://127.0.0.1:{self.port}/api/v2{path}"
        return _ask(url, body, method=method, token=self.token)


def log_end(run: str, task: Task) -> str:
    """The last lines that a task has logged, with its error in words."""
    folder = TASK_LOGS / f"dag_id={DAG}" / f"run_id={run}" / f"task_id={task.name}"
    mapped = folder / f"map_index={task.map_index}" if task.map_index >= 0 else folder
    path = mapped / f"attempt={task.tries}.log"
    if not path.is_file():
        return f"there is no log at {path}"
    records = [
        cast(Answer, json.loads(line)) for line in path.read_text().splitlines() if line.startswith("{")
    ]
    said = [str(record["event"]) for record in records if not str(record["event"]).startswith("::")]
    errors = [
        f"{error['exc_type']}: {error['exc_value']}"
        for record in records
        for error in cast(Sequence[Answer], record.get("error_detail", ()))
    ]
    return "\n".join([*said[-LOG_LINES:], *errors, f"The whole log is {path}"])


def _task(found: Answer) -> Task:
    named, index = found["rendered_map_index"], cast(int, found["map_index"])
    return Task(
        name=str(found["task_id"]),
        of=str(named or ""),
        map_index=index,
        state=str(found["state"] or "waiting"),
        tries=cast(int, found["try_number"]),
    )


def _ask(url: str, body: Answer | None = None, *, method: str | None = None, token: str = "") -> Answer:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=content, headers=headers, method=method)
    # Whatever proxy this machine has, it is not for talking to itself.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
        return cast(Answer, json.load(answer))
