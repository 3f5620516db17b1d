"""What a batch keeps of sessions for each of its sources, before sources and batches are put together."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.walk.test_window_kinds import ROWS, SECOND, Row

SPEC = """
name: visits
source: {format: parquet, event_time: event_time, arrival_time: arrival_time}
sources: {east: {path: data/east.parquet}, west: {path: data/west.parquet}}
key: [user]
aggregates: {total: {sum: number}}
windows:
  merged: {session: 10 s}
  bounded: {session: 10 s, max: 25 s}
"""
TOLD = {"east": [(0, 1), (5, 2), (5, 4), (40, 8), (70, 16), (71, -16)], "west": [(12, 64), (3, 32)]}
"""Instant in seconds and number; the last two come to zero."""


def rows(told: list[tuple[int, int]]) -> list[Row]:
    return [
        {
            "user": "a",
            "number": number,
            "length": None,
            "event_time": at * SECOND,
            "arrival_time": at * SECOND,
        }
        for at, number in told
    ]


def test_they_are_merged_per_source_and_bounded_ones_keep_a_row_for_each_instant(
    spark: SparkSession, tmp_path: Path
) -> None:
    for folder in ("data", "dags"):
        (tmp_path / folder).mkdir()
    for source, told in TOLD.items():
        pq.write_table(pa.Table.from_pylist(rows(told), schema=ROWS), tmp_path / "data" / f"{source}.parquet")
    (tmp_path / "dags" / "visits.yml").write_text(SPEC)
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "visits.yml"))
    list(run_batch(site, Request(batch=Interval(0, 100 * SECOND), final=True)))
    bounds = "CAST(unix_seconds(window_start) AS INT)", "CAST(unix_seconds(window_end) AS INT)"
    kept = site.tables.read("partial_sessions").selectExpr(
        "window", "source", *bounds, "total__total", "event_count"
    )
    assert sorted(map(tuple, kept.collect())) == [
        ("bounded", "east", 0, 10, 1, 1),
        ("bounded", "east", 5, 15, 6, 2),
        ("bounded", "east", 40, 50, 8, 1),
        ("bounded", "east", 70, 80, 16, 1),
        ("bounded", "east", 71, 81, -16, 1),
        ("bounded", "west", 3, 13, 32, 1),
        ("bounded", "west", 12, 22, 64, 1),
        ("merged", "east", 0, 15, 7, 3),
        ("merged", "east", 40, 50, 8, 1),
        ("merged", "east", 70, 81, 0, 2),
        ("merged", "west", 3, 22, 96, 2),
    ]
    published = site.tables.read("windows").selectExpr("window", *bounds, "total", "event_count")
    assert sorted(map(tuple, published.collect())) == [
        (window, *told)
        for window in ("bounded", "merged")
        for told in ((0, 22, 103, 5), (40, 50, 8, 1), (70, 81, 0, 2))
    ]
