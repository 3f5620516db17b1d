"""Sketches that toss coins: what a restatement leaves alone it does not publish with other ones."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch

DAY_US = 86_400_000_000
USERS, EACH = 30, 3_000
SPEC = """
name: rides
source: {format: parquet, path: rides, event_time: at}
key: [user]
aggregates: {median: {approx_quantile: fare, q: 0.5}}
windows:
  daily: {tumbling: 1 day}
  thirds: {sliding: 16 hours, step: 8 hours}
  visit: {session: 1 hour}
"""


def write_rides(spark: SparkSession, folder: Path, *, of_the_last: float) -> None:
    """Fares of each user all over the day, in random order; those of the last user are others."""
    number = F.col("id")
    user = number % USERS
    spark.range(USERS * EACH).select(
        user.alias("user"),
        (
            F.pmod(F.xxhash64(number), F.lit(1_000_003)) / 7
            + F.when(user == USERS - 1, of_the_last).otherwise(0)
        )
        .cast("double")
        .alias("fare"),
        F.timestamp_micros(F.lit(DAY_US) + number * F.lit(DAY_US // (USERS * EACH))).alias("at"),
    ).write.mode("overwrite").parquet(str(folder / "rides"))


def test_only_windows_with_other_events_are_told_of_again(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "rides.yml").write_text(SPEC)
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "rides.yml", home=tmp_path))
    for of_the_last in (0.0, 5.0):
        write_rides(spark, tmp_path, of_the_last=of_the_last)
        list(run_batch(site, Request(batch=Interval(DAY_US, 2 * DAY_US), final=True)))
    panes = DeltaTable(tmp_path / "store" / "rides" / "panes").to_pyarrow_table().to_pylist()
    again = [it for it in panes if it["restated"]]
    assert {(it["window"], it["user"]) for it in again} == {
        (name, USERS - 1) for name in ("daily", "thirds", "visit")
    }
    assert {it["kind"] for it in again} == {"retract", "insert"}
