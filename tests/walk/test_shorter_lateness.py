"""A spec that allows less lateness than before: what waited in windows that close by it is published."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.walk.published import rows_of
from tests.walk.test_sessions import SECOND, Click, site_of

SPEC = """
name: clicks
source: {format: parquet, path: data, event_time: event_time, arrival_time: arrival_time}
key: [user]
aggregates: {total: {sum: number}}
windows:
  short: {tumbling: 10 s, allowed_lateness: 100 s, panes: {late: {rows: 9}}}
  visits: {session: 10 s, allowed_lateness: 100 s, panes: {late: {every: 1 day}, mode: discarding}}
  long: {tumbling: 20 s, allowed_lateness: 1000 s}
"""
#   user  number  happened  arrived
CLICKS: list[Click] = [
    ("ann", 1, 0, 0),
    ("ann", 2, 25, 1),
    ("bob", 4, 51, 2),  #  the watermark is 51: what ann did is due
    ("ann", 8, 0, 100),  #  late, and waits
    ("ann", 16, 20, 200),  #  dropped from [20, 30), which 20 s of lateness have closed; `long` keeps it
    ("ann", 32, 1, 201),  #  dropped from [0, 10), likewise; its frame is in `long`
    ("bob", 64, 60, 300),
]


@pytest.mark.slow
def test_late_rows_that_wait_are_published_when_a_shorter_lateness_closes_their_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    site = site_of(spark, tmp_path, CLICKS, spec=SPEC)
    run(site, 0)
    run(site, 100)
    spec = tmp_path / "dags" / "clicks.yml"
    spec.write_text(SPEC.replace("lateness: 100 s", "lateness: 20 s"))
    shorter = Site(spark, site.store, load(spec))
    run(shorter, 200)
    run(shorter, 300)
    of_ann = [it for it in rows_of(tmp_path / "store" / "clicks" / "panes") if it["user"] == "ann"]
    told = {
        (it["window"], it["batch_end"] // SECOND, it["start"] // SECOND, it["total"], it["timing"])
        for it in of_ann
        if it["window"] != "long"
    }
    assert [it["batch_end"] // SECOND for it in of_ann if it["is_final"]] == [300, 300]
    assert told == {
        ("short", 100, 0, 1, "ON_TIME"),
        ("short", 100, 20, 2, "ON_TIME"),
        ("visits", 100, 0, 1, "ON_TIME"),
        ("visits", 100, 25, 2, "ON_TIME"),
        # Of a window its frames tell, and these have what another window kept.
        ("short", 300, 0, 41, "LATE"),
        ("visits", 300, 0, 8, "LATE"),
    }


def run(site: Site, start: int) -> None:
    list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
