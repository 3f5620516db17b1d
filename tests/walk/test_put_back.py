"""A batch that was stopped or cut off with other rows than it had, and that runs again with those it had:
nothing changes, and the ledger says nothing of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import LookAtTheData
from pipelines.intervals import Interval
from pipelines.stages import Request, Site, run_batch, run_stage
from pipelines.stages.running import STAGES
from tests.walk.published import in_microseconds
from tests.walk.test_sessions import SECOND, SPEC, Click, site_of, write_clicks

TABLES = ("frames", "sessions", "panes", "windows", "watermarks", "checks", "late_events", "quarantine")
WINDOWS = """
windows:
  visits: {session: 10 s, allowed_lateness: 60 s}
  minute: {tumbling: 60 s, allowed_lateness: 60 s, panes: {early: {rows: 5}, late: {rows: 5}}}
expectations: few.yml
"""
FEW = "panes:\n  - expect_column_max_to_be_between: {column: total, max_value: 100}\n"
#   ann at 10 is published, at 20 waits; bob's come in time
CLICKS: list[Click] = [("ann", 1, 10, 0), ("bob", 2, 95, 20), ("ann", 4, 20, 100), ("bob", 8, 150, 120)]
WRONG: list[Click] = [("ann", 1, 10, 0), ("cem", 64, 30, 5), ("ann", 512, 40, 60), ("bob", 2, 180, 20)]
FIRST, SECOND_BATCH = (Interval(at * SECOND, (at + 100) * SECOND) for at in (0, 100))


def contents(store: Path) -> dict[str, list[str]]:
    """All that a reader sees, but for when it was written; of frames those that have events."""
    found = {table: in_microseconds(store / "clicks" / table) for table in (*TABLES, "runs")}
    return {table: sorted(str(row) for row in rows) for table, rows in found.items()}


def by_stages(site: Site, batch: Interval, *stages: str) -> None:
    for stage in stages:
        run_stage(site, Request(batch=batch), stage=stage, source="main" if stage == "accumulate" else None)


@pytest.mark.parametrize(
    ("batch", "stages"),
    [
        (SECOND_BATCH, ()),
        pytest.param(FIRST, (), marks=pytest.mark.slow),
        *[pytest.param(SECOND_BATCH, STAGES[:most], marks=pytest.mark.slow) for most in (1, 2)],
        pytest.param(FIRST, STAGES[:2], marks=pytest.mark.slow),
    ],
)
def test_rows_that_are_put_back_leave_no_trace_of_others_that_were_tried(
    spark: SparkSession, tmp_path: Path, batch: Interval, stages: tuple[str, ...]
) -> None:
    (tmp_path / "few.yml").write_text(FEW)
    site = site_of(spark, tmp_path, CLICKS, spec=SPEC.partition("windows:")[0] + WINDOWS)
    for one in (FIRST, SECOND_BATCH):
        list(run_batch(site, Request(batch=one)))
    stood = contents(tmp_path / "store")
    shifted = [(user, number, at, came + batch.start_us // SECOND) for user, number, at, came in WRONG]
    write_clicks(tmp_path, [*CLICKS, *shifted])
    if stages:
        by_stages(site, batch, *stages)
    else:
        with pytest.raises(LookAtTheData):
            list(run_batch(site, Request(batch=batch)))
    write_clicks(tmp_path, CLICKS)
    list(run_batch(site, Request(batch=batch)))
    assert contents(tmp_path / "store") == stood
