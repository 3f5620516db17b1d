"""The same sliding windows by DuckDB, Polars and Spark's own `F.window`, each to the same checksum.

All of them but `F.window` build frames first. DuckDB twice: with a RANGE window at every step of a key, as
one writes it in SQL, and given our change points. Polars is given them too.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

Checksum = tuple[float, ...]

MINUTE_US = 60_000_000
CORES = 2

FRAMES = """
    SELECT bidder, epoch_us(event_time) // {minute} AS minute, count(*) AS events, sum(price) AS total,
           min(price) AS least, max(price) AS most
    FROM read_parquet('{bids}/*.parquet') GROUP BY ALL"""

EVERY_STEP = """
    WITH frames AS ({frames}),
    steps AS (
        SELECT bidder, unnest(range(min(minute), max(minute) + {size})) AS minute
        FROM frames GROUP BY bidder),
    windows AS (
        SELECT sum(events) OVER w AS events, sum(total) OVER w AS total, min(least) OVER w AS least,
               max(most) OVER w AS most
        FROM steps LEFT JOIN frames USING (bidder, minute)
        WINDOW w AS (PARTITION BY bidder ORDER BY minute RANGE BETWEEN {size} - 1 PRECEDING AND CURRENT ROW))
    SELECT {sums} FROM windows WHERE events > 0"""

CHANGES = """
    WITH frames AS ({frames}),
    changes AS (
        SELECT bidder, minute, max(events) AS events, max(total) AS total, min(least) AS least,
               max(most) AS most
        FROM (FROM frames UNION ALL SELECT bidder, minute + {size}, NULL, NULL, NULL, NULL FROM frames)
        GROUP BY bidder, minute),
    runs AS (
        SELECT minute, lead(minute) OVER (PARTITION BY bidder ORDER BY minute) AS next,
               sum(events) OVER w AS events, sum(total) OVER w AS total,
               min(least) OVER w AS least, max(most) OVER w AS most
        FROM changes
        WINDOW w AS (PARTITION BY bidder ORDER BY minute RANGE BETWEEN {size} - 1 PRECEDING AND CURRENT ROW)),
    windows AS (SELECT *, unnest(range(minute, next)) FROM runs WHERE events > 0)
    SELECT {sums} FROM windows"""

SUMS = """count(*), sum(events)::DOUBLE, sum(total::DOUBLE), sum(total / events), sum(least)::DOUBLE,
    sum(most)::DOUBLE"""


def duckdb_checksum(bids: Path, size: int, *, query: str) -> Checksum:
    """One of the two queries."""
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {CORES}")
        frames = FRAMES.format(bids=bids, minute=MINUTE_US)
        found = connection.execute(query.format(frames=frames, size=size, sums=SUMS)).fetchall()
    return tuple(map(float, found[0]))


def polars_checksum(bids: Path, size: int) -> Checksum:
    """Frames, rolling over the change points, runs written out."""
    minute = pl.col("event_time").dt.epoch("us") // MINUTE_US
    frames = (
        pl.scan_parquet(bids / "*.parquet")
        .group_by("bidder", minute=minute)
        .agg(
            events=pl.len(),
            total=pl.col("price").sum(),
            least=pl.col("price").min(),
            most=pl.col("price").max(),
        )
    )
    left = frames.select("bidder", pl.col("minute") + size)
    changes = pl.concat([frames, left], how="diagonal").group_by("bidder", "minute")
    values = [pl.max("events"), pl.max("total"), pl.min("least"), pl.max("most")]
    rolled = (
        changes.agg(*values)
        .sort("bidder", "minute")
        .rolling("minute", period=f"{size}i", group_by="bidder", closed="right")
        .agg(pl.sum("events"), pl.sum("total"), pl.min("least"), pl.max("most"))
    )
    runs = rolled.with_columns(next=pl.col("minute").shift(-1).over("bidder")).filter(pl.col("events") > 0)
    windows = runs.with_columns(start=pl.int_ranges("minute", "next")).explode("start")
    sums = [
        pl.len().alias("windows"),
        pl.sum("events"),
        pl.col("total").cast(pl.Float64).sum(),
        (pl.col("total") / pl.col("events")).sum().alias("mean"),
        pl.sum("least"),
        pl.sum("most"),
    ]
    return tuple(map(float, windows.select(*sums).collect().row(0)))


def spark_windows(spark: SparkSession, bids: Path, *, size: int) -> DataFrame:
    """What anyone would write: every event in each of its windows."""
    window = F.window("event_time", f"{size} minutes", "1 minute")
    return (
        spark.read.parquet(str(bids))
        .groupBy("bidder", window)
        .agg(
            F.count("*").alias("bids"),
            F.sum("price").alias("paid"),
            F.avg("price").alias("mean"),
            F.min("price").alias("least"),
            F.max("price").alias("most"),
        )
    )


def checksum(windows: DataFrame) -> Checksum:
    """The number of windows and the sum of every result column."""
    paid = F.sum(F.col("paid").cast("double"))
    sums = windows.agg(F.count("*"), F.sum("bids"), paid, F.sum("mean"), F.sum("least"), F.sum("most"))
    return tuple(map(float, sums.collect()[0]))
