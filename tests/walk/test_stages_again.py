"""Stages out of turn: again after the batch was published, before those that they need, over other types.

The columns have the names of what the code calls its own things.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheCall, CorrectTheSpec
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Report, Request, Site, run_batch, run_stage
from tests.walk.stand import Stored

SPEC = """
name: again
source:
  format: parquet
  path: rows.parquet
  event_time: at
  arrival_time: came
  select: {place: spot, doubled: 2 * last}
key: [place]
aggregates:
  last: {sum: last, where: "spot <> 'nowhere'"}
  news: {count: "*"}
  since: {max: doubled}
  row: {min: last}
  by: {avg: last}
  started_at: {max: last}
  now: {min: doubled}
  found: {any: last > 0}
windows:
  short: {tumbling: 10 us, allowed_lateness: 1 s, panes: {mode: discarding}}
  visits: {session: 5 us, allowed_lateness: 1 s, panes: {mode: retracting}}
"""
INSTANT = pa.timestamp("us", tz="UTC")
FIRST = Request(batch=Interval(0, 100))


def write(folder: Path, *, numbers: Sequence[float], kind: pa.DataType) -> None:
    rows = {
        "spot": pa.array(["here", "there", "here"]),
        "last": pa.array(numbers, kind),
        # What is read and not asked for: a map, which Spark gives no hash.
        "tags": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "at": pa.array([3, 7, 25], INSTANT),
        "came": pa.array([30, 31, 32], INSTANT),
    }
    pq.write_table(pa.table(rows), folder / "rows.parquet")


def run(site: Site, stage: str) -> Report:
    return run_stage(site, FIRST, stage=stage, source="main" if stage == "accumulate" else None)


def contents(folder: Path) -> list[list[str]]:
    stored = Stored(folder / "store" / "again")
    return [sorted(map(str, stored.rows(table))) for table in ("runs", "panes", "windows", "checks")]


def test_a_stage_out_of_turn_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, numbers=[1, 2, 4], kind=pa.int64())
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "again.yml").write_text(SPEC)
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "again.yml", home=tmp_path))

    with pytest.raises(CorrectTheCall, match="the stage accumulate has not run; run it before publish"):
        run(site, "publish")
    assert contents(tmp_path)[0] == []
    run(site, "accumulate")
    with pytest.raises(CorrectTheCall, match="the stage combine has not run; run it before publish"):
        run(site, "publish")

    for stage in ("combine", "finalise", "publish"):
        run(site, stage)
    published = contents(tmp_path)
    assert "'last': 1" in published[2][0] and len(published[2]) == 4
    for stages in (["publish"], ["combine", "finalise", "publish"]):
        for stage in stages:
            run(site, stage)
        assert contents(tmp_path) == published, stages

    write(tmp_path, numbers=[1.5, 2, 4], kind=pa.float64())
    fresh = Site(spark, site.store, site.declared)
    with pytest.raises(
        CorrectTheSpec, match=r"`last__total` is long in the table partial_frames, and would be double now"
    ):
        list(run_batch(fresh, Request(batch=Interval(100, 200))))
    assert contents(tmp_path) == published
