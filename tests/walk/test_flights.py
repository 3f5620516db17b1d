"""The flights of the demo through ingest and through the whole walk, against counts that were made outside
Spark.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demo.flights import prepare
from pipelines.ingest.watermark import Progress, Seen, advance
from pipelines.intervals import Interval, cut
from pipelines.spec import Sliding, Source, Window, load
from pipelines.stages import Request, Site, run_batch
from pipelines.store.reader import count_rows, read_ledger
from pipelines.windows import closed_over

HOUR_US = 3_600_000_000
YEAR = Interval(1_356_998_400_000_000, 1_388_707_200_000_000)
"""From the first arrival of 2013 to the last one, in the first days of 2014."""

HOURLY = """
name: hourly_flights
source:
  format: parquet
  path: "data/flights/*/arrival_day={{from:%Y-%m-%d}}"
  event_time: event_time
  arrival_time: arrival_time
key: [origin]
aggregates: {{flights: count, delay: {{avg: arr_delay}}, miles: {{sum: distance}}}}
windows: {windows}
time: {{allowed_lateness: {lateness}}}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("home")
    (made / "dags").mkdir()
    prepare(made / "data" / "flights")
    return made


@pytest.fixture(scope="module")
def flights(spark: SparkSession, home: Path) -> DataFrame:
    """The instants of all flights that have both, in microseconds."""
    rows = spark.read.parquet(*[str(path) for path in (home / "data" / "flights").glob("*/*")])
    instants = rows.select(
        F.unix_micros("event_time").alias("at"), F.unix_micros("arrival_time").alias("arrival")
    )
    return instants.where("at IS NOT NULL").persist()


@pytest.fixture(scope="module")
def judged(spark: SparkSession, flights: DataFrame) -> DataFrame:
    """Each flight with the watermark before the hourly batch that it arrives in, by the arithmetic of
    ingest.
    """
    batch_us = F.col("arrival") - F.pmod("arrival", F.lit(HOUR_US))
    batches = flights.groupBy(batch_us.alias("batch")).agg(
        F.max("at").alias("at"), F.max("arrival").alias("arrival")
    )
    newest = {
        row.batch: Seen(substream=None, newest_event_us=row.at, newest_arrival_us=row.arrival)
        for row in batches.collect()
    }
    source = Source(name="main", format="parquet", path="x", event_time="at")
    progress: list[Progress] = []
    watermarks = []
    for batch in cut(YEAR, HOUR_US):
        watermarks.append((batch.start_us, progress[0].watermark_us if progress else None))
        seen = [newest[batch.start_us]] if batch.start_us in newest else []
        progress = advance(progress, seen, source=source, batch=batch)
    before = spark.createDataFrame(watermarks, "batch BIGINT, watermark BIGINT")
    return flights.withColumn("batch", batch_us).join(before, on="batch", how="left").persist()


def dropped(judged: DataFrame, lateness_hours: int) -> DataFrame:
    """The flights that come too late for their hour."""
    shape = Sliding(size_us=HOUR_US, step_us=HOUR_US)
    hour = Window(name="hourly", shape=shape, allowed_lateness_us=lateness_hours * HOUR_US)
    missed = closed_over(F.col("at"), hour, watermark_us=F.col("watermark"))
    return judged.where(F.coalesce(missed, F.lit(0)) == 1)


@pytest.mark.parametrize(("lateness_hours", "rows"), [(6, 795), (12, 1), (24, 0)])
def test_rows_dropped_over_the_year_in_hourly_batches(
    judged: DataFrame, lateness_hours: int, rows: int
) -> None:
    assert dropped(judged, lateness_hours).count() == rows


@pytest.mark.slow
def test_a_week_of_hourly_batches_on_delta_drops_what_the_arithmetic_drops(
    spark: SparkSession, home: Path, judged: DataFrame, tmp_path: Path
) -> None:
    week = busiest_week(dropped(judged, 6).toPandas())
    spec = home / "dags" / "hourly.yml"
    spec.write_text(HOURLY.format(windows="{hourly: {tumbling: 1 hour}}", lateness="6 hours"))
    site = Site(spark, str(tmp_path / "store"), load(spec, home=home))
    # A day before it brings the watermark to where the year has it.
    warm_up = Interval(week.start_us - 24 * HOUR_US, week.start_us)
    for batch in (warm_up, *cut(week, HOUR_US)):
        list(run_batch(site, Request(batch=batch)))
    late = sum(row.late or 0 for row in read_ledger(site.store, "hourly_flights") if row.batch != warm_up)
    expected = dropped(judged, 6).where(f"batch >= {week.start_us} AND batch < {week.end_us}").count()
    assert expected > 0
    assert late == expected == count_rows(site.store, "hourly_flights", table="late_events")


def busiest_week(late: pd.DataFrame) -> Interval:
    """The week with the most flights that came too late, by the batch they came in."""
    week_us = 7 * 24 * HOUR_US
    start_us = int((late["batch"] // week_us * week_us).value_counts().idxmax())
    return Interval(start_us, start_us + week_us)


@pytest.mark.slow
def test_the_year_as_one_batch_has_the_known_windows(spark: SparkSession, home: Path, tmp_path: Path) -> None:
    spec = home / "dags" / "year.yml"
    windows = "{hourly: {tumbling: 1 hour}, rolling: {sliding: 2 hours, step: 30 minutes}}"
    spec.write_text(HOURLY.format(windows=windows, lateness="24 hours"))
    site = Site(spark, str(tmp_path / "store"), load(spec, home=home))
    list(run_batch(site, Request(batch=YEAR, final=True)))
    counts = {
        window: count_rows(site.store, "hourly_flights", table="windows", where=f"window = '{window}'")
        for window in ("hourly", "rolling")
    }
    assert counts == {"hourly": 21_103, "rolling": 44_152}
    ledger = read_ledger(site.store, "hourly_flights")
    assert [(row.ingested, row.accepted, row.late, row.quarantined) for row in ledger] == [
        (336_776, 328_063, 0, 8_713)
    ]
