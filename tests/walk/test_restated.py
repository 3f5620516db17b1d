"""What a restatement publishes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.stages import Request, run_batch
from tests.walk.published import in_microseconds
from tests.walk.test_sessions import SECOND, SPEC, Click, site_of, standing_windows, write_clicks

BATCH = Interval(0, 100 * SECOND)
MODES = """
windows:
  whole: {tumbling: 60 s, panes: {early: each batch}}
  undone: {tumbling: 60 s, panes: {early: each batch, mode: retracting}}
  news: {tumbling: 60 s, panes: {early: each batch, mode: discarding}}
"""


def test_what_only_becomes_due_by_a_restatement_is_published_as_its_mode_has_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    clicks: list[Click] = [("ann", 1, 10, 0), ("cem", 4, 20, 0)]
    site, request = (
        site_of(spark, tmp_path, clicks, spec=SPEC.partition("windows:")[0] + MODES),
        Request(batch=BATCH),
    )
    list(run_batch(site, request))
    write_clicks(tmp_path, [*clicks, ("cem", 8, 20, 50), ("bob", 2, 70, 50)])
    list(run_batch(site, request))
    told: dict[str, list[tuple[object, ...]]] = {"whole": [], "undone": [], "news": []}
    for row in in_microseconds(tmp_path / "store" / "clicks" / "panes"):
        if row["revision"] == 1:
            assert (row["restated"], row["pane_index"]) == (True, 0 if row["user"] == "bob" else 1)
            told[row["window"]].append((row["user"], row["kind"], row["timing"], row["total"]))
    changed = [("cem", "insert", "ON_TIME", 12), ("cem", "retract", "ON_TIME", 4)]
    undone, due = ("ann", "retract", "ON_TIME", 1), ("ann", "insert", "ON_TIME", 1)
    fresh = ("bob", "insert", "EARLY", 2)
    assert sorted(told["whole"]) == [due, fresh, *changed]
    assert sorted(told["undone"]) == [due, undone, fresh, *changed]
    # The whole once more instead of no news, so that it adds up.
    assert sorted(told["news"]) == sorted(told["undone"])


def test_what_is_emptied_as_it_becomes_due_is_taken_back_on_time(spark: SparkSession, tmp_path: Path) -> None:
    told = (
        "time: {max_disorder: 20 s}\npanes: {early: each batch}\n"
        "windows: {visits: {session: 10 s}, tens: {tumbling: 10 s}}\n"
    )
    clicks: list[Click] = [("ann", 1, 50, 0)]
    site = site_of(spark, tmp_path, clicks, spec=SPEC.partition("windows:")[0] + told)
    for rows in (clicks, [("bob", 2, 100, 0)]):
        write_clicks(tmp_path, rows)
        list(run_batch(site, Request(batch=BATCH)))
    panes = in_microseconds(tmp_path / "store" / "clicks" / "panes")
    said = sorted((it["window"], it["kind"], it["timing"]) for it in panes if it["user"] == "ann")
    early, gone = ("insert", "EARLY"), ("retract", "ON_TIME")
    assert said == [(window, *it) for window in ("tens", "visits") for it in (early, gone)]


def test_an_average_of_whole_numbers_is_corrected_however_little_it_changes(
    spark: SparkSession, tmp_path: Path
) -> None:
    spec = SPEC.replace("{total: {sum: number}}", "{mean: {avg: number}}").partition("windows:")[0]
    many = 4_000_000_000_000
    clicks: list[Click] = [("ann", many, 10, 0), ("bob", 1, 20, 0)]
    site = site_of(spark, tmp_path, clicks, spec=f"{spec}windows: {{whole: {{tumbling: 60 s}}}}\n")
    request = Request(batch=BATCH, final=True)
    list(run_batch(site, request))
    write_clicks(tmp_path, [("ann", many + 7, 10, 0), *clicks[1:]])
    list(run_batch(site, request))
    windows = in_microseconds(tmp_path / "store" / "clicks" / "windows")
    assert {row["user"]: row["mean"] for row in windows} == {"ann": many + 7.0, "bob": 1.0}
    panes = [row for row in in_microseconds(tmp_path / "store" / "clicks" / "panes") if row["revision"] == 1]
    told = sorted((row["kind"], row["mean"]) for row in panes)
    assert told == [("insert", many + 7.0), ("retract", float(many))]


#                                 1e9            1e9 + 1            moves by a thousandth: little beside 1e9,
#   window of both, session     |-----------------------------|     and much beside one
MOMENTS = {"variance": 1.001**2 / 2, "stddev_pop": 1.001 / 2, "covariance": 1001 * 1.001 / 2}
FAR = "1e9D + number / 1000.0D"


@pytest.mark.parametrize(
    "op", ["variance", *[pytest.param(op, marks=pytest.mark.slow) for op in ("stddev_pop", "covariance")]]
)
def test_what_is_far_from_zero_is_corrected_by_little_where_its_spread_is_little(
    spark: SparkSession, tmp_path: Path, op: str
) -> None:
    by = ", by: number" if op == "covariance" else ""
    before, after = corrected(spark, tmp_path, asked=f"{op}: {FAR}{by}", numbers=(0, 1000, 1001))
    assert after == pytest.approx(dict.fromkeys(("both", "visit"), MOMENTS[op]), rel=1e-6)
    assert before != pytest.approx(after, rel=1e-6)


def test_sums_that_cancel_in_a_window_are_corrected_by_little_beside_each(
    spark: SparkSession, tmp_path: Path
) -> None:
    many = 10**13
    before, after = corrected(spark, tmp_path, asked="sum: number * 1.0D", numbers=(many, -many, 1 - many))
    assert before == {"both": 0.0, "visit": 0.0}
    assert after == {"both": 1.0, "visit": 1.0}


def corrected(
    spark: SparkSession, folder: Path, *, asked: str, numbers: tuple[int, int, int]
) -> tuple[dict[str, float], dict[str, float]]:
    """What a window and a session of two numbers say, and when another took the place of the second."""
    spec = SPEC.replace("{total: {sum: number}}", f"{{it: {{{asked}}}}}").partition("windows:")[0]
    windows = "windows: {both: {sliding: 120 s, step: 60 s}, visit: {session: 70 s, max: 200 s}}\n"
    first, second, other = numbers
    site = site_of(spark, folder, [("ann", first, 10, 0), ("ann", second, 70, 0)], spec=spec + windows)
    request, found = Request(batch=BATCH, final=True), []
    for number in (second, other):
        write_clicks(folder, [("ann", first, 10, 0), ("ann", number, 70, 0)])
        # Twice: the same data are none to restate.
        for _ in range(2):
            list(run_batch(site, request))
        rows = in_microseconds(folder / "store" / "clicks" / "windows")
        starts = {"both": 0, "visit": 10 * SECOND}
        found.append({it["window"]: it["it"] for it in rows if it["window_start"] == starts[it["window"]]})
    runs = in_microseconds(folder / "store" / "clicks" / "runs")
    assert [row["revision"] for row in runs] == [0, 1]
    return found[0], found[1]


@pytest.mark.slow
def test_a_restatement_says_that_it_restates_where_it_splits_a_session_and_where_it_joins_two(
    spark: SparkSession, tmp_path: Path
) -> None:
    #   0 |--- 8 ---- 16 ---| 26, of which 8 goes, and comes back
    clicks = [("ann", 1, 0, 0), ("ann", 2, 8, 0), ("ann", 4, 16, 0), ("bob", 8, 50, 0)]
    site, request = site_of(spark, tmp_path, clicks), Request(batch=BATCH)
    list(run_batch(site, request))
    for rows in (clicks[:1] + clicks[2:], clicks):
        write_clicks(tmp_path, rows)
        list(run_batch(site, request))
    told = sorted(
        (row["revision"], row["restated"], row["kind"], row["window_start"] // SECOND, row["total"])
        for row in in_microseconds(tmp_path / "store" / "clicks" / "panes")
    )
    assert told == [
        (0, False, "insert", 0, 7),
        (1, True, "insert", 0, 1),
        (1, True, "insert", 16, 4),
        (1, True, "retract", 0, 7),
        (2, True, "insert", 0, 7),
        (2, True, "retract", 0, 1),
        (2, True, "retract", 16, 4),
    ]


@pytest.mark.slow
def test_a_restatement_of_other_keys_takes_no_session_back_whose_events_another_holds(
    spark: SparkSession, tmp_path: Path
) -> None:
    #   0 |--- 9 ---| 19 is published; corrected, its event at 9 is in 9 |--- 18 ---| 28, which is not due
    clicks = [("ann", 1, 0, 0), ("ann", 2, 9, 0), ("bob", 4, 20, 0)]
    site, request = site_of(spark, tmp_path, clicks), Request(batch=BATCH)
    list(run_batch(site, request))
    corrected = [*clicks[1:], ("ann", 1, 18, 0)]
    write_clicks(tmp_path, corrected)
    list(run_batch(site, request))
    older, newer = Interval(-100 * SECOND, 0), Interval(100 * SECOND, 200 * SECOND)
    write_clicks(tmp_path, [*corrected, ("bob", 8, -5, -1), ("bob", 16, 100, 100)])
    list(run_batch(site, Request(batch=older)))
    assert standing_windows(tmp_path / "store") == [("ann", 0, 19, 3), ("bob", -5, 5, 8)]
    list(run_batch(site, Request(batch=newer)))
    stands = [("ann", 9, 28, 3), ("bob", -5, 5, 8), ("bob", 20, 30, 4)]
    assert standing_windows(tmp_path / "store") == stands
