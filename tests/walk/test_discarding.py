"""Discarding windows that have missed rows, or told of none for a while: their panes add up all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.walk.test_sessions import SECOND, SPEC, site_of

EARLY = "panes: {early: each batch, mode: discarding}"
WINDOWS = f"""windows:
  brief: {{tumbling: 50 s, panes: {{mode: discarding}}}}
  long: {{tumbling: 1000 s, {EARLY}}}
"""
CLICKS = [
    ("ann", 1, 30, 10),
    ("ann", 2, 80, 80),
    ("ann", 4, 40, 110),
    ("ann", 8, 45, 210),
    ("ann", 16, 90, 310),
]
"""The third is late for the brief window and in its frame all the same; with the fourth it takes both."""


@pytest.mark.slow
def test_what_a_window_missed_and_what_it_did_not_tell_is_in_a_later_pane(
    spark: SparkSession, tmp_path: Path
) -> None:
    site = site_of(spark, tmp_path, CLICKS, spec=SPEC.replace(SPEC.splitlines()[-1], WINDOWS))
    spec = tmp_path / "dags" / "clicks.yml"
    for start in range(0, 500, 100):
        batch = Interval(start * SECOND, (start + 100) * SECOND)
        request = Request(batch=batch, ignore_lateness=start == 200, final=start == 400)
        list(run_batch(site, request))
        if start == 0:
            spec.write_text(spec.read_text().replace(EARLY, "panes: {mode: discarding}"))
            site = Site(spark, site.store, load(spec))
    panes = DeltaTable(tmp_path / "store" / "clicks" / "panes").to_pyarrow_table().to_pylist()
    told: dict[tuple[str, int], list[int]] = {}
    for row in sorted(panes, key=lambda it: it["batch_start"]):
        told.setdefault((row["window"], int(row["window_start"].timestamp())), []).append(row["total"])
    assert told == {("brief", 0): [1, 12], ("brief", 50): [18], ("long", 0): [3, 28]}
