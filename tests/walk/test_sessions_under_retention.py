"""Sessions of which retention lets go the older part."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.stages import Request, run_batch
from pipelines.store.upkeep import maintain_table
from tests.walk.test_sessions import SECOND, SPEC, site_of, standing_windows, write_clicks


@pytest.mark.slow
def test_a_session_is_retracted_that_grew_for_longer_than_frames_are_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    #  ann's [0, 10) is due at 11 and grows to [0, 100), while the watermark goes on with it
    grows = [("ann", 2, 9 * it, 13 + 9 * it) for it in range(1, 11)]
    clicks = [("ann", 1, 0, 0), ("bob", 4, 11, 11), *grows, ("bob", 8, 150, 150)]
    spec = SPEC.replace("60 s", "30 s") + "retention: {frames: 30 s}\n"
    site = site_of(spark, tmp_path, clicks, spec=spec)
    for start in (0, 12, 120, 144):
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 12) * SECOND))))
        if start == 12:
            between = range(24, 120, 12)
            for begin in between:
                list(run_batch(site, Request(batch=Interval(begin * SECOND, (begin + 12) * SECOND))))
    assert standing_windows(tmp_path / "store") == [("ann", 0, 100, 21), ("bob", 11, 21, 4)]


@pytest.mark.slow
@pytest.mark.parametrize("upkept", [False, True])
def test_retention_leaves_a_session_that_an_event_at_its_end_may_still_join(
    spark: SparkSession, tmp_path: Path, upkept: bool
) -> None:
    #  [0, 10) closes when the watermark is past 30, by a microsecond
    clicks = [("ann", 1, 0, 0), ("cat", 1, 0, 0), ("bob", 2, 30, 1), ("ann", 4, 10, 100), ("cat", 4, 0, 100)]
    #  dan's [-5, 5) is beyond it
    clicks.append(("dan", 8, -5, 1))
    spec = SPEC.replace("60 s", "20 s") + "retention: {frames: 1 s}\n"
    site = site_of(spark, tmp_path, clicks, spec=spec)
    for start in (0, 100):
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
        for table in ("sessions", "partial_sessions") if upkept else ():
            maintain_table(site.tables, table, pipeline=site.pipeline)
    stand = standing_windows(tmp_path / "store")
    assert stand == [("ann", 0, 20, 5), ("cat", 0, 10, 5), ("dan", -5, 5, 8)]


@pytest.mark.slow
def test_a_session_of_which_retention_let_go_a_part_stands_whatever_reaches_back_to_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    #  ann's [0, 19) is kept beside bob's, which begins at 12 and is open; what of it ended at 10 is gone
    bobs = [("bob", 1, at, at) for at in (12, 21, 30, 39, 47, 55)]
    clicks = [("ann", 1, 0, 0), ("ann", 2, 9, 9), *bobs]
    spec = SPEC.replace("60 s", "20 s") + "retention: {frames: 30 s}\n"
    site = site_of(spark, tmp_path, clicks, spec=spec)
    for start in range(0, 56, 8):
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 8) * SECOND))))
    for table in ("sessions", "partial_sessions"):
        assert maintain_table(site.tables, table, pipeline=site.pipeline).let_go == (table != "sessions")
    stood = standing_windows(tmp_path / "store")

    write_clicks(tmp_path, [*clicks, ("ann", 16, 18, 25), ("ann", 2, 1, 25), ("cat", 4, 26, 30)])
    reports = list(run_batch(site, Request(batch=Interval(24 * SECOND, 32 * SECOND))))
    assert "changes windows that begin before 1970-01-01 00:00:25" in reports[0].warnings[0]
    #  What ends among what is kept begins anew beside it.
    stood = sorted([*stood, ("ann", 18, 28, 16), ("cat", 26, 36, 4)])
    assert standing_windows(tmp_path / "store") == stood

    late = [("ann", 32, 8, 60), ("ann", 64, 27, 60), ("dan", 8, 12, 60)]
    write_clicks(tmp_path, [*clicks, *late])
    reports = list(run_batch(site, Request(batch=Interval(56 * SECOND, 64 * SECOND), ignore_lateness=True)))
    assert "of which `retention` lets frames or sessions go" in reports[0].warnings[0]
    stood[stood.index(("ann", 18, 28, 16))] = ("ann", 18, 37, 16 + 64)
    assert standing_windows(tmp_path / "store") == stood
