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
        list(run_batch(site, Request(batch=seconds(start, start + 12))))
        if start == 12:
            between = range(24, 120, 12)
            for begin in between:
                list(run_batch(site, Request(batch=seconds(begin, begin + 12))))
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
        list(run_batch(site, Request(batch=seconds(start, start + 100))))
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
        list(run_batch(site, Request(batch=seconds(start, start + 8))))
    for table in ("sessions", "partial_sessions"):
        assert maintain_table(site.tables, table, pipeline=site.pipeline).let_go == (table != "sessions")
    stood = standing_windows(tmp_path / "store")

    over = [("ann", 8, at, 25) for at in (5, 14, 18)]
    for rows, beside in (([*clicks, *over], [("ann", 5, 28, 24)]), (clicks, [])):
        write_clicks(tmp_path, rows)
        list(run_batch(site, Request(batch=seconds(24, 32))))
        assert standing_windows(tmp_path / "store") == sorted([*stood, *beside])

    write_clicks(tmp_path, [*clicks, ("ann", 16, 18, 25), ("ann", 2, 1, 25), ("cat", 4, 26, 30)])
    reports = list(run_batch(site, Request(batch=seconds(24, 32))))
    assert "changes windows that begin before 1970-01-01 00:00:25" in reports[0].warnings[0]
    #  What ends among what is kept begins anew beside it.
    stood = sorted([*stood, ("ann", 18, 28, 16), ("cat", 26, 36, 4)])
    assert standing_windows(tmp_path / "store") == stood

    late = [("ann", 32, 8, 60), ("ann", 64, 27, 60), ("dan", 8, 12, 60)]
    write_clicks(tmp_path, [*clicks, *late])
    reports = list(run_batch(site, Request(batch=seconds(56, 64), ignore_lateness=True)))
    assert "of which `retention` lets frames or sessions go" in reports[0].warnings[0]
    stood[stood.index(("ann", 18, 28, 16))] = ("ann", 18, 37, 16 + 64)
    assert standing_windows(tmp_path / "store") == stood


@pytest.mark.slow
def test_a_session_that_reaches_out_of_what_is_kept_is_cut_and_put_together_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    #  cat's is gone; ann's and eve's [5, 35) are there as a whole, and what may go ends at 20
    clicks = [
        ("cat", 1, -20, 0),
        ("ann", 1, 5, 0),
        ("ann", 4, 25, 24),
        ("eve", 4, 25, 24),
        ("eve", 1, 5, 32),
        ("bob", 8, 41, 41),
    ]
    bridges = [("ann", 2, 15, 32), ("eve", 2, 15, 32)]
    spec = SPEC.replace("60 s", "20 s") + "retention: {frames: 1 s}\n"
    site = site_of(spark, tmp_path, [*clicks, *bridges], spec=spec)
    for start in (0, 24, 32, 40):
        list(run_batch(site, Request(batch=seconds(start, start + 8))))
    for table in ("sessions", "partial_sessions"):
        assert maintain_table(site.tables, table, pipeline=site.pipeline).let_go == 1
    stood = standing_windows(tmp_path / "store")
    assert stood == [("ann", 5, 35, 7), ("cat", -20, -10, 1), ("eve", 5, 35, 7)]

    cut = [*[(it, 5, 15, 1) for it in ("ann", "eve")], *[(it, 25, 35, 4) for it in ("ann", "eve")]]
    for rows, stand in ((clicks, [*cut, stood[1]]), ([*clicks, *bridges], stood)):
        write_clicks(tmp_path, rows)
        list(run_batch(site, Request(batch=seconds(32, 40))))
        assert standing_windows(tmp_path / "store") == sorted(stand)
    #  So is one that an event joins for which lateness is ignored.
    write_clicks(tmp_path, [*clicks, *bridges, ("ann", 16, 8, 48)])
    list(run_batch(site, Request(batch=seconds(48, 56), ignore_lateness=True)))
    assert standing_windows(tmp_path / "store")[0] == ("ann", 5, 35, 23)


