"""Tables that are emptied, to be computed anew, while others are at work or asleep."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import WaitForTheBatch
from pipelines.ingest.read import Schemas
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, open_batch, rebuilding, run_batch
from pipelines.stages.running import _open
from pipelines.store.tables import Shapes
from pipelines.store.writes import append
from tests.walk.test_sessions import CLICKS, SECOND, SPEC, site_of, standing_windows

FIRST, NEXT = Interval(0, 100 * SECOND), Interval(100 * SECOND, 200 * SECOND)


@pytest.fixture
def site(spark: SparkSession, tmp_path: Path) -> Site:
    """A pipeline whose first batch has run."""
    site = site_of(spark, tmp_path, CLICKS)
    list(run_batch(site, Request(batch=FIRST)))
    return site


def test_who_slept_through_a_rebuilding_writes_nothing_and_a_batch_that_began_is_not_emptied(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stood = standing_windows(tmp_path / "store")

    def while_one_begins(site: Site, *, schemas: Schemas) -> Shapes:
        open_batch(site, Request(batch=NEXT))
        return shapes_of(site, schemas=schemas)

    shapes_of = rebuilding.shapes_of
    monkeypatch.setattr(rebuilding, "shapes_of", while_one_begins)
    with pytest.raises(WaitForTheBatch, match="is running: the tables cannot be rebuilt under it"):
        rebuilding.empty_tables(site, [FIRST])
    assert standing_windows(tmp_path / "store") == stood != []

    monkeypatch.setattr(rebuilding, "shapes_of", shapes_of)
    asleep = open_batch(site, Request(batch=NEXT))
    found = site.tables.read("partial_sessions")
    rows = site.spark.createDataFrame(found.collect(), found.schema)
    rebuilding.empty_tables(site, [FIRST, NEXT])
    append(site.tables, "partial_sessions", rows=rows, fence=asleep.fence("partial_sessions/main"))
    assert site.tables.read("partial_sessions").collect() == []
    list(run_batch(site, Request(batch=FIRST)))
    assert standing_windows(tmp_path / "store") == stood


def test_who_runs_batch_after_batch_goes_on_with_the_frames_of_a_rebuilding_in_between(
    spark: SparkSession, tmp_path: Path
) -> None:
    whole = SPEC.replace("visits: {session: 10 s, allowed_lateness: 60 s}", "whole: {tumbling: 60 s}")
    following = site_of(spark, tmp_path, CLICKS, spec=whole)
    list(run_batch(following, Request(batch=FIRST)))
    stale = replace(following)
    assert dict(stale.pipeline.frame_lengths) == {"aligned": 60 * SECOND}
    halved = respelled(following, whole.replace("windows: {", "windows: {half: {tumbling: 30 s}, "))
    rebuilding.empty_tables(halved, [FIRST])
    list(run_batch(halved, Request(batch=FIRST)))
    with pytest.raises(WaitForTheBatch, match="was rebuilt since this run began"):
        open_batch(stale, Request(batch=NEXT))
    list(run_batch(following, Request(batch=NEXT, final=True)))
    frames = following.tables.read("frames").collect()
    assert {it.frame_end - it.frame_start for it in frames} == {timedelta(seconds=30)}
    published = following.tables.read("windows").where("window = 'whole'").collect()
    totals = {(it.user, int(it.window_start.timestamp())): it.total for it in published}
    assert totals == {("ann", 0): 1 + 2 + 4 + 16, ("bob", 0): 8}


def test_who_slept_under_a_spec_with_another_source_writes_nothing_once_others_go_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    site = site_of(spark, tmp_path, CLICKS)
    list(run_batch(site, Request(batch=FIRST)))
    asleep = _open(site, Request(batch=NEXT))
    found = site.tables.read("partial_sessions")
    rows = spark.createDataFrame(found.collect(), found.schema)
    ewr = SPEC.replace("source: {", "sources: {ewr: {").replace("arrival_time}", "arrival_time}}")
    renamed = respelled(site, ewr)
    list(run_batch(renamed, Request(batch=NEXT)))
    append(site.tables, "partial_sessions", rows=rows, fence=asleep.fence("partial_sessions/main"))
    assert site.tables.read("partial_sessions").where("source = 'main'").count() == rows.count()


def respelled(site: Site, spec: str) -> Site:
    """The same place under another spec."""
    site.declared.path.write_text(spec)
    return Site(site.spark, site.store, load(site.declared.path))


@pytest.mark.slow
def test_a_rebuilding_also_empties_what_the_spec_no_longer_asks_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    spec = SPEC.replace("source: {", "source: {event_id: {of: [user, number]}, ")
    site = site_of(spark, tmp_path, CLICKS, spec=spec)
    list(run_batch(site, Request(batch=FIRST)))
    stood = standing_windows(tmp_path / "store")
    without = respelled(site, SPEC)
    rebuilding.empty_tables(without, [FIRST])
    assert site.tables.read("event_ids").collect() == []
    list(run_batch(without, Request(batch=FIRST)))
    assert standing_windows(tmp_path / "store") == stood
