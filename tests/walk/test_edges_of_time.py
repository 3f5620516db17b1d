"""Events in the first instant that can be written and near the last: their windows reach beyond both."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.walk.stand import Stored

SPEC = """
name: edges
source: {format: parquet, path: rows.parquet, event_time: at, arrival_time: came}
key: [user]
aggregates: {total: {sum: number}}
windows:
  rolling: {sliding: 2 hours, step: 1 hour}
  weekly: {tumbling: 7 days}
  visits: {session: 10 minutes}
  shifted: {tumbling: 1 day, unaligned: "3600"}
"""
INSTANT = pa.timestamp("us", tz="UTC")
LAST_US = LATEST_US - 999_999


@pytest.mark.slow
def test_windows_at_the_edges_of_time_are_published_and_closed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "edges.yml").write_text(SPEC)
    rows = {
        "user": pa.array(["a", "b"]),
        "number": pa.array([1, 2], pa.int64()),
        "at": pa.array([EARLIEST_US, LAST_US], pa.int64()).cast(INSTANT),
        "came": pa.array([30, 31], INSTANT),
    }
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "edges.yml", home=tmp_path))
    list(run_batch(site, Request(batch=Interval(0, 100))))
    list(run_batch(site, Request(batch=Interval(100, 200), final=True)))
    stored = Stored(tmp_path / "store" / "edges")
    found = sorted((row["user"], row["window"], row["total"]) for row in stored.rows("windows"))
    assert found == [
        (user, window, total)
        for user, total in (("a", 1), ("b", 2))
        for window in ("rolling", "rolling", "shifted", "visits", "weekly")
    ]
    assert all(row["window_start"] <= EARLIEST_US for row in stored.rows("windows") if row["user"] == "a")
    ends = {row["window"]: row["window_end"] for row in stored.rows("windows") if row["user"] == "b"}
    assert ends["visits"] == LAST_US + 600_000_000
