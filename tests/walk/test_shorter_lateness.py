"""A spec that allows less lateness than before: what waited in windows that close by it is published."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from pipelines.store.upkeep import maintain_table
from tests.walk.published import in_microseconds, rows_of
from tests.walk.test_sessions import SECOND, Click, site_of, write_clicks

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
    shorter = now_shorter(site, tmp_path, lateness="20 s", of=SPEC)
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


WAITING = SPEC.partition("windows:")[0] + (
    "windows: {short: {tumbling: 10 s, allowed_lateness: 100 s, panes: {late: {rows: 9}}}}\n"
)


@pytest.mark.slow
def test_what_waits_of_the_newest_batch_is_published_when_that_runs_again_under_a_shorter_lateness(
    spark: SparkSession, tmp_path: Path
) -> None:
    # 60 s of lateness let in at 51 what they have closed at 80.
    clicks = [("ann", 1, 0, 0), ("bob", 4, 51, 2), ("ann", 8, 0, 100), ("bob", 16, 80, 101)]
    site = site_of(spark, tmp_path, clicks, spec=WAITING)
    run(site, 0)
    run(site, 100)
    run(now_shorter(site, tmp_path, lateness="60 s", of=WAITING), 100, final=True)
    of_ann = [it for it in rows_of(tmp_path / "store" / "clicks" / "panes") if it["user"] == "ann"]
    told = {(it["batch_end"] // SECOND, it["revision"], it["total"], it["timing"]) for it in of_ann}
    assert told == {(100, 0, 1, "ON_TIME"), (200, 1, 9, "LATE")}


@pytest.mark.slow
def test_what_waits_is_kept_by_retention_until_the_shorter_lateness_has_published_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    clicks = [("ann", 1, 0, 0), ("bob", 4, 51, 2), ("ann", 8, 0, 100), ("bob", 16, 80, 200)]
    spec = WAITING + "retention: {frames: 30 s}\n"
    site = site_of(spark, tmp_path, clicks, spec=spec)
    run(site, 0)
    run(site, 100)
    shorter = now_shorter(site, tmp_path, lateness="20 s", of=spec)
    assert maintain_table(site.tables, "frames", pipeline=shorter.pipeline).let_go == 0
    run(shorter, 200)
    assert maintain_table(site.tables, "frames", pipeline=shorter.pipeline).let_go == 1
    of_ann = [it for it in rows_of(tmp_path / "store" / "clicks" / "panes") if it["user"] == "ann"]
    told = {(it["batch_end"] // SECOND, it["total"], it["timing"]) for it in of_ann}
    assert told == {(100, 1, "ON_TIME"), (300, 9, "LATE")}


def now_shorter(site: Site, folder: Path, *, lateness: str, of: str) -> Site:
    """The site once its spec allows less lateness."""
    spec = folder / "dags" / "clicks.yml"
    spec.write_text(of.replace("lateness: 100 s", f"lateness: {lateness}"))
    return Site(site.spark, site.store, load(spec))


def run(site: Site, start: int, *, final: bool = False) -> None:
    batch = Interval(start * SECOND, (start + 100) * SECOND)
    list(run_batch(site, Request(batch=batch, final=final)))


@pytest.mark.slow
def test_a_batch_again_under_a_longer_lateness_is_in_the_windows_that_had_dropped_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    windows = "{hour: {tumbling: 10 s}, day: {tumbling: 100 s, allowed_lateness: 1 day}}"
    #  the second is dropped from [0, 10), and kept in [0, 100): its frame has it either way
    clicks: list[Click] = [("ann", 1, 5, 0), ("bob", 2, 60, 1), ("ann", 4, 6, 100)]
    spec = SPEC.partition("windows:")[0] + f"windows: {windows}\n"
    site = site_of(spark, tmp_path, clicks, spec=spec)
    run(site, 0)
    run(site, 100)
    lost = tmp_path / "store" / "clicks" / "late_events"
    assert [(it["window"], it["missed"], it["kept"]) for it in in_microseconds(lost)] == [("hour", 1, 0)]
    site.declared.path.write_text(spec.replace("10 s}", "10 s, allowed_lateness: 1 day}"))
    longer = Site(spark, site.store, load(site.declared.path))
    for _ in ("once", "again"):
        run(longer, 100)
    assert in_microseconds(lost) == []
    stands = {
        (it["window"], it["total"])
        for it in rows_of(tmp_path / "store" / "clicks" / "windows")
        if it["user"] == "ann"
    }
    assert stands == {("hour", 5)}
    revisions = [it["revision"] for it in in_microseconds(tmp_path / "store" / "clicks" / "runs")]
    assert sorted(revisions) == [0, 0, 1]


@pytest.mark.slow
def test_a_batch_again_under_a_longer_lateness_takes_in_what_it_lost_also_if_it_loses_as_much_else(
    spark: SparkSession, tmp_path: Path
) -> None:
    windows = "{hour: {tumbling: 10 s}, day: {tumbling: 100 s, allowed_lateness: 100 s}}"
    clicks: list[Click] = [("ann", 1, 5, 0), ("bob", 2, 160, 1), ("ann", 4, 106, 100)]
    spec = SPEC.partition("windows:")[0] + f"windows: {windows}\n"
    site = site_of(spark, tmp_path, clicks, spec=spec)
    run(site, 0)
    run(site, 100)
    site.declared.path.write_text(spec.replace("10 s}", "10 s, allowed_lateness: 100 s}"))
    # One more, of [-100, 0), which both have closed.
    write_clicks(tmp_path, [*clicks, ("ann", 8, -5, 101)])
    run(Site(spark, site.store, load(site.declared.path)), 100)
    lost = in_microseconds(tmp_path / "store" / "clicks" / "late_events")
    assert {(it["window"], it["number"]) for it in lost} == {("hour", 8), ("day", 8)}
    stands = rows_of(tmp_path / "store" / "clicks" / "windows")
    assert ("hour", 4) in {(it["window"], it["total"]) for it in stands if it["user"] == "ann"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("was", "now"),
    [
        # It loses two windows now, where it lost one.
        ("allowed_lateness: 15 s", "allowed_lateness: 5 s"),
        ("event_time: event_time,", "event_time: event_time, select: {twice: number * 2},"),
    ],
)
def test_a_batch_again_that_loses_no_less_gives_windows_nothing_that_they_had_dropped(
    spark: SparkSession, tmp_path: Path, was: str, now: str
) -> None:
    slides = "{sliding: 20 s, step: 10 s, allowed_lateness: 15 s}"
    windows = f"{{hour: {slides}, day: {{tumbling: 100 s, allowed_lateness: 1 day}}}}"
    clicks: list[Click] = [("ann", 1, 35, 0), ("bob", 2, 60, 1), ("ann", 4, 36, 100)]
    spec = SPEC.partition("windows:")[0] + f"windows: {windows}\n"
    site = site_of(spark, tmp_path, clicks, spec=spec)
    run(site, 0)
    run(site, 100)
    lost = in_microseconds(tmp_path / "store" / "clicks" / "late_events")
    assert [(it["window"], it["missed"], it["kept"]) for it in lost] == [("hour", 1, 1)]
    panes, windows_, _ = published(site)
    assert was in spec
    site.declared.path.write_text(spec.replace(was, now))
    run(Site(spark, site.store, load(site.declared.path)), 100)
    assert published(site)[:2] == [panes, windows_]


@pytest.mark.slow
def test_a_batch_again_with_another_window_gives_the_others_nothing_that_they_had_dropped(
    spark: SparkSession, tmp_path: Path
) -> None:
    windows = "{hour: {tumbling: 10 s}, day: {tumbling: 100 s, allowed_lateness: 1 day}}"
    clicks: list[Click] = [("ann", 1, 5, 0), ("bob", 2, 60, 1), ("ann", 4, 6, 100), ("bob", 8, 70, 300)]
    spec = SPEC.partition("windows:")[0] + f"windows: {windows}\nretention: {{late_events: 100 s}}\n"
    site = site_of(spark, tmp_path, clicks, spec=spec)
    for start in (0, 100, 300):
        run(site, start)
    site.declared.path.write_text(spec.replace("1 day}}", "1 day}, two: {tumbling: 20 s}}"))
    more = Site(spark, site.store, load(site.declared.path))
    run(more, 100)
    of_ann = [it for it in rows_of(tmp_path / "store" / "clicks" / "windows") if it["user"] == "ann"]
    assert {(it["window"], it["total"]) for it in of_ann} == {("hour", 1), ("two", 5)}
    runs = tmp_path / "store" / "clicks" / "runs"
    stood = [(it["batch_end"], it["revision"]) for it in in_microseconds(runs)]
    # Nor does it change anything that retention lets go of late rows.
    assert maintain_table(more.tables, "late_events", pipeline=more.pipeline).let_go > 0
    run(more, 100)
    assert [(it["batch_end"], it["revision"]) for it in in_microseconds(runs)] == stood


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gone", "has_lost"),
    [
        ("all: {global: true}", False),
        ("visits: {session: 10 s}", True),
        ("own: {tumbling: 10 s, unaligned: true}", True),
    ],
)
def test_a_batch_again_without_a_window_gives_the_others_nothing_that_they_had_dropped(
    spark: SparkSession, tmp_path: Path, gone: str, has_lost: bool
) -> None:
    windows = "hour: {tumbling: 10 s}, day: {tumbling: 100 s, allowed_lateness: 1 day}, other: {session: 5 s}"
    clicks: list[Click] = [("ann", 1, 5, 0), ("bob", 2, 60, 1), ("ann", 4, 6, 100), ("ann", 8, 70, 101)]
    spec = SPEC.partition("windows:")[0] + f"windows: {{{windows}, {gone}}}\n"
    site = site_of(spark, tmp_path, clicks, spec=spec)
    for start in (0, 100):
        run(site, start)
    stood = published(site)
    site.declared.path.write_text(spec.replace(f", {gone}", ""))
    less = Site(spark, site.store, load(site.declared.path))
    run(less, 100)
    *told, ledger = published(less)
    assert [*told, [it for it in ledger if it["revision"] == 0]] == stood
    # It tells that late rows of the window have gone with it.
    more = [it for it in ledger if it["revision"]]
    again = [(it["batch_start"], it["revision"], it["accepted"], it["panes"]) for it in more]
    assert again == ([(100 * SECOND, 1, 2, 0)] if has_lost else [])


def published(site: Site) -> list[list[dict]]:
    """What readers see, and the ledger."""
    return [
        sorted(in_microseconds(Path(site.store) / "clicks" / table), key=str)
        for table in ("panes", "windows", "runs")
    ]
