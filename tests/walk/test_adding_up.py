"""The law that `windows` is what `panes` add up to is looked at in each run, and kept in `checks`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.errors import RunAgain
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_stage
from pipelines.stages.adding_up import LAW, hold_to_panes
from pipelines.stages.running import open_batch
from pipelines.stages.site import Work

SPEC = """
name: counted
source: {format: parquet, path: rows.parquet, event_time: at, arrival_time: came}
key: [user]
aggregates: {times: {count: "*"}}
windows: {short: {tumbling: 10 us}}
"""
# The last in the year 3000, which no count of nanoseconds reaches.
AT, INSTANT = [3, 7, 32_503_680_000_000_000], pa.timestamp("us", tz="UTC")


def test_windows_that_differ_from_their_panes_stop_the_run(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "counted.yml").write_text(SPEC)
    rows = {
        "user": pa.array(["ann", "bob", "ann"]),
        "at": pa.array(AT, INSTANT),
        "came": pa.array([1, 2, 3], INSTANT),
    }
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "counted.yml", home=tmp_path))
    request = Request(batch=Interval(0, 100), final=True)
    for stage in ("accumulate", "combine", "finalise"):
        run_stage(site, request, stage=stage, source="main" if stage == "accumulate" else None)

    work = Work(site, request, open_batch(site, request))
    with pytest.raises(RunAgain, match="3 of 3 windows differ from what the panes of batch"):
        hold_to_panes(work)
    assert verdicts(tmp_path) == [(False, "3 of 3 windows differ")]

    run_stage(site, request, stage="publish")
    assert verdicts(tmp_path) == [(True, "0 of 3 windows differ")]


def verdicts(folder: Path) -> list[tuple[bool, str]]:
    rows = DeltaTable(folder / "store" / "counted" / "checks").to_pyarrow_table().to_pylist()
    return [(row["success"], row["observed"]) for row in rows if row["expectation"] == LAW]
