"""A batch that was stopped or cut off with other rows than it had, and that runs again with those it had:
nothing changes, and the ledger says nothing of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheSpec, LookAtTheData
from pipelines.intervals import Interval
from pipelines.spec import load
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


def by_stages(site: Site, batch: Interval, *stages: str, source: str = "main") -> None:
    for stage in stages:
        run_stage(site, Request(batch=batch), stage=stage, source=source if stage == "accumulate" else None)


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


SOURCES = """
name: clicks
source: {format: parquet, event_time: event_time, arrival_time: arrival_time}
sources: {web: {path: web}, app: {path: app}}
key: [user]
aggregates: {total: {sum: number}}
windows:
  visits: {session: 10 s, allowed_lateness: 60 s}
  minute: {tumbling: 60 s, allowed_lateness: 60 s}
"""
OF_WEB: list[Click] = [("ann", 1, 10, 0), ("ann", 2, 50, 50)]
OF_APP: list[Click] = [("bob", 4, 20, 20)]


class Sources:
    """A pipeline of two sources, one of which may go and come back."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.home = spark, home
        for name in ("web/data", "app/data", "dags"):
            (home / name).mkdir(parents=True)
        self.feed(OF_WEB, OF_APP)

    def feed(self, of_web: list[Click], of_app: list[Click]) -> None:
        write_clicks(self.home / "web", of_web)
        write_clicks(self.home / "app", of_app)

    def site(self, spec: str = SOURCES) -> Site:
        path = self.home / "dags" / "clicks.yml"
        path.write_text(spec.replace("path: web", "path: web/data").replace("path: app", "path: app/data"))
        return Site(self.spark, str(self.home / "store"), load(path))

    def windows(self) -> set[tuple[str, str, int]]:
        rows = in_microseconds(self.home / "store" / "clicks" / "windows")
        return {(it["window"], it["user"], it["total"]) for it in rows}


WITHOUT_APP = SOURCES.replace(", app: {path: app}", "")
OF_ANN = {("visits", "ann", 1), ("visits", "ann", 2), ("minute", "ann", 3)}
ALL = OF_ANN | {("visits", "bob", 4), ("minute", "bob", 4)}


@pytest.mark.slow
def test_what_a_source_had_brought_that_is_gone_is_taken_back(spark: SparkSession, tmp_path: Path) -> None:
    sources, first = Sources(spark, tmp_path), Request(batch=FIRST, final=True)
    list(run_batch(sources.site(), first))
    assert sources.windows() == ALL
    list(run_batch(sources.site(WITHOUT_APP), first))
    assert sources.windows() == OF_ANN


@pytest.mark.slow
def test_a_source_that_comes_back_without_rows_takes_back_what_it_had_brought(
    spark: SparkSession, tmp_path: Path
) -> None:
    sources, first = Sources(spark, tmp_path), Request(batch=FIRST, final=True)
    list(run_batch(sources.site(), first))
    run_stage(sources.site(WITHOUT_APP), first, stage="accumulate", source="web")
    sources.feed(OF_WEB, [])
    list(run_batch(sources.site(), first))
    assert sources.windows() == OF_ANN


@pytest.mark.slow
def test_a_window_that_was_away_while_rows_were_put_back_is_new(spark: SparkSession, tmp_path: Path) -> None:
    sources = Sources(spark, tmp_path)
    with_own = SOURCES + "  own: {tumbling: 60 s, unaligned: true}\n"
    list(run_batch(sources.site(with_own), Request(batch=FIRST)))
    sources.feed([*OF_WEB, ("cem", 8, 30, 30)], OF_APP)
    run_stage(sources.site(), Request(batch=FIRST), stage="accumulate", source="web")
    sources.feed(OF_WEB, OF_APP)
    list(run_batch(sources.site(), Request(batch=FIRST)))
    with pytest.raises(CorrectTheSpec, match="own"):
        list(run_batch(sources.site(with_own), Request(batch=SECOND_BATCH)))
