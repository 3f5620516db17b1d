"""Of a task that failed, the demo shows what it said last and its error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from demo import dag_runs
from demo.dag_runs import LOG_LINES, Task, log_end

RECORDS = [
    {"event": "::group::Pre Execute", "level": "info"},
    {"event": "::endgroup::", "level": "info"},
    *({"event": f"line {number}", "level": "info"} for number in range(100)),
    {
        "event": "Task failed with exception",
        "level": "error",
        "error_detail": [{"exc_type": "LookAtTheData", "exc_value": "a check stopped the run", "frames": []}],
    },
]


@pytest.fixture
def task_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(dag_runs, "TASK_LOGS", tmp_path)
    return tmp_path / "dag_id=airport_traffic" / "run_id=demo"


def task(*, map_index: int) -> Task:
    return Task(name="accumulate", of="jfk", map_index=map_index, state="failed", tries=2)


@pytest.mark.parametrize(
    ("map_index", "path"),
    [(-1, "task_id=accumulate/attempt=2.log"), (1, "task_id=accumulate/map_index=1/attempt=2.log")],
)
def test_the_end_of_a_log_has_its_last_lines_and_the_error(
    task_logs: Path, map_index: int, path: str
) -> None:
    log = task_logs / path
    log.parent.mkdir(parents=True)
    log.write_text("\n".join(map(json.dumps, RECORDS)))
    told = log_end("demo", task(map_index=map_index)).splitlines()
    assert told[: LOG_LINES - 1] == [f"line {number}" for number in range(100 - LOG_LINES + 1, 100)]
    assert told[LOG_LINES:] == ["LookAtTheData: a check stopped the run", f"The whole log is {log}"]


def test_a_task_without_a_log_says_where_it_would_be(task_logs: Path) -> None:
    assert log_end("demo", task(map_index=-1)).startswith(f"there is no log at {task_logs}")
