"""Accumulating, against the bare aggregation that it has at its heart, on the same events and into the same
format.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch, run_stage
from tests.benchmarks.commits import commits

ROUNDS = 3
DAY = Interval(1_577_836_800_000_000, 1_577_923_200_000_000)
FRAME_US = 600_000_000

SPEC = """
name: bench
source: {{format: parquet, path: {feed}, event_time: event_time, arrival_time: arrival_time}}
key: [user]
aggregates:
  events: count
  total: {{sum: price}}
  mean: {{avg: weight}}
  least: {{min: price}}
  most: {{max: price}}
windows: {{hourly: {{sliding: 1 hour, step: 10 minutes}}}}
{expectations}
"""

EXPECTATIONS = """
events:
  - expect_column_values_to_not_be_null: {column: user}
    on_failure: quarantine
  - expect_column_values_to_be_between: {column: price, min_value: 0, max_value: 1000, mostly: 0.99}
    on_failure: warn
  - expect_column_values_to_be_between: {column: weight, min_value: 0}
  - expect_column_pair_values_to_be_equal: {column_A: arrival_time, column_B: event_time}
"""


def test_accumulating_costs_little_more_than_the_bare_aggregation(
    spark: SparkSession, feed: Path, tmp_path: Path, measured: list[tuple[str, str, str]]
) -> None:
    contenders: dict[str, Callable[[Path], float]] = {
        "bare": lambda store: bare(spark, feed, store),
        "accumulate": lambda store: accumulated(spark, site(spark, feed, store)),
        "checked": lambda store: accumulated(spark, site(spark, feed, store, expectations=EXPECTATIONS)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(ROUNDS + 1):
        for name, run in contenders.items():
            seconds[name].append(run(tmp_path / f"{name}-{number}"))
    medians = {name: statistics.median(found[1:]) for name, found in seconds.items()}
    told = ", ".join(f"{name} {median:.1f} s" for name, median in medians.items())
    measured.append(("bare groupBy into Delta, and accumulate without and with checks", told, ""))
    measured.append(("accumulate against bare", f"{medians['accumulate'] / medians['bare']:.2f} ×", "1.3 ×"))
    measured.append(("the same with checks", f"{medians['checked'] / medians['bare']:.2f} ×", "1.6 ×"))


def test_what_each_stage_takes(
    spark: SparkSession, feed: Path, tmp_path: Path, measured: list[tuple[str, str, str]]
) -> None:
    store = tmp_path / "store"
    since = time.time()
    for report in run_batch(site(spark, feed, store), Request(batch=DAY, final=True)):
        until = time.time()
        counts = ", ".join(f"{number:,} {name}" for name, number in report.counts.items() if number)
        mine = [commit.seconds for commit in commits(store) if since <= commit.at < until]
        told = f"{report.seconds:.1f} s, of them {sum(mine):.1f} s in {len(mine)} commits of Delta"
        opening = until - since - report.seconds
        measured.append((f"stage {report.stage} of {counts}", told, ""))
        if report.stage == "accumulate":
            measured.append(("before it: making the tables, opening the batch", f"{opening:.1f} s", ""))
        since = until


def bare(spark: SparkSession, feed: Path, store: Path) -> float:
    """Seconds of what anyone would write: group by key and frame, aggregate, write."""
    started = time.monotonic()
    at_us = F.unix_micros("event_time")
    frame_us = at_us - F.pmod(at_us, F.lit(FRAME_US))
    frames = (
        spark.read.parquet(str(feed))
        .groupBy("user", F.timestamp_micros(frame_us).alias("frame_start"))
        .agg(F.count("*"), F.sum("price"), F.sum("weight"), F.min("price"), F.max("price"))
    )
    named = frames.toDF("user", "frame_start", "events", "total", "weight", "least", "most")
    named.write.format("delta").save(str(store))
    return time.monotonic() - started


def accumulated(spark: SparkSession, where: Site) -> float:
    """Seconds of the stage, its ledger and its watermarks included."""
    return run_stage(where, Request(batch=DAY), stage="accumulate", source="main").seconds


def site(spark: SparkSession, feed: Path, store: Path, *, expectations: str = "") -> Site:
    home = store.parent / f"home-{store.name}"
    (home / "dags").mkdir(parents=True)
    line = ""
    if expectations:
        (home / "bench.yml").write_text(expectations)
        line = "expectations: bench.yml"
    spec = home / "dags" / "bench.yml"
    spec.write_text(SPEC.format(feed=feed, expectations=line))
    return Site(spark, str(store), load(spec))
