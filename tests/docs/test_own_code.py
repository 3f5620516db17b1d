"""The operations and windows of one's own in the docs, taken from the pages and run, beside the spec."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.cli.main import main
from tests.oracle.shapes import counted_sessions, slid, tumbled

SECOND = 1_000_000
DOCS = Path(__file__).parents[2] / "docs"
SPEC = """
name: own
source: {format: parquet, path: data, event_time: at, max_disorder: 1 hour}
key: [user]
aggregates:
  squares: {custom: "own_aggregates:SQUARES", of: number}
  odd_ones: {custom: "own_aggregates:SQUARES", of: number, where: number % 2 = 1}
windows:
  sliding: {sliding: 40 s, step: 10 s}
  tumbling: {tumbling: 30 s}
  halves: {custom: "own_windows:HALVES"}
  few: {custom: "own_windows:AT_MOST_THREE"}
"""
EVENTS = [("ab"[number % 5 == 0], number * 37 % 200, number) for number in range(60)]
"""User, instant in seconds, number."""


def code(page: str) -> str:
    return "\n\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL))


def test_they_give_what_plain_loops_give(spark: SparkSession, tmp_path: Path) -> None:
    for folder in ("data", "dags"):
        (tmp_path / folder).mkdir()
    (tmp_path / "dags" / "own_aggregates.py").write_text(code("aggregates.md"))
    (tmp_path / "dags" / "own_windows.py").write_text(
        f"{code('windows.md')}\n\nAT_MOST_THREE = AtMostThree()\n"
    )
    (tmp_path / "dags" / "own.yml").write_text(SPEC)
    users, instants, numbers = zip(*EVENTS, strict=True)
    at = pa.array([it * SECOND for it in instants], pa.timestamp("us", tz="UTC"))
    events = pa.table({"user": pa.array(users), "at": at, "number": pa.array(numbers, pa.int64())})
    pq.write_table(events, tmp_path / "data" / "events.parquet")
    store, spec = ("--store", str(tmp_path / "store")), str(tmp_path / "dags" / "own.yml")
    halfway = ["--from", "1970-01-01T00:00", "--to", "1970-01-01T00:01:30"]
    rest = ["--from", "1970-01-01T00:01:30", "--to", "1970-01-01T00:05", "--final", "--yes"]
    assert main(["validate", spec]) == 0
    assert main(["run", spec, *halfway, *store]) == main(["run", spec, *rest, *store]) == 0
    windows = DeltaTable(tmp_path / "store" / "own" / "windows").to_pyarrow_table().to_pylist()
    found = {
        (it["window"], it["user"], *(int(it[name].timestamp()) for name in ("window_start", "window_end"))): (
            it["squares"],
            it["odd_ones"],
        )
        for it in windows
    }
    assert found == plain()


def plain() -> dict[tuple[object, ...], tuple[int, int]]:
    squares, odd_ones = Counter[tuple[object, ...]](), Counter[tuple[object, ...]]()
    for user in "ab":
        mine = sorted((at, number) for who, at, number in EVENTS if who == user)
        few = counted_sessions([at for at, _ in mine], 10, most=3)
        for at, number in mine:
            held = {
                "sliding": slid(at, 40, 10),
                "tumbling": tumbled(at, 30),
                "halves": tumbled(at, 12 * 3600),
                "few": [max(it for it in few if it[0] <= at)],
            }
            for window, bounds in held.items():
                for start, end in bounds:
                    squares[window, user, start, end] += number * number
                    odd_ones[window, user, start, end] += number * number * (number % 2)
    return {window: (squares[window], odd_ones[window]) for window in squares}
