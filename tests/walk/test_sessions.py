"""Sessions that grow after they were published, batch by batch over Delta, once with each stage run twice."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch, run_stage

SECOND = 1_000_000
SPEC = """
name: clicks
source: {format: parquet, path: data, event_time: event_time, arrival_time: arrival_time}
key: [user]
aggregates: {total: {sum: number}}
windows: {visits: {session: 10 s, allowed_lateness: 60 s}}
"""
ROWS = pa.schema(
    {
        "user": pa.string(),
        "number": pa.int64(),
        "event_time": pa.timestamp("us", tz="UTC"),
        "arrival_time": pa.timestamp("us", tz="UTC"),
    }
)
#   user  number  happened  arrived
CLICKS = [
    ("ann", 1, 0, 0),
    ("ann", 2, 10, 10),
    ("ann", 4, 30, 30),
    ("bob", 8, 50, 50),  #  the watermark is 50 now, so [0, 20) and [30, 40) are due
    ("ann", 16, 15, 110),  #  [0, 20) grows to [0, 25)
    ("ann", 32, 22, 210),  #  [0, 25) and [30, 40) become one
    ("bob", 64, 200, 211),
    ("ann", 128, 35, 310),  #  [0, 40) had closed at 100: late
    ("bob", 256, 195, 311),  #  [200, 210) was not due: [195, 210)
]
Said = tuple[str, int, int, int, str, str, int]
Click = tuple[str, int, int, int]


def site_of(spark: SparkSession, folder: Path, clicks: list[Click], *, spec: str = SPEC) -> Site:
    """The pipeline over these clicks."""
    (folder / "dags").mkdir()
    (folder / "dags" / "clicks.yml").write_text(spec)
    (folder / "data").mkdir()
    write_clicks(folder, clicks)
    return Site(spark, str(folder / "store"), load(folder / "dags" / "clicks.yml"))


def write_clicks(folder: Path, clicks: list[Click]) -> None:
    """Let these be the rows of the input."""
    rows = [
        {"user": user, "number": number, "event_time": at * SECOND, "arrival_time": arrived * SECOND}
        for user, number, at, arrived in clicks
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=ROWS), folder / "data" / "rows.parquet")


def panes(store: Path) -> dict[int, list[Said]]:
    """By the end of the batch: user, bounds, total, kind, timing, index of what was published."""
    found: dict[int, list[Said]] = {}
    for row in DeltaTable(store / "clicks" / "panes").to_pyarrow_table().to_pylist():
        bounds = (int(row["window_start"].timestamp()), int(row["window_end"].timestamp()))
        said = (row["user"], *bounds, row["total"], row["kind"], row["timing"], row["pane_index"])
        found.setdefault(int(row["batch_end"].timestamp()), []).append(said)
    return {end: sorted(rows) for end, rows in found.items()}


@pytest.mark.slow
def test_a_session_that_changed_is_a_new_window_and_the_old_ones_are_retracted(
    spark: SparkSession, tmp_path: Path
) -> None:
    site = site_of(spark, tmp_path, CLICKS)
    for end in (100, 200, 300, 400):
        request = Request(batch=Interval((end - 100) * SECOND, end * SECOND))
        for stage in ("accumulate", "combine", "finalise", "publish"):
            for _ in ("once", "again"):
                run_stage(site, request, stage=stage, source="main" if stage == "accumulate" else None)
    assert panes(tmp_path / "store") == {
        100: [("ann", 0, 20, 3, "insert", "ON_TIME", 0), ("ann", 30, 40, 4, "insert", "ON_TIME", 0)],
        200: [("ann", 0, 20, 3, "retract", "LATE", 0), ("ann", 0, 25, 19, "insert", "LATE", 0)],
        300: [
            ("ann", 0, 25, 19, "retract", "LATE", 0),
            ("ann", 0, 40, 55, "insert", "LATE", 0),
            ("ann", 30, 40, 4, "retract", "LATE", 0),
            ("bob", 50, 60, 8, "insert", "ON_TIME", 0),
        ],
    }
    late = DeltaTable(tmp_path / "store" / "clicks" / "late_events").to_pyarrow_table().to_pylist()
    assert [(row["number"], row["missed"], row["kept"]) for row in late] == [(128, 1, 0)]
    windows = DeltaTable(tmp_path / "store" / "clicks" / "windows").to_pyarrow_table().to_pylist()
    assert sorted((row["user"], row["total"]) for row in windows) == [("ann", 55), ("bob", 8)]
    table = DeltaTable(tmp_path / "store" / "clicks" / "sessions").to_pyarrow_table()
    sessions = [(row["user"], row["event_count"]) for row in table.to_pylist()]
    assert sorted(sessions) == [
        ("ann", 5),
        ("bob", 1),
        ("bob", 2),
    ]


@pytest.mark.slow
def test_a_published_session_that_has_closed_is_retracted_when_the_one_it_grew_into_is_due(
    spark: SparkSession, tmp_path: Path
) -> None:
    grows = [("ann", 2 ** (1 + it), 9 * it, 100) for it in range(1, 6)]
    clicks = [("ann", 1, 0, 0), ("bob", 1, 12, 12), *grows, ("bob", 1, 99, 200)]
    site = site_of(spark, tmp_path, clicks, spec=SPEC.replace("60 s", "20 s"))
    for end in (100, 200, 300):
        list(run_batch(site, Request(batch=Interval((end - 100) * SECOND, end * SECOND))))
    #  The watermark is 45 after the second batch: [0, 10) closed at 30, what it has become ends at 55.
    assert panes(tmp_path / "store") == {
        100: [("ann", 0, 10, 1, "insert", "ON_TIME", 0)],
        200: [("bob", 12, 22, 1, "insert", "ON_TIME", 0)],
        300: [
            ("ann", 0, 10, 1, "retract", "ON_TIME", 0),
            ("ann", 0, 55, 125, "insert", "ON_TIME", 0),
        ],
    }
    windows = DeltaTable(tmp_path / "store" / "clicks" / "windows").to_pyarrow_table().to_pylist()
    assert sorted((row["user"], row["total"]) for row in windows) == [("ann", 125), ("bob", 1)]


@pytest.mark.slow
def test_what_a_closed_session_took_in_while_lateness_was_ignored_leaves_it_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    clicks = [("ann", 1, 10, 10), ("bob", 2, 90, 90), ("ann", 4, 15, 110), ("bob", 8, 190, 191)]
    spec = SPEC.replace("allowed_lateness: 60 s", "allowed_lateness: 0 s")
    site = site_of(spark, tmp_path, clicks, spec=spec)
    first, second = (Interval(start * SECOND, (start + 100) * SECOND) for start in (0, 100))
    for batch in (first, second):
        list(run_batch(site, Request(batch=batch)))
    strict = standing_windows(tmp_path / "store")
    assert ("ann", 10, 20, 1) in strict
    list(run_batch(site, Request(batch=second, ignore_lateness=True)))
    assert ("ann", 10, 25, 5) in standing_windows(tmp_path / "store")
    list(run_batch(site, Request(batch=second)))
    assert standing_windows(tmp_path / "store") == strict


@pytest.mark.slow
@pytest.mark.parametrize("trigger", ["rows: 9", "every: 500 s"])
def test_what_a_closed_window_takes_in_is_published_whatever_its_trigger(
    spark: SparkSession, tmp_path: Path, trigger: str
) -> None:
    # The second is late for [10, 20) and kept in the minute, the third is taken in where lateness is ignored.
    clicks = [("ann", 1, 95, 0), ("ann", 8, 15, 100), ("ann", 2, 3, 200), ("ann", 4, 96, 300)]
    late = f"panes: {{late: {{{trigger}}}}}"
    minute = f"minute: {{tumbling: 60 s, allowed_lateness: 1 day, {late}}}"
    short = f"{{tumbling: 10 s, {late}}}, {minute}"
    spec = SPEC.replace("{session: 10 s, allowed_lateness: 60 s}", short)
    site = site_of(spark, tmp_path, clicks, spec=spec)
    for start, is_ignored in ((0, False), (100, False), (200, True), (300, False)):
        batch = Interval(start * SECOND, (start + 100) * SECOND)
        list(run_batch(site, Request(batch=batch, ignore_lateness=is_ignored)))
    assert panes(tmp_path / "store") == {300: [("ann", 0, 10, 2, "insert", "LATE", 0)]}


@pytest.mark.slow
def test_a_restatement_leaves_the_news_of_other_sessions_waiting(spark: SparkSession, tmp_path: Path) -> None:
    #  ann's [50, 62) has one row of news, and waits for five; bob's row lets the first batch reach as far
    clicks = [
        ("ann", 1, 10, 0),
        ("bob", 2, 60, 0),
        ("ann", 4, 50, 100),
        ("bob", 8, 190, 100),
        ("ann", 16, 52, 200),
    ]
    spec = SPEC.replace("allowed_lateness: 60 s", "allowed_lateness: 1000 s, panes: {late: {rows: 5}}")
    site = site_of(spark, tmp_path, clicks, spec=spec)
    for start in (0, 100, 200):
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
    before = panes(tmp_path / "store")
    assert 300 not in before
    write_clicks(tmp_path, [("ann", 32, 10, 0), *clicks[1:]])
    list(run_batch(site, Request(batch=Interval(0, 100 * SECOND))))
    corrected = [
        ("ann", 10, 20, 1, "insert", "ON_TIME", 0),
        ("ann", 10, 20, 1, "retract", "LATE", 1),
        ("ann", 10, 20, 32, "insert", "LATE", 1),
    ]
    assert panes(tmp_path / "store") == {**before, 100: corrected}
    # It is published where it closes, also by a restatement.
    list(run_batch(site, Request(batch=Interval(200 * SECOND, 300 * SECOND), final=True)))
    assert ("ann", 50, 62, 20, "insert", "LATE", 0) in panes(tmp_path / "store")[300]


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["session: 10 s", "session: 10 s, max: 60 s"])
def test_a_restatement_leaves_what_waits_beside_a_published_session(
    spark: SparkSession, tmp_path: Path, shape: str
) -> None:
    #  ann's [50, 68) was published with two events; its third leaves the bounds as they are, and waits
    clicks = [
        ("ann", 1, 10, 0),
        ("bob", 2, 60, 0),
        ("ann", 4, 50, 100),
        ("ann", 8, 58, 100),
        ("bob", 16, 190, 100),
        ("ann", 32, 54, 200),
    ]
    spec = SPEC.replace("session: 10 s, allowed_lateness: 60 s", shape + ", allowed_lateness: 1000 s, LATE")
    site = site_of(spark, tmp_path, clicks, spec=spec.replace("LATE", "panes: {late: {rows: 5}}"))
    for start in (0, 100, 200):
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
    before = panes(tmp_path / "store")
    write_clicks(tmp_path, [("ann", 64, 10, 0), *clicks[1:]])
    list(run_batch(site, Request(batch=Interval(0, 100 * SECOND))))
    corrected = [
        ("ann", 10, 20, 1, "insert", "ON_TIME", 0),
        ("ann", 10, 20, 1, "retract", "LATE", 1),
        ("ann", 10, 20, 64, "insert", "LATE", 1),
    ]
    assert panes(tmp_path / "store") == {**before, 100: corrected}


@pytest.mark.slow
def test_what_is_cut_off_an_open_session_is_published_though_it_ended_long_ago(
    spark: SparkSession, tmp_path: Path
) -> None:
    #  at most two: 42 and 49 are open at 55; once another 49 is there, 42 is alone, and has closed at 50
    clicks = [
        ("ann", 1, 42, 0),
        ("ann", 2, 49, 0),
        ("bob", 8, 55, 0),
        ("ann", 4, 49, 100),
        ("bob", 16, 70, 100),
    ]
    window = 'custom: "tests.windows.bursts:PAIRS"'
    site = site_of(
        spark, tmp_path, clicks, spec=SPEC.replace("session: 10 s, allowed_lateness: 60 s", window)
    )
    for start in (0, 100):
        list(run_batch(site, Request(batch=Interval(start * SECOND, (start + 100) * SECOND))))
    assert panes(tmp_path / "store") == {
        200: [
            ("ann", 42, 50, 1, "insert", "LATE", 0),
            ("ann", 49, 57, 6, "insert", "ON_TIME", 0),
            ("bob", 55, 63, 8, "insert", "ON_TIME", 0),
        ],
    }


def test_data_that_was_put_back_leaves_no_session_of_what_was_tried_between(
    spark: SparkSession, tmp_path: Path
) -> None:
    clicks = [("ann", 1, 0, 0), ("ann", 2, 10, 0), ("bob", 8, 50, 0)]
    site, request = site_of(spark, tmp_path, clicks), Request(batch=Interval(0, 100 * SECOND))
    list(run_batch(site, request))
    write_clicks(tmp_path, [clicks[0], ("ann", 200, 10, 0), clicks[2]])
    run_stage(site, request, stage="accumulate", source="main")
    run_stage(site, request, stage="combine")
    write_clicks(tmp_path, clicks)
    list(run_batch(site, request))
    assert panes(tmp_path / "store") == {100: [("ann", 0, 20, 3, "insert", "ON_TIME", 0)]}
    assert standing_windows(tmp_path / "store") == [("ann", 0, 20, 3)]


def standing_windows(store: Path) -> list[tuple[str, int, int, int]]:
    rows = DeltaTable(store / "clicks" / "windows").to_pyarrow_table().to_pylist()
    return sorted(
        (row["user"], int(row["window_start"].timestamp()), int(row["window_end"].timestamp()), row["total"])
        for row in rows
    )
