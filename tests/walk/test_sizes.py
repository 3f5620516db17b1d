"""A session of 100,000 events, one of a year, and millions of windows with a few events, over Delta."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.walk.published import rows_of

SECOND = 1_000_000
DAY = 86_400 * SECOND
SPEC = """
name: sizes
source: {{format: parquet, path: data, event_time: event_time, arrival_time: arrival_time}}
key: [user]
aggregates: {{total: {{sum: number}}}}
time: {{allowed_lateness: 1000 days}}
windows: {{it: {window}}}
"""
INSTANT = pa.timestamp("us", tz="UTC")
EVENTS, YEAR = 100_000, 366 * DAY
Instants = np.ndarray


def site_of(spark: SparkSession, folder: Path, *, window: str, batches: list[dict[str, Instants]]) -> Site:
    """The pipeline over the instants of each user; batch `n` arrives a year after batch `n − 1`."""
    for name in ("dags", "data"):
        (folder / name).mkdir()
    (folder / "dags" / "sizes.yml").write_text(SPEC.format(window=window))
    for batch, users in enumerate(batches):
        at = np.concatenate(list(users.values()))
        names = np.repeat(list(users), [len(instants) for instants in users.values()])
        columns = {
            "user": names,
            "number": pa.array(np.ones(len(at), dtype=np.int64)),
            "event_time": pa.array(at).cast(INSTANT),
            "arrival_time": pa.array(np.full(len(at), batch * YEAR)).cast(INSTANT),
        }
        pq.write_table(pa.table(columns), folder / "data" / f"{batch}.parquet")
    return Site(spark, str(folder / "store"), load(folder / "dags" / "sizes.yml"))


def run(site: Site, batch: int, *, final: bool) -> None:
    list(run_batch(site, Request(batch=Interval(batch * YEAR, (batch + 1) * YEAR), final=final)))


def windows(folder: Path) -> pa.Table:
    return DeltaTable(folder / "store" / "sizes" / "windows").to_pyarrow_table()


@pytest.mark.slow
def test_a_session_of_100_000_events_and_one_of_a_year_are_fine(spark: SparkSession, tmp_path: Path) -> None:
    """Each arrives in two batches, every second event in the second one; in the first one they just touch."""
    busy = np.arange(EVENTS) * SECOND // 10
    yearly = np.arange(0, 365 * DAY, DAY // 2)
    halves = [{"busy": busy[half::2], "yearly": yearly[half::2]} for half in (0, 1)]
    site = site_of(spark, tmp_path, window="{session: 1 day, panes: {early: each batch}}", batches=halves)
    run(site, 0, final=False)
    assert windows(tmp_path).num_rows == 2
    run(site, 1, final=True)
    found = rows_of(tmp_path / "store" / "sizes" / "windows")
    assert sorted((row["user"], row["start"], row["end"], row["total"]) for row in found) == [
        ("busy", 0, busy[-1] + DAY, EVENTS),
        ("yearly", 0, yearly[-1] + DAY, len(yearly)),
    ]


@pytest.mark.slow
def test_millions_of_windows_with_a_few_events_are_fine(spark: SparkSession, tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    users = {f"user {number}": chance.integers(0, DAY, 11) for number in range(1_000)}
    site = site_of(spark, tmp_path, window="{sliding: 200 s, step: 1 s}", batches=[users])
    run(site, 0, final=True)
    found = windows(tmp_path)
    held = [
        np.unique((instants[:, None] // SECOND - np.arange(200)).ravel(), return_counts=True)
        for instants in users.values()
    ]
    assert found.num_rows == sum(len(starts) for starts, _ in held) > 2_000_000
    for column in ("total", "event_count"):
        assert pc.sum(found[column]).as_py() == 200 * 11 * 1_000
        assert pc.max(found[column]).as_py() == max(counts.max() for _, counts in held)
