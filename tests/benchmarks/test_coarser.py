"""An hour of events under windows of a week over frames of a minute, with coarser frames and without."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.intervals import Interval
from pipelines.spec import coarser, load
from pipelines.stages import Report, Request, Site, run_batch

Measured = list[tuple[str, str, str]]
HOUR_US = 3_600_000_000
HOURS, WARM, MEASURES = 8 * 24, 2, 3
USERS, EVERY_SECONDS = 200, 120
SPEC = """
name: weekly
source: {format: parquet, path: data, event_time: at}
key: [user]
aggregates: {total: {sum: number}, most: {max: number}}
windows:
  minutely: {tumbling: 1 minute}
  weekly: {sliding: 7 days, step: 1 hour}
"""


def feed(spark: SparkSession, folder: Path) -> None:
    """An event of each user every two minutes, for all batches there will be."""
    seconds = (HOURS + WARM + MEASURES) * 3600
    events = spark.range(seconds // EVERY_SECONDS * USERS)
    at = F.timestamp_seconds((F.col("id") / USERS).cast("bigint") * EVERY_SECONDS)
    rows = events.select(F.pmod("id", F.lit(USERS)).alias("user"), at.alias("at"), F.lit(1).alias("number"))
    rows.write.parquet(str(folder / "data"))


def after_eight_days(spark: SparkSession, folder: Path) -> Site:
    (folder / "dags").mkdir(parents=True)
    (folder / "dags" / "weekly.yml").write_text(SPEC)
    feed(spark, folder)
    site = Site(spark, str(folder / "store"), load(folder / "dags" / "weekly.yml", home=folder))
    list(run_batch(site, Request(batch=Interval(0, HOURS * HOUR_US))))
    return site


def seconds_of_an_hour(site: Site, hour: int) -> tuple[float, float]:
    """Of the whole batch, and of its finalising."""
    started = time.monotonic()
    batch = Interval((HOURS + hour) * HOUR_US, (HOURS + hour + 1) * HOUR_US)
    reports: list[Report] = list(run_batch(site, Request(batch=batch)))
    (finalising,) = [report.seconds for report in reports if report.stage == "finalise"]
    return time.monotonic() - started, finalising


def test_the_middle_of_a_week_is_read_in_coarser_frames(
    spark: SparkSession, tmp_path: Path, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_coarser = after_eight_days(spark, tmp_path / "with")
    found = [seconds_of_an_hour(with_coarser, hour) for hour in range(WARM + MEASURES)]
    monkeypatch.setattr(coarser, "MANY", 10**9)
    without = after_eight_days(spark, tmp_path / "without")
    plain = [seconds_of_an_hour(without, hour) for hour in range(WARM + MEASURES)]
    for which, what in ((0, "an hour under windows of a week over minutes"), (1, "its finalising")):
        fine = min(times[which] for times in plain[WARM:])
        coarse = min(times[which] for times in found[WARM:])
        told = f"{fine / coarse:.2f} × ({fine:.1f} s against {coarse:.1f} s)"
        measured.append((f"{what}: without coarser frames ÷ with", told, ""))