@pytest.mark.slow
def test_what_is_kept_of_a_session_that_has_gone_counts_in_no_other(
    spark: SparkSession, tmp_path: Path
) -> None:
    #  ann's [0, 16) goes, and its second event stays, for the batch that brought it may run again
    clicks = [("ann", 1, 0, 0), ("ann", 2, 6, 24), ("bob", 4, 41, 41)]
    spec = SPEC.replace("60 s", "20 s") + "retention: {frames: 1 s}\n"
    site = site_of(spark, tmp_path, clicks, spec=spec)
    for start in (0, 24, 40):
        list(run_batch(site, Request(batch=seconds(start, start + 8))))
    for table in ("sessions", "partial_sessions"):
        assert maintain_table(site.tables, table, pipeline=site.pipeline).let_go == 1
    gone = ("ann", 0, 16, 3)
    assert standing_windows(tmp_path / "store") == [gone]

    more = [("ann", 8, 5, 41), ("ann", 16, 14, 41), ("ann", 32, 23, 41)]
    write_clicks(tmp_path, [*clicks, *more])
    list(run_batch(site, Request(batch=seconds(40, 48))))
    assert standing_windows(tmp_path / "store") == [gone, ("ann", 5, 33, 56)]
    write_clicks(tmp_path, [*clicks, *more, ("ann", 64, 24, 41)])
    list(run_batch(site, Request(batch=seconds(40, 48))))
    assert standing_windows(tmp_path / "store") == [gone, ("ann", 5, 34, 120)]
    #  Also one that spans all of it takes nothing of it back.
    write_clicks(tmp_path, [*clicks, *more, ("ann", 64, -4, 41)])
    list(run_batch(site, Request(batch=seconds(40, 48))))
    assert standing_windows(tmp_path / "store") == [("ann", -4, 33, 120), gone]


@pytest.mark.slow
@pytest.mark.parametrize("upkept", [False, True])
def test_a_session_that_may_go_is_corrected_until_it_does(
    spark: SparkSession, tmp_path: Path, upkept: bool
) -> None:
    bob = ("bob", 4, 41, 41)
    spec = SPEC.replace("60 s", "20 s") + "retention: {frames: 1 s}\n"
    site = site_of(spark, tmp_path, [("ann", 1, 5, 24), bob], spec=spec)
    for start in (24, 40):
        list(run_batch(site, Request(batch=seconds(start, start + 8))))
    if upkept:
        assert maintain_table(site.tables, "sessions", pipeline=site.pipeline).let_go == 1
    write_clicks(tmp_path, [("ann", 1, 6, 24), bob])
    list(run_batch(site, Request(batch=seconds(24, 32))))
    assert standing_windows(tmp_path / "store") == [("ann", 5, 15, 1) if upkept else ("ann", 6, 16, 1)]


@pytest.mark.slow
def test_what_takes_the_place_of_what_reached_out_of_what_has_gone_counts_wherever_it_ends(
    spark: SparkSession, tmp_path: Path
) -> None:
    #  cat's has gone, and what ends at 60 may; ann's [41, 63) becomes [38, 55)
    others = [("cat", 1, -20, 0), ("ann", 1, 41, 40), ("ann", 2, 45, 56), ("bob", 4, 70, 70)]
    spec = SPEC.replace(", allowed_lateness: 60 s", "") + "retention: {frames: 10 s}\n"
    site = site_of(spark, tmp_path, [*others, ("ann", 8, 53, 56)], spec=spec)
    for start in (0, 40, 56, 64):
        list(run_batch(site, Request(batch=seconds(start, start + 8))))
    for table in ("sessions", "partial_sessions"):
        assert maintain_table(site.tables, table, pipeline=site.pipeline).let_go == 1
    gone = ("cat", -20, -10, 1)
    assert standing_windows(tmp_path / "store") == [("ann", 41, 63, 11), gone]
    write_clicks(tmp_path, [*others, ("ann", 16, 38, 56)])
    list(run_batch(site, Request(batch=seconds(56, 64))))
    assert standing_windows(tmp_path / "store") == [("ann", 38, 55, 19), gone]


@pytest.mark.slow
def test_what_a_correction_brings_before_what_has_gone_counts_where_it_leads_on_to_what_is_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    #  cat's has gone, and eve's reaches out of what has; ann's follow each other to beyond it, dan's does not
    others = [("cat", 1, -20, 0), *[("eve", 1, at, 64) for at in (35, 44, 53)], ("bob", 4, 70, 70)]
    spec = SPEC.replace(", allowed_lateness: 60 s", ", max: 30 s") + "retention: {frames: 10 s}\n"
    site = site_of(spark, tmp_path, others, spec=spec)
    for start in (0, 56, 64):
        list(run_batch(site, Request(batch=seconds(start, start + 8))))
    for table in ("sessions", "partial_sessions"):
        assert maintain_table(site.tables, table, pipeline=site.pipeline).let_go == 1
    gone = ("cat", -20, -10, 1)
    stood = [gone, ("eve", 35, 63, 3)]
    assert standing_windows(tmp_path / "store") == stood
    write_clicks(tmp_path, [*others, *[("ann", 2, at, 56) for at in (39, 47, 55)], ("dan", 8, 40, 56)])
    list(run_batch(site, Request(batch=seconds(56, 64))))
    assert standing_windows(tmp_path / "store") == [("ann", 39, 65, 6), *stood]


def seconds(start: int, end: int) -> Interval:
    """The interval between two instants in seconds."""
    return Interval(start * SECOND, end * SECOND)
