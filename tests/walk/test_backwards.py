"""A backfill that begins with the newest batch: what ends the same as forwards, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.stages import Request, run_batch
from tests.walk.test_sessions import SECOND, SPEC, Click, site_of

WINDOWS = "windows: {visits: {session: 10 s}, whole: {tumbling: 50 s}, rolling: {sliding: 90 s, step: 30 s}}"
ON_TIME = [
    *[("ann", 1, 0, 0), ("ann", 2, 95, 99)],
    *[("ann", 4, 104, 104), ("bob", 8, 160, 170)],  # joins a session of the batch before
    *[("bob", 16, 201, 201), ("ann", 32, 240, 260)],
    ("bob", 64, 399, 399),
]
LATE = [*ON_TIME, ("ann", 128, 20, 210)]
"""Forwards, the watermark is 160 when the last one comes."""
Windows = list[tuple[str, str, int, int, int]]


@pytest.mark.slow
@pytest.mark.parametrize(("clicks", "lost"), [(ON_TIME, 0), (LATE, 128)], ids=["nothing late", "one late"])
def test_backwards_all_is_as_forwards_but_for_what_is_late_forwards(
    spark: SparkSession, tmp_path: Path, clicks: list[Click], lost: int
) -> None:
    batches = [Interval(start * SECOND, (start + 100) * SECOND) for start in range(0, 400, 100)]
    spec = SPEC.replace(SPEC.splitlines()[-1], WINDOWS)
    found, held = {}, {}
    for way in ("forwards", "backwards"):
        (tmp_path / way).mkdir()
        site = site_of(spark, tmp_path / way, clicks, spec=spec)
        for batch in batches if way == "forwards" else reversed(batches):
            list(run_batch(site, Request(batch=batch)))
        list(run_batch(site, Request(batch=batches[-1], final=True)))
        found[way] = windows(tmp_path / way / "store")
        held[way] = [states(tmp_path / way / "store", table) for table in ("frames", "sessions")]
    assert len(found["forwards"]) > 8
    if not lost:
        assert found["backwards"] == found["forwards"]
        assert held["backwards"] == held["forwards"]
        assert all(held["forwards"])
        return
    # Backwards nothing has come that would make it late: its batch is judged by the watermark before it.
    assert set(found["backwards"]) - set(found["forwards"]) == {
        ("rolling", "ann", -60, 30, 129),
        ("rolling", "ann", -30, 60, 129),
        ("rolling", "ann", 0, 90, 129),
        ("visits", "ann", 20, 30, 128),
        ("whole", "ann", 0, 50, 129),
    }
    assert not late_events(tmp_path / "backwards" / "store")
    assert {it["number"] for it in late_events(tmp_path / "forwards" / "store")} == {lost}


def windows(store: Path) -> Windows:
    rows = DeltaTable(store / "clicks" / "windows").to_pyarrow_table().to_pylist()
    return sorted(
        (
            row["window"],
            row["user"],
            int(row["window_start"].timestamp()),
            int(row["window_end"].timestamp()),
            row["total"],
        )
        for row in rows
    )


def states(store: Path, table: str) -> list[str]:
    rows = DeltaTable(store / "clicks" / table).to_pyarrow_table().to_pylist()
    return sorted(str(row) for row in rows if row["event_count"])


def late_events(store: Path) -> list[dict]:
    return DeltaTable(store / "clicks" / "late_events").to_pyarrow_table().to_pylist()
