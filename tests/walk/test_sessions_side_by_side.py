"""Sessions that began anew beside closed ones and overlap them: batches again, and lateness ignored."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.walk.test_sessions import SECOND, SPEC, Click, panes, site_of, standing_windows, write_clicks


@pytest.mark.slow
def test_a_batch_again_leaves_what_was_begun_beside_a_closed_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    #   ann   82 |-----| 92, closed by bob at 95          86 begins anew, for the other is closed
    clicks = [("ann", 1, 82, 0), ("bob", 2, 95, 0), ("ann", 4, 86, 100), ("bob", 8, 150, 200)]
    spec = SPEC.replace(", allowed_lateness: 60 s", "")
    site = site_of(spark, tmp_path, clicks, spec=spec)
    for start in (0, 100, 0):
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
    # Nor does it where something else has changed.
    write_clicks(tmp_path, [*clicks, ("cem", 16, 80, 0)])
    for start in (0, 200):
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
    assert panes(tmp_path / "store") == {
        100: [
            ("ann", 82, 92, 1, "insert", "ON_TIME", 0),
            ("cem", 80, 90, 16, "insert", "LATE", 0),
        ],
        300: [
            ("ann", 86, 96, 4, "insert", "ON_TIME", 0),
            ("bob", 95, 105, 2, "insert", "ON_TIME", 0),
        ],
    }


@pytest.mark.slow
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another key"])
@pytest.mark.parametrize(
    ("arrived", "lateness", "starts"),
    [
        pytest.param(50, "", (100, 200, 0, 300), id="an older batch"),
        pytest.param(300, ", allowed_lateness: 1 day", (100, 200, 300), id="a longer lateness"),
    ],
)
def test_where_both_are_open_again_an_event_joins_the_one_that_it_meets(
    spark: SparkSession, tmp_path: Path, arrived: int, lateness: str, starts: tuple[int, ...], beside: bool
) -> None:
    #   ann   82 |-----| 92 has closed, 86 |-----| 96 is begun anew, and 94 |-----| 104 meets only that one
    clicks = [("ann", 1, 82, 100), ("bob", 2, 95, 100), ("ann", 4, 86, 200), ("ann", 8, 94, arrived)]
    clicks += [("cem", 16, 80, arrived)] if beside else []
    site = site_of(spark, tmp_path, clicks, spec=SPEC.replace(", allowed_lateness: 60 s", ""))
    for start in starts:
        if start == starts[2]:
            site.declared.path.write_text(SPEC.replace(", allowed_lateness: 60 s", lateness))
            site = Site(spark, site.store, load(site.declared.path))
        batch = Interval(start * SECOND, (start + 100) * SECOND)
        list(run_batch(site, Request(batch=batch, final=start == 300)))
    of_ann = [it for it in standing_windows(tmp_path / "store") if it[0] == "ann"]
    assert of_ann == [("ann", 82, 92, 1), ("ann", 86, 104, 12)]


@pytest.mark.slow
def test_where_lateness_is_ignored_all_sessions_of_a_chain_are_published_that_were_cut_anew(
    spark: SparkSession, tmp_path: Path
) -> None:
    #   ann   10 18 26 |-| 36   34 42 |-| 52          then 5 10 18 |-| 28   26 34 42 |-| 52
    clicks = [("ann", 1 << it, at, 0) for it, at in enumerate((10, 18, 26, 34, 42))]
    clicks += [("bob", 32, 99, 0), ("ann", 64, 5, 100)]
    site = site_of(spark, tmp_path, clicks, spec=SPEC.replace(", allowed_lateness: 60 s", ", max: 30 s"))
    for start, is_ignored in ((0, False), (100, True)):
        batch = Interval(start * SECOND, (start + 100) * SECOND)
        list(run_batch(site, Request(batch=batch, ignore_lateness=is_ignored)))
    of_ann = [it for it in standing_windows(tmp_path / "store") if it[0] == "ann"]
    assert of_ann == [("ann", 5, 28, 67), ("ann", 26, 52, 28)]


@pytest.mark.slow
@pytest.mark.parametrize("beside", [(), (("cem", 16, 80, 200),)], ids=["alone", "beside another key"])
def test_where_lateness_is_ignored_an_event_joins_the_sessions_that_it_meets(
    spark: SparkSession, tmp_path: Path, beside: tuple[Click, ...]
) -> None:
    #   ann   82 |-----| 92 has closed, 86 |-----| 96 is begun anew, and 94 |-----| 104 meets only that one
    clicks = [("ann", 1, 82, 0), ("bob", 2, 95, 0), ("ann", 4, 86, 100), ("ann", 8, 94, 200), *beside]
    site = site_of(spark, tmp_path, clicks, spec=SPEC.replace(", allowed_lateness: 60 s", ""))
    for start, is_ignored in ((0, False), (100, False), (200, True), (300, False)):
        batch = Interval(start * SECOND, (start + 100) * SECOND)
        list(run_batch(site, Request(batch=batch, ignore_lateness=is_ignored, final=start == 300)))
    of_ann = [it for it in standing_windows(tmp_path / "store") if it[0] == "ann"]
    assert of_ann == [("ann", 82, 92, 1), ("ann", 86, 104, 12)]
