"""The same small batch with little and with much history behind it, all of its windows still open.

Panes cost in proportion to the windows that changed or became due, not to those that are open. With
`SASH_BENCH_EVENTS` below a million each pair is measured once after one that warms up, and not three times.
"""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.benchmarks.conftest import EVENTS

Measured = list[tuple[str, str, str]]
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
USERS = 50
SPEC = """
name: history
source: {format: parquet, path: "data/{from:%Y-%m-%d}", event_time: event_time, arrival_time: arrival_time}
key: [user]
aggregates: {total: {sum: number}}
time: {allowed_lateness: 1000 days}
panes: {early: each batch}
windows:
"""
KINDS = {
    "windows and sessions": """
  hourly: {tumbling: 1 hour}
  visits: {session: 10 minutes}
""",
    # An event an hour: so of each user all bounded ones hang together, from the first day to the last.
    "bounded sessions without a pause, custom ones, all time": """
  bounded: {session: 2 hours, max: 6 hours}
  threes: {custom: "tests.windows.bursts:AT_MOST_THREE"}
  ever: {global: true}
""",
}
PAIRS = 4 if EVENTS >= 1_000_000 else 2
INSTANT = pa.timestamp("us", tz="UTC")


def with_history(spark: SparkSession, folder: Path, days: int, *, kind: str) -> tuple[Site, int]:
    """A pipeline over so many days, in one batch, and where they end."""
    (folder / "dags").mkdir(parents=True)
    (folder / "dags" / "history.yml").write_text(SPEC + KINDS[kind])
    end_us = 400 * DAY_US
    # All of it in the folder of the day on which the first batch begins.
    write(folder, first_us=end_us - days * DAY_US, until_us=end_us)
    site = Site(spark, str(folder / "store"), load(folder / "dags" / "history.yml", home=folder))
    list(run_batch(site, Request(batch=Interval(end_us - days * DAY_US, end_us))))
    return site, end_us


def write(folder: Path, *, first_us: int, until_us: int) -> None:
    """An event of every user each hour, in the folder that a batch from the first on reads."""
    hours = range(first_us, until_us, HOUR_US)
    at = [hour_us + user for hour_us in hours for user in range(USERS)]
    rows = pa.table(
        {
            "user": pa.array([user for _ in hours for user in range(USERS)], pa.int64()),
            "number": pa.array([1] * len(at), pa.int64()),
            **{name: pa.array(at, pa.int64()).cast(INSTANT) for name in ("event_time", "arrival_time")},
        }
    )
    day = time.strftime("%Y-%m-%d", time.gmtime(first_us // 1_000_000))
    (folder / "data" / day).mkdir(parents=True)
    pq.write_table(rows, folder / "data" / day / "rows.parquet")


def seconds_of_a_day(site: Site, start_us: int) -> float:
    """How long a batch of one more day takes."""
    write(site.pipeline.home, first_us=start_us, until_us=start_us + DAY_US)
    started = time.monotonic()
    list(run_batch(site, Request(batch=Interval(start_us, start_us + DAY_US))))
    return time.monotonic() - started


@pytest.mark.parametrize("days", [10, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_a_day_costs_the_same_whatever_is_open(
    spark: SparkSession, tmp_path: Path, measured: Measured, kind: str, days: int
) -> None:
    little, end_us = with_history(spark, tmp_path / "little", 1, kind=kind)
    much, _ = with_history(spark, tmp_path / "much", days, kind=kind)
    pairs = [
        (seconds_of_a_day(little, end_us + it * DAY_US), seconds_of_a_day(much, end_us + it * DAY_US))
        for it in range(PAIRS)
    ]
    # The first of each warms up; of the others the least is what it costs.
    alone, behind = (min(times) for times in zip(*pairs[1:], strict=True))
    told = f"{behind / alone:.2f} × ({behind:.1f} s against {alone:.1f} s)"
    measured.append(
        (f"{kind}: a batch with {days} days of them open behind it against 1", told, "1.3 × or less")
    )
