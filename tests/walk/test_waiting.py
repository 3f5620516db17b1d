"""What waits for a trigger, and what a restatement does to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.stages import Request, run_batch
from tests.walk.published import in_microseconds
from tests.walk.test_sessions import SECOND, SPEC, Click, site_of, standing_windows, write_clicks

BATCH, NEXT = Interval(0, 100 * SECOND), Interval(100 * SECOND, 200 * SECOND)
THIRD = Interval(200 * SECOND, 300 * SECOND)
HEAD = SPEC.partition("windows:")[0]
NAMES = ("whole", "slid", "slower", "so_far", "visit", "threes")
WAITING = """
panes: {early: {rows: 3}}
windows:
  whole: {tumbling: 1000 s}
  slid: {sliding: 1000 s, step: 250 s}
  slower: {sliding: 1000 s, step: 200 s}
  so_far: {cumulate: 1000 s, step: 500 s}
  visit: {session: 400 s}
  threes: {custom: "tests.windows.bursts:AT_MOST_THREE"}
"""
OF_ALL: list[Click] = [(user, 1, at, 0) for user in ("ann", "cem", "eve") for at in (1, 2, 3)]
Said = tuple[str, str, str, int]
Told = dict[tuple[str, str], set[tuple[str, int, int]]]


def told_by(home: Path, revision: int) -> set[Said]:
    """Window, user, kind and total of the panes of a revision; all of them are early."""
    panes = in_microseconds(home / "store" / "clicks" / "panes")
    mine = [it for it in panes if it["revision"] == revision]
    assert {(it["timing"], it["restated"]) for it in mine} <= {("EARLY", True)}
    return {(it["window"], it["user"], it["kind"], it["total"]) for it in mine}


def told_again(home: Path, *, timing: str) -> Told:
    """By window and user: kind, total and index of what the first revision published so."""
    told: Told = {}
    for row in in_microseconds(home / "store" / "clicks" / "panes"):
        if row["revision"] == 1 and row["timing"] == timing:
            said = (row["kind"], row["total"], row["pane_index"])
            told.setdefault((row["window"], row["user"]), set()).add(said)
    return told


def correct_cem(
    spark: SparkSession, home: Path, windows: list[str], *, more: tuple[Click, ...] = (), reaches: int
) -> None:
    """All three are told of; a fourth of ann's waits from a batch of its own, eve's and cem's from the one
    that runs again, in which cem's is corrected and one of bob's reaches far.
    """
    stays: list[Click] = [*OF_ALL, *more, ("ann", 16, 2, 100), ("eve", 32, 2, 200)]
    spec = "\n".join([f"{HEAD}windows:", *windows, ""])
    site = site_of(spark, home, [*stays, ("cem", 64, 2, 200)], spec=spec)
    for batch in (BATCH, NEXT, THIRD):
        list(run_batch(site, Request(batch=batch)))
    write_clicks(home, [*stays, ("cem", 65, 2, 200), ("bob", 8, reaches, 201)])
    list(run_batch(site, Request(batch=THIRD)))


def only_cem_is_corrected(told: Told, *, window: str, accumulates: bool) -> None:
    again = set() if accumulates else {("retract", 3, 1)}
    assert told[window, "ann"] == again | {("insert", 19, 1)}
    assert told[window, "eve"] == again | {("insert", 35, 1)}
    assert told[window, "cem"] == {("retract", 3, 1), ("insert", 68, 1)}


def test_what_a_restatement_does_not_change_goes_on_waiting(spark: SparkSession, tmp_path: Path) -> None:
    #   ann and bob wait for a third click; cem has been told of, and a fourth of his waits
    of_cem: list[Click] = [("cem", 1, at, 0) for at in (1, 2, 3)]
    clicks: list[Click] = [("ann", 1, 1, 0), ("ann", 2, 2, 0), ("bob", 4, 1, 0), ("bob", 8, 2, 0), *of_cem]
    waits: Click = ("cem", 16, 4, 100)
    site = site_of(spark, tmp_path, [*clicks, waits], spec=HEAD + WAITING)
    for batch in (BATCH, NEXT):
        list(run_batch(site, Request(batch=batch)))

    def corrected(place: int, click: Click) -> set[Said]:
        clicks[place] = click
        write_clicks(tmp_path, [*clicks, waits])
        list(run_batch(site, Request(batch=BATCH)))
        revisions = [it["revision"] for it in in_microseconds(tmp_path / "store" / "clicks" / "runs")]
        return told_by(tmp_path, max(revisions))

    assert corrected(3, ("bob", 5, 2, 0)) == {(name, "bob", "insert", 9) for name in NAMES}
    # What waits is told with it. The function cuts off the fourth.
    others = {
        (name, "cem", kind, total) for name in NAMES[:-1] for kind, total in (("retract", 3), ("insert", 25))
    }
    threes = {("threes", "cem", kind, total) for kind, total in (("retract", 3), ("insert", 9))}
    assert corrected(4, ("cem", 7, 1, 0)) == others | threes


@pytest.mark.slow
def test_sessions_that_a_restatement_splits_joins_or_empties_wait_no_longer(
    spark: SparkSession, tmp_path: Path
) -> None:
    #   0 |--- 8 --- 16 ---| 26, of which 8 goes, and comes back; bob has nothing to do with it
    visits = HEAD + "windows: {visits: {session: 10 s, panes: {early: {rows: 9}}}}\n"
    clicks: list[Click] = [("ann", 1, 0, 0), ("ann", 2, 8, 0), ("ann", 4, 16, 0), ("bob", 8, 17, 0)]
    site = site_of(
        spark, tmp_path, clicks, spec=visits.replace("source:", "time: {max_disorder: 500 s}\nsource:")
    )
    found = []
    for revision, rows in enumerate((clicks, clicks[:1] + clicks[2:], clicks, clicks[3:])):
        write_clicks(tmp_path, rows)
        list(run_batch(site, Request(batch=BATCH)))
        found.append({(kind, total) for _, user, kind, total in told_by(tmp_path, revision) if user == "ann"})
        assert not any(user == "bob" for _, user, *_ in told_by(tmp_path, revision))
    taken_back = {("retract", 1), ("retract", 4)}
    joined = {*taken_back, ("insert", 7)}
    assert found == [set(), {("insert", 1), ("insert", 4)}, joined, {("retract", 7)}]
    assert standing_windows(tmp_path / "store") == []


def test_sessions_that_only_met_what_a_restatement_took_away_go_on_waiting(
    spark: SparkSession, tmp_path: Path
) -> None:
    sessions = HEAD.replace("source:", "time: {max_disorder: 500 s}\nsource:") + (
        "panes: {early: {rows: 3}}\nwindows: {bounded: {session: 10 s, max: 12 s}, "
        "split: {session: 10 s, touching: split}}\n"
    )
    #   what is at 0 goes: of `bounded` [0, 10), of `split` [0, 15) and [0, 10)
    clicks: list[Click] = [("ann", 1, 0, 0), ("ann", 2, 5, 0), ("eve", 4, 0, 0), ("eve", 8, 10, 0)]
    site = site_of(spark, tmp_path, clicks, spec=sessions)
    list(run_batch(site, Request(batch=BATCH)))
    write_clicks(tmp_path, [it for it in clicks if it[2]])
    list(run_batch(site, Request(batch=BATCH)))
    assert told_by(tmp_path, 0) == set()
    assert told_by(tmp_path, 1) == {("split", "ann", "insert", 2)}


def test_a_session_that_began_anew_beside_a_closed_one_goes_on_waiting_as_that_one_goes(
    spark: SparkSession, tmp_path: Path
) -> None:
    #   82 |---------| 92 is closed at 95, and 86 |---------| 96, which the next batch brings, waits
    told = "panes: {early: {rows: 2}}\nwindows: {visits: {session: 10 s}}\n"
    clicks: list[Click] = [("ann", 1, 82, 0), ("bob", 2, 95, 0), ("ann", 4, 86, 100)]
    site = site_of(spark, tmp_path, clicks, spec=f"{HEAD}{told}")
    for batch in (BATCH, NEXT):
        list(run_batch(site, Request(batch=batch)))
    write_clicks(tmp_path, clicks[1:])
    list(run_batch(site, Request(batch=BATCH)))
    panes = in_microseconds(tmp_path / "store" / "clicks" / "panes")
    said = [(it["user"], it["kind"], it["timing"], it["total"], it["revision"]) for it in panes]
    assert sorted(said) == [("ann", "insert", "ON_TIME", 1, 0), ("ann", "retract", "LATE", 1, 1)]


def test_what_waits_and_becomes_due_by_a_restatement_is_no_correction(
    spark: SparkSession, tmp_path: Path
) -> None:
    modes = ("accumulating", "retracting", "discarding")
    shapes = {"whole": "tumbling: 1000 s", "slid": "sliding: 1000 s, step: 250 s", "visit": "session: 400 s"}
    windows = [
        f"  {name}_{mode}: {{{shape}, panes: {{early: {{rows: 3}}, mode: {mode}}}}}"
        for name, shape in shapes.items()
        for mode in modes
    ]
    correct_cem(spark, tmp_path, windows, reaches=2000)
    told = told_again(tmp_path, timing="ON_TIME")
    for name in shapes:
        for mode in modes:
            only_cem_is_corrected(told, window=f"{name}_{mode}", accumulates=mode == "accumulating")


def test_what_waits_and_closes_by_a_restatement_is_no_correction(spark: SparkSession, tmp_path: Path) -> None:
    shapes = {"whole": "tumbling: 1000 s", "visit": "session: 400 s"}
    panes = "allowed_lateness: 3000 s, panes: {late: {rows: 100}, mode: "
    windows = [
        f"  {name}_{mode}: {{{shape}, {panes}{mode}}}}}"
        for name, shape in shapes.items()
        for mode in ("accumulating", "retracting")
    ]
    #   What is told of as it becomes due closes as the batch runs again.
    due: Click = ("bob", 1, 2000, 0)
    correct_cem(spark, tmp_path, windows, more=(due,), reaches=9000)
    told = told_again(tmp_path, timing="LATE")
    for name in shapes:
        only_cem_is_corrected(told, window=f"{name}_accumulating", accumulates=True)
        only_cem_is_corrected(told, window=f"{name}_retracting", accumulates=False)
