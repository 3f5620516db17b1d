"""A batch whose first attempt was cut off, or stopped, and that runs again with other rows: the tables end as
if the first had never been.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.stages import Request, Site, publishing, run_batch, run_stage
from pipelines.stages.running import STAGES
from tests.walk.test_sessions import SECOND, SPEC, Click, panes, site_of, standing_windows, write_clicks


def batch(start: int) -> Request:
    return Request(batch=Interval(start * SECOND, (start + 100) * SECOND))


def run_some(site: Site, request: Request, *stages: str) -> None:
    for stage in stages:
        run_stage(site, request, stage=stage, source="main" if stage == "accumulate" else None)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["discarding", "accumulating"])
def test_whole_values_are_taken_back_though_windows_had_been_written(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    #   ann   0 |-----| 10, three times; the last time at 5 after all: 0 |--------| 15
    clicks: list[Click] = [("ann", 1, 0, 0), ("bob", 8, 20, 20), ("ann", 2, 0, 100)]
    spec = SPEC.replace("lateness: 60 s", f"lateness: 60 s, panes: {{mode: {mode}}}")
    site = site_of(spark, tmp_path, [*clicks, ("ann", 4, 0, 200)], spec=spec)
    for start in (0, 100):
        list(run_batch(site, batch(start)))
    with monkeypatch.context() as killed:
        killed.setattr(publishing, "close_run", lambda *_, **__: killed_here())
        with pytest.raises(ProcessLookupError):
            list(run_batch(site, batch(200)))
    write_clicks(tmp_path, [*clicks, ("ann", 4, 5, 200)])
    list(run_batch(site, batch(200)))
    assert panes(tmp_path / "store")[300] == [
        ("ann", 0, 10, 3, "retract", "LATE", 0),
        ("ann", 0, 15, 7, "insert", "LATE", 0),
    ]
    assert [it for it in standing_windows(tmp_path / "store") if it[0] == "ann"] == [("ann", 0, 15, 7)]


@pytest.mark.slow
def test_news_waits_on_beside_what_a_stopped_attempt_had_brought(spark: SparkSession, tmp_path: Path) -> None:
    #   ann at 10 is published, at 20 waits; her row at 30 stands in a file that is put right
    clicks: list[Click] = [("ann", 1, 10, 0), ("bob", 8, 95, 20), ("bob", 16, 150, 100), ("ann", 2, 20, 200)]
    told = "minute: {tumbling: 60 s, allowed_lateness: 1000 s, panes: {late: {rows: 5}}}"
    site = site_of(
        spark, tmp_path, clicks, spec=SPEC.replace("visits: {session: 10 s, allowed_lateness: 60 s}", told)
    )
    for start in (0, 100, 200):
        list(run_batch(site, batch(start)))
    write_clicks(tmp_path, [*clicks, ("ann", 4, 30, 101)])
    run_some(site, batch(100), "accumulate", "combine")
    write_clicks(tmp_path, [*clicks, ("bob", 32, 30, 101)])
    list(run_batch(site, batch(100)))
    assert panes(tmp_path / "store") == {
        100: [("ann", 0, 60, 1, "insert", "ON_TIME", 0)],
        200: [("bob", 0, 60, 32, "insert", "LATE", 0), ("bob", 60, 120, 8, "insert", "ON_TIME", 0)],
    }


@pytest.mark.slow
@pytest.mark.parametrize("by_stages", [False, True])
def test_sessions_side_by_side_stay_so_beside_what_a_stopped_attempt_had_brought(
    spark: SparkSession, tmp_path: Path, by_stages: bool
) -> None:
    #   ann   82 |-----| 92 has closed, 86 |-----| 96 is begun anew; 90 meets both, and is taken out
    clicks: list[Click] = [("ann", 1, 82, 100), ("bob", 2, 95, 100), ("ann", 4, 86, 200)]
    site = site_of(
        spark, tmp_path, [*clicks, ("ann", 8, 90, 50)], spec=SPEC.replace(", allowed_lateness: 60 s", "")
    )
    for start in (100, 200):
        list(run_batch(site, batch(start)))
    run_some(site, batch(0), "accumulate", *([] if by_stages else ["combine"]))
    write_clicks(tmp_path, [*clicks, ("cem", 16, 80, 50)])
    if by_stages:
        run_some(site, batch(0), *STAGES)
    else:
        list(run_batch(site, batch(0)))
    list(run_batch(site, Request(batch=Interval(300 * SECOND, 400 * SECOND), final=True)))
    of_ann = [it for it in standing_windows(tmp_path / "store") if it[0] == "ann"]
    assert of_ann == [("ann", 82, 92, 1), ("ann", 86, 96, 4)]


def killed_here() -> None:
    raise ProcessLookupError("killed")
