"""Discarding windows that have missed rows, or told of none for a while: their panes add up all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.walk.test_sessions import SECOND, SPEC, site_of, write_clicks

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


@pytest.mark.slow
def test_a_restatement_takes_as_many_rows_as_wait_and_later_panes_add_up(
    spark: SparkSession, tmp_path: Path
) -> None:
    windows = "windows: {long: {tumbling: 1000 s, panes: {early: {rows: 3}, mode: discarding}}}"
    spec = SPEC.replace(SPEC.splitlines()[-1], windows).replace("sum: number", "sum: 1")
    told = [("ann", 1, at, at) for at in (10, 20, 30)]
    others = [("ann", 1, at, at) for at in (110, 210, 220)]
    site = site_of(spark, tmp_path, [*told, *others], spec=spec)
    for start in (0, 100, 0, 200):
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
        # Once the second waits, a row less leaves three: nothing is to be told.
        write_clicks(tmp_path, [*(told if start == 0 else told[:2]), *others])
    panes = DeltaTable(tmp_path / "store" / "clicks" / "panes").to_pyarrow_table().to_pylist()
    said = sorted((it["batch_end"].minute, it["kind"], it["total"]) for it in panes)
    assert said == [(1, "insert", 3), (5, "insert", 5), (5, "retract", 3)]
    stands = DeltaTable(tmp_path / "store" / "clicks" / "windows").to_pyarrow_table().to_pylist()
    assert [(it["total"], it["event_count"]) for it in stands] == [(5, 5)]
