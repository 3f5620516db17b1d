"""The hours of one day, batch after batch: the last ones of it against the first.

A batch looks at the stretch of the day that it touched, and not at all that came on it.
"""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.benchmarks.conftest import EVENTS

Measured = list[tuple[str, str, str]]
HOUR_US = 3_600_000_000
BEGIN_US = 400 * 24 * HOUR_US
HOURS = 24 if EVENTS >= 1_000_000 else 6
USERS, EVENTS_OF_HOUR = 200, 24_000
DISORDER_US = 5_000_000
SPEC = """
name: hours
source: {format: parquet, path: "data/{from:%H}.parquet", event_time: event_time, arrival_time: arrival_time}
key: [user]
aggregates: {total: {sum: number}, most: {max: number}}
time: {max_disorder: 5 s}
windows: {minutes: {tumbling: 1 minute}, tens: {sliding: 10 minutes, step: 1 minute}}
"""
INSTANT = pa.timestamp("us", tz="UTC")


def write_hours(folder: Path) -> None:
    """Events of each hour, evenly over its time and its users; every other one is late by the disorder."""
    folder.mkdir()
    for hour in range(HOURS):
        start_us = BEGIN_US + hour * HOUR_US
        arrived = [start_us + it * HOUR_US // EVENTS_OF_HOUR for it in range(EVENTS_OF_HOUR)]
        happened = [at - DISORDER_US * (it % 2) for it, at in enumerate(arrived)]
        users = pa.array([it // 2 % USERS for it in range(EVENTS_OF_HOUR)], pa.int64())
        columns = {"user": users, "number": users}
        for name, times in (("event_time", happened), ("arrival_time", arrived)):
            columns[name] = pa.array(times, pa.int64()).cast(INSTANT)
        pq.write_table(pa.table(columns), folder / f"{hour:02}.parquet")


def test_the_hours_of_a_day_cost_the_same(spark: SparkSession, tmp_path: Path, measured: Measured) -> None:
    write_hours(tmp_path / "data")
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "hours.yml").write_text(SPEC)
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "hours.yml", home=tmp_path))
    ends = [time.monotonic()]
    for hour in range(HOURS):
        start_us = BEGIN_US + hour * HOUR_US
        list(run_batch(site, Request(batch=Interval(start_us, start_us + HOUR_US))))
        ends.append(time.monotonic())
    seconds = [after - before for before, after in pairwise(ends)]
    # Beside what the first brings nothing stands yet, and the second warms up.
    few = min(4, (HOURS - 2) // 2)
    first, last = min(seconds[2 : 2 + few]), min(seconds[-few:])
    told = f"{last / first:.2f} × ({last:.1f} s against {first:.1f} s)"
    measured.append((f"the last hours of {HOURS} on a day against the first", told, "1.3 × or less"))
