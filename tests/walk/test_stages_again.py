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
from pipelines.stages import Report, Request, Site, run_batch, run_stage, running
from pipelines.stages.abandoning import abandon_batch
from pipelines.store.reader import read_ledger
from tests.walk.stand import Stored
from tests.walk.test_put_back import FIRST as OF_CLICKS
from tests.walk.test_put_back import SECOND_BATCH as AFTER_IT
from tests.walk.test_put_back import SOURCES, WITHOUT_APP, Sources

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
FIRST, SECOND = Request(batch=Interval(0, 100)), Request(batch=Interval(100, 200))
ROWS = 3


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


def run(site: Site, stage: str, request: Request = FIRST) -> Report:
    return run_stage(site, request, stage=stage, source="main" if stage == "accumulate" else None)


def contents(folder: Path) -> list[list[str]]:
    stored = Stored(folder / "store" / "again")
    return [sorted(map(str, stored.rows(table))) for table in ("runs", "panes", "windows", "checks")]


def test_a_stage_out_of_turn_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, numbers=[1, 2, 4], kind=pa.int64())
    (tmp_path / "dags").mkdir()
    # Sessions are in the slow tests below.
    spec = "\n".join(line for line in SPEC.splitlines() if not line.startswith("  visits:"))
    (tmp_path / "dags" / "again.yml").write_text(f"{spec}\n")
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "again.yml", home=tmp_path))

    with pytest.raises(CorrectTheCall, match=r"the stage accumulate has not run, .*; run it before publish"):
        run(site, "publish")
    assert contents(tmp_path)[0] == []
    run(site, "accumulate")
    with pytest.raises(CorrectTheCall, match=r"the stage combine has not run, .*; run it before publish"):
        run(site, "publish")

    for stage in ("combine", "finalise", "publish"):
        run(site, stage)
    published = contents(tmp_path)
    assert "'last': 1" in published[2][0] and len(published[2]) == 2
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


def site_of(spark: SparkSession, folder: Path) -> Site:
    write(folder, numbers=[1, 2, 4], kind=pa.int64())
    (folder / "dags").mkdir()
    (folder / "dags" / "again.yml").write_text(SPEC)
    return Site(spark, str(folder / "store"), load(folder / "dags" / "again.yml", home=folder))


@pytest.mark.slow
def test_stages_of_a_batch_that_others_have_followed_change_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    site = site_of(spark, tmp_path)
    for request in (FIRST, SECOND):
        list(run_batch(site, request))
    published = contents(tmp_path)
    later = ["combine", "finalise", "publish"]
    for stages in (["publish"], later, ["accumulate", *later], later[1:], later[2:]):
        for stage in stages:
            run(site, stage)
        assert contents(tmp_path) == published, stages


@pytest.mark.slow
def test_what_a_batch_that_was_killed_or_given_up_had_done_is_not_gone_on_with(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_of(spark, tmp_path)
    with monkeypatch.context() as killed:
        killed.setattr(running, "finish_stage", lambda *_, **__: killed_here())
        with pytest.raises(ProcessLookupError):
            run(site, "accumulate")
    with pytest.raises(CorrectTheCall, match="the stage accumulate has not run"):
        run(site, "combine")
    assert [row["status"] for row in Stored(site_root(tmp_path)).rows("runs")] == ["failed"]
    run(site, "accumulate")
    abandon_batch(site.tables, site.pipeline, batch=FIRST.batch)
    with pytest.raises(CorrectTheCall, match="the stage accumulate has not run"):
        run(site, "combine")
    assert Stored(site_root(tmp_path)).rows("runs") == []
    for stage in ("accumulate", "combine", "accumulate"):
        run(site, stage)
    with pytest.raises(
        CorrectTheCall, match=r"the stage combine has not run, .* a stage before it was run again"
    ):
        run(site, "finalise")
    list(run_batch(site, FIRST))
    stored = Stored(site_root(tmp_path))
    assert sum(row["event_count"] for row in stored.rows("partial_frames")) == ROWS


def killed_here() -> None:
    raise ProcessLookupError


def site_root(folder: Path) -> Path:
    return folder / "store" / "again"


WANTED = {
    "other rules": "what is expected of events was changed",
    "a source more": "source app has not been accumulated",
    "a source less": "rows of .*source.* the spec no longer has.* run the stage accumulate for web",
}


@pytest.mark.parametrize(
    ("stage", "changed"),
    [
        ("combine", "other rules"),
        *[
            (it, more)
            for more in ("a source more", "a source less")
            for it in ("combine", "finalise", "publish")
        ],
    ],
)
def test_a_stage_that_would_combine_other_rows_leaves_a_published_batch_as_it_was(
    spark: SparkSession, tmp_path: Path, stage: str, changed: str
) -> None:
    sources = Sources(spark, tmp_path)
    rule = "events:\n  - expect_column_values_to_be_between: {column: number, max_value: %s}\n"
    ruled = SOURCES + "expectations: few.yml\n"
    (tmp_path / "few.yml").write_text(rule % 90)
    spec, other = {
        "other rules": (ruled, ruled),
        "a source more": (WITHOUT_APP, SOURCES),
        "a source less": (SOURCES, WITHOUT_APP),
    }[changed]
    site = sources.site(spec)
    first, second = Request(batch=OF_CLICKS), Request(batch=AFTER_IT)
    list(run_batch(site, first))
    stood = read_ledger(site.store, "clicks")
    (tmp_path / "few.yml").write_text(rule % 80)
    with pytest.raises(CorrectTheCall, match=WANTED[changed]):
        run_stage(sources.site(other), first, stage=stage)
    assert read_ledger(site.store, "clicks") == stood
    list(run_batch(sources.site(spec), second))
