"""A session for measuring, ten million events, and a table of what was measured at the end."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tabulate import tabulate

from pipelines.session import open_session

EVENTS = int(os.environ.get("SASH_BENCH_EVENTS", "10000000"))
KEYS = 10_000
MEASURED: list[tuple[str, str, str]] = []


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session as a user has it: nothing of it is tuned for the measures."""
    started = time.monotonic()
    session = open_session("local[2]")
    MEASURED.append(("a session of Spark, from nothing", f"{time.monotonic() - started:.1f} s", ""))
    yield session
    MEASURED.append(("peak resident memory of the JVM", f"{peak_of_children():.1f} GB", ""))
    session.stop()


def peak_of_children() -> float:
    """The most that any child of this process ever held, in gigabytes, as Linux keeps it."""
    held = [
        Path(f"/proc/{child.pid}/status").read_text() for child in psutil.Process().children(recursive=True)
    ]
    peaks = [int(line.split()[1]) for text in held for line in text.splitlines() if line.startswith("VmHWM")]
    return max(peaks, default=0) / 1024**2


@pytest.fixture(scope="session")
def feed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events of one day.

    Skewed keys, one a millisecond or so, one value that is exact and one that is not.
    """
    folder = tmp_path_factory.mktemp("feed") / "events"
    number = F.col("id")
    skewed = (
        F.pmod(F.xxhash64(number), F.lit(KEYS)) * F.pmod(F.xxhash64(number + 1), F.lit(KEYS)) / KEYS
    ).cast("bigint")
    at_us = F.lit(1_577_836_800_000_000) + (number * (86_400_000_000 // EVENTS))
    spark.range(EVENTS).select(
        skewed.alias("user"),
        F.timestamp_micros(at_us).alias("event_time"),
        F.timestamp_micros(at_us).alias("arrival_time"),
        F.pmod(F.xxhash64(number + 2), F.lit(1_000)).alias("price"),
        (F.pmod(F.xxhash64(number + 3), F.lit(1_000)) / 7).alias("weight"),
    ).write.parquet(str(folder))
    return folder


@pytest.fixture
def measured() -> list[tuple[str, str, str]]:
    """Where a measure puts its line: what, how much, and what was aimed at."""
    return MEASURED


def pytest_sessionfinish() -> None:
    if not MEASURED:
        return
    print(f"\n\n{os.cpu_count()} cores, {platform.machine()}, {EVENTS:,} events over {KEYS:,} keys\n")
    print(tabulate(MEASURED, headers=("measure", "found", "aim"), tablefmt="github"))
