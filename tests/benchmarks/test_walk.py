"""The whole walk over bids, raw Parquet to `windows` in Delta, against what anyone would write in Spark.

A tenth of the bids that the others have: Spark's own sliding windows take minutes with all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.benchmarks.neighbours import Checksum, checksum
from tests.benchmarks.nexmark import BIDS, DAY_START_US, DAY_US, write_bids

Measured = list[tuple[str, str, str]]
FEW = BIDS // 10
DAY = Interval(DAY_START_US, DAY_START_US + 2 * DAY_US)
SPEC = """
name: bids
source: {{format: parquet, path: {bids}, event_time: event_time, arrival_time: arrival_time}}
key: [bidder]
aggregates:
  bids: count
  paid: {{sum: price}}
  mean: {{avg: price}}
  least: {{min: price}}
  most: {{max: price}}
windows:
{windows}
"""
SLIDING = "  it: {sliding: 100 minutes, step: 1 minute}"
TUMBLING = "  it: {tumbling: 1 minute}"
SESSIONS = "  it: {session: 2 minutes}"
TEN = "\n".join(f"  w{n}: {{sliding: {n} hours, step: 30 minutes}}" for n in range(1, 11))


@pytest.fixture(scope="module")
def bids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bids(tmp_path_factory.mktemp("walk") / "bids", bids=FEW)


def walked(spark: SparkSession, folder: Path, *, bids: Path, windows: str) -> tuple[float, Checksum]:
    """Seconds of a first batch through all stages, and the number and sums of the windows it published."""
    (folder / "dags").mkdir(parents=True)
    (folder / "dags" / "bids.yml").write_text(SPEC.format(bids=bids, windows=windows))
    site = Site(spark, str(folder / "store"), load(folder / "dags" / "bids.yml"))
    started = time.monotonic()
    list(run_batch(site, Request(batch=DAY, final=True)))
    seconds = time.monotonic() - started
    return seconds, checksum(site.tables.read("windows"))


def by_spark(spark: SparkSession, folder: Path, *, bids: Path, window: Column) -> tuple[float, Checksum]:
    """Seconds of Spark's own windows into Delta, their number and sums."""
    started = time.monotonic()
    own: DataFrame = (
        spark.read.parquet(str(bids))
        .groupBy("bidder", window.alias("window"))
        .agg(F.count("*"), F.sum("price"), F.avg("price"), F.min("price"), F.max("price"))
        .toDF("bidder", "window", "bids", "paid", "mean", "least", "most")
    )
    own.write.format("delta").save(str(folder))
    seconds = time.monotonic() - started
    return seconds, checksum(spark.read.format("delta").load(str(folder)))


class Contest(NamedTuple):
    """The same windows by both, and what is aimed at."""

    what: str
    windows: str
    by_spark: Callable[[], Column]
    aim: str


CONTESTS = [
    Contest("100 frames", SLIDING, lambda: F.window("event_time", "100 minutes", "1 minute"), "12 × faster"),
    Contest("tumbling", TUMBLING, lambda: F.window("event_time", "1 minute"), "0.8 × faster"),
    Contest("sessions", SESSIONS, lambda: F.session_window("event_time", "2 minutes"), "2 × faster"),
]


@pytest.mark.parametrize("contest", CONTESTS, ids=lambda it: it.what)
def test_the_walk_against_spark_s_own_windows_into_delta(
    spark: SparkSession, bids: Path, tmp_path: Path, measured: Measured, contest: Contest
) -> None:
    walked(spark, tmp_path / "warm", bids=bids, windows=contest.windows)
    ours, published = walked(spark, tmp_path / "ours", bids=bids, windows=contest.windows)
    theirs, found = by_spark(spark, tmp_path / "theirs", bids=bids, window=contest.by_spark())
    # Sums of doubles depend on their order.
    assert published == pytest.approx(found, rel=1e-9)
    told = f"{theirs / ours:.2f} × faster ({theirs:.1f} s against {ours:.1f} s, {found[0]:,.0f} windows)"
    measured.append((f"the whole walk against Spark's own, {contest.what}, {FEW:,} bids", told, contest.aim))


def test_ten_windows_against_one(spark: SparkSession, bids: Path, tmp_path: Path, measured: Measured) -> None:
    one = "  w5: {sliding: 5 hours, step: 30 minutes}"
    walked(spark, tmp_path / "warm", bids=bids, windows=TEN)
    alone, five_hours = walked(spark, tmp_path / "one", bids=bids, windows=one)
    ten, all_of_them = walked(spark, tmp_path / "ten", bids=bids, windows=TEN)
    # Each bid is in two windows for each hour that they are long.
    assert (five_hours[1], all_of_them[1]) == (FEW * 2 * 5, FEW * 2 * sum(range(1, 11)))
    told = f"{ten / alone:.2f} × ({ten:.1f} s against {alone:.1f} s)"
    measured.append(("ten windows on one pipeline against one", told, "3 × or less"))


def test_one_hot_key(spark: SparkSession, tmp_path: Path, measured: Measured) -> None:
    even = write_bids(tmp_path / "even", bids=FEW, hot_share=0.0)
    hot = write_bids(tmp_path / "hot", bids=FEW, hot_share=0.75, one_is_hot=True)
    walked(spark, tmp_path / "warm", bids=even, windows=SLIDING)
    evenly, one_sums = walked(spark, tmp_path / "evenly", bids=even, windows=SLIDING)
    hotly, other_sums = walked(spark, tmp_path / "hotly", bids=hot, windows=SLIDING)
    # Each bid is in a hundred windows, whosever it is; so is what was paid.
    assert one_sums[1:3] == other_sums[1:3] and one_sums[1] == FEW * 100
    told = f"{hotly / evenly:.2f} × ({hotly:.1f} s against {evenly:.1f} s)"
    measured.append(("one bidder with 75 % of the rows against even ones", told, "1.5 × or less"))
