"""Sessions under a spec that allows less lateness than before."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.walk.published import rows_of
from tests.walk.test_sessions import SECOND, Click, site_of
from tests.walk.test_shorter_lateness import SPEC, now_shorter, run

SESSIONS = SPEC.partition("windows:")[0] + (
    "windows: {short: {session: 10 s, max: 30 s, allowed_lateness: 100 s, panes: {late: {rows: 9}}}}\n"
)
#   ann  5    10      19        28        37
#             [ 1      2         4         8  …47)   chained: [10, 38) is full, [37, 47) begins anew
#        [32   1      2 …29)    [4         8  …47)   once 32 is there
CUT_ANEW: list[Click] = [
    ("ann", 1, 10, 0),
    ("ann", 2, 19, 1),
    ("ann", 4, 28, 2),
    ("ann", 8, 37, 3),
    ("bob", 16, 71, 4),
    ("ann", 32, 5, 100),
    ("bob", 64, 72, 200),
]


@pytest.mark.slow
def test_sessions_that_were_cut_anew_and_wait_are_published_when_a_shorter_lateness_closes_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    site = site_of(spark, tmp_path, CUT_ANEW, spec=SESSIONS)
    run(site, 0)
    run(site, 100)
    run(now_shorter(site, tmp_path, lateness="10 s", of=SESSIONS), 200)
    of_ann = [it for it in rows_of(tmp_path / "store" / "clicks" / "panes") if it["user"] == "ann"]
    told = {
        (it["batch_end"] // SECOND, it["start"] // SECOND, it["end"] // SECOND, it["total"], it["kind"])
        for it in of_ann
    }
    assert told == {
        (100, 10, 38, 7, "insert"),
        (100, 37, 47, 8, "insert"),
        (300, 10, 38, 7, "retract"),
        (300, 37, 47, 8, "retract"),
        (300, 5, 29, 35, "insert"),
        (300, 28, 47, 12, "insert"),
    }


THREES = SPEC.partition("windows:")[0] + (
    'windows: {threes: {custom: "tests.windows.bursts:AT_MOST_THREE", allowed_lateness: 100 s, '
    "panes: {early: each batch, late: {rows: 9}}}}\n"
)


def test_what_is_cut_off_under_a_shorter_lateness_is_published_also_where_it_had_closed_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    #   0 and 9 are one at first; then three at 9 are, and [0, 10) has ended 7 s before the watermark
    clicks = [("ann", 1, 0, 0), ("ann", 2, 9, 1), ("bob", 4, 17, 2), ("ann", 8, 9, 100), ("ann", 16, 9, 101)]
    site = site_of(spark, tmp_path, clicks, spec=THREES.replace("100 s", "5 s"))
    run(site, 0)
    run(now_shorter(site, tmp_path, lateness="2 s", of=THREES), 100)
    told = {
        (it["batch_end"] // SECOND, it["start"] // SECOND, it["end"] // SECOND, it["total"], it["kind"])
        for it in rows_of(tmp_path / "store" / "clicks" / "panes")
        if it["user"] == "ann"
    }
    assert told == {
        (100, 0, 19, 3, "insert"),
        (200, 0, 19, 3, "retract"),
        (200, 0, 10, 1, "insert"),
        (200, 9, 19, 26, "insert"),
    }
