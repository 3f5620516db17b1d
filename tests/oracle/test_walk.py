"""The oracle's time: watermarks, lateness, panes and restatements, each at the tick before, at and after."""

from __future__ import annotations

import pytest

from tests.oracle import Aggregate, Batch, Event, Pipeline, Source, Walk, Window
from tests.oracle.tables import tables_of

TENS = Window(name="tens", size=10, step=10)
PATIENT = Window(name="patient", size=10, step=10, lateness=5)
ROWS = Aggregate(name="rows", op="count")


def walk_of(*windows: Window, sources: tuple[Source, ...] = (Source(),)) -> Walk:
    return Walk(pipeline=Pipeline(sources=sources, aggregates=(ROWS,), windows=windows))


def event(number: int, at: int | None, arrives: int | None = None, **more: str | None) -> Event:
    return Event(id=number, event_us=at, arrival_us=arrives, key=("a",), **more)


def batch(start: int, end: int, **flags: int | bool) -> Batch:
    return Batch(start=start, end=end, **flags)


def told(walk: Walk) -> list[tuple[str, str, int, int, int]]:
    """Of each pane: kind, timing, start of the window, events, index."""
    return [(p.kind, p.timing, p.place[2][0], p.event_count, p.pane_index) for p in walk.panes]


@pytest.mark.parametrize(("newest", "timings"), [(9, []), (10, ["ON_TIME"]), (11, ["ON_TIME"])])
def test_a_window_is_published_when_the_watermark_reaches_its_end(newest: int, timings: list[str]) -> None:
    walk = walk_of(TENS)
    walk.run(batch(0, 100), [event(1, 5), event(2, newest)])
    assert [pane.timing for pane in walk.panes] == timings


@pytest.mark.parametrize(("newest", "late"), [(14, 0), (15, 1), (16, 1)])
def test_an_event_is_late_once_all_its_windows_closed_before_the_batch(newest: int, late: int) -> None:
    walk = walk_of(PATIENT)
    rows = [event(1, newest, 50), event(2, 3, 150)]
    walk.run(batch(0, 100), rows)
    walk.run(batch(100, 200), rows)
    assert len(walk.outcomes[100, 200].fates.late) == late
    assert len(tables_of(walk, ("key",))["late_events"]) == late


def test_nothing_in_a_batch_makes_a_row_of_the_same_batch_late() -> None:
    walk = walk_of(TENS)
    walk.run(batch(0, 100), [event(1, 95), event(2, 3)])
    assert told(walk) == [("insert", "ON_TIME", 0, 1, 0)]


def test_news_for_an_open_window_that_was_due_is_a_late_pane() -> None:
    walk = walk_of(PATIENT)
    rows = [event(1, 3, 10), event(2, 12, 20), event(3, 4, 110), event(4, 15, 120), event(5, 5, 210)]
    for start in (0, 100, 200):
        walk.run(batch(start, start + 100), rows)
    assert told(walk) == [("insert", "ON_TIME", 0, 1, 0), ("insert", "LATE", 0, 2, 1)]
    assert [pane.is_final for pane in walk.panes] == [False, True]


def test_first_data_of_a_window_that_was_due_has_no_pane_on_time() -> None:
    walk = walk_of(PATIENT)
    rows = [event(1, 12, 10), event(2, 4, 110)]
    walk.run(batch(0, 100), rows)
    walk.run(batch(100, 200), rows)
    assert told(walk) == [("insert", "LATE", 0, 1, 0)]


@pytest.mark.parametrize(("idle_after", "watermark"), [(None, 5), (151, 5), (150, 80), (149, 80)])
def test_an_idle_substream_does_not_hold_the_watermark_back(idle_after: int | None, watermark: int) -> None:
    walk = walk_of(TENS, sources=(Source(idle_after=idle_after),))
    rows = [event(1, 5, 50, substream="x"), event(2, 80, 180, substream=None)]
    walk.run(batch(0, 100), rows)
    walk.run(batch(100, 200), rows)
    assert walk.watermark == watermark


@pytest.mark.parametrize(("idle_after", "watermark"), [(None, None), (101, None), (100, 50)])
def test_a_source_never_seen_holds_the_watermark_back_until_it_is_idle(
    idle_after: int | None, watermark: int | None
) -> None:
    walk = walk_of(TENS, sources=(Source(name="a"), Source(name="b", idle_after=idle_after)))
    walk.run(batch(0, 100), [event(1, 50, source="a")])
    assert walk.watermark == watermark


def test_when_all_are_idle_the_largest_watermark_counts() -> None:
    walk = walk_of(TENS, sources=(Source(idle_after=10),))
    walk.run(batch(0, 100), [event(1, 5, substream="x"), event(2, 40, substream="y")])
    assert walk.watermark == 40


def test_a_watermark_never_goes_back() -> None:
    walk = walk_of(TENS)
    rows = [event(1, 50, 50), event(2, 20, 150, substream="new")]
    walk.run(batch(0, 100, watermark=70), rows)
    walk.run(batch(100, 200), rows)
    assert [outcome.watermark_after for outcome in walk.ledger] == [70, 70]


def test_rows_without_a_time_are_taken_once_and_by_the_first_batch() -> None:
    walk = walk_of(TENS)
    rows = [event(1, None), event(2, None, 150), event(3, 160)]
    for start in (0, 100):
        walk.run(batch(start, start + 100), rows)
    assert [[row.id for row in outcome.fates.quarantined] for outcome in walk.ledger] == [[1], [2]]


def test_the_same_batch_again_changes_nothing() -> None:
    walk = walk_of(TENS, Window(name="long", size=30, step=10))
    rows = [event(1, 11, 50), event(2, 4, 150)]
    for start in (0, 100):
        walk.run(batch(start, start + 100), rows)
    before = tables_of(walk, ("key",))
    for start in (0, 100):
        walk.run(batch(start, start + 100), reversed(rows))
    assert tables_of(walk, ("key",)) == before


def test_other_data_retracts_what_was_published_and_publishes_anew() -> None:
    walk = walk_of(TENS)
    walk.run(batch(0, 100), [event(1, 3), event(2, 50)])
    walk.run(batch(0, 100), [event(1, 3), event(3, 4), event(2, 50)])
    assert told(walk)[1:] == [("retract", "LATE", 0, 1, 1), ("insert", "LATE", 0, 2, 1)]
    assert [pane.restated for pane in walk.panes] == [False, True, True]
    assert [pane.revision for pane in walk.panes] == [0, 1, 1]


def test_a_window_that_loses_all_its_events_is_only_retracted() -> None:
    walk = walk_of(TENS)
    walk.run(batch(0, 100), [event(1, 3), event(2, 50)])
    walk.run(batch(0, 100), [event(2, 50)])
    assert told(walk)[1:] == [("retract", "LATE", 0, 1, 1)]
    assert [row["window_start"] for row in tables_of(walk, ("key",))["windows"]] == []


def test_an_older_batch_that_never_ran_is_judged_by_what_stood_before_it() -> None:
    walk = walk_of(TENS)
    rows = [event(1, 3, 50), event(2, 13, 150), event(3, 45, 250)]
    walk.run(batch(0, 100), rows)
    walk.run(batch(200, 300), rows)
    walk.run(batch(100, 200), rows)
    assert told(walk) == [("insert", "ON_TIME", 0, 1, 0), ("insert", "LATE", 10, 1, 0)]
    assert walk.panes[-1].restated and walk.panes[-1].revision == 0
    assert walk.outcomes[100, 200].watermark_after == 13


def test_a_restatement_takes_in_what_a_closed_window_had_dropped_and_another_kept() -> None:
    walk = walk_of(Window(name="long", size=20, step=10))
    rows = [event(1, 11, 50), event(2, 4, 150), event(3, 60, 250)]
    for start in (0, 100, 200):
        walk.run(batch(start, start + 100), rows)
    assert [row["missed"] for row in tables_of(walk, ("key",))["late_events"]] == [1]
    held = {pane.place[2][0]: pane.event_count for pane in walk.panes}
    assert held == {0: 2, 10: 1}
    walk.run(batch(100, 200), [*rows, event(4, 5, 160)])
    assert {pane.place[2][0]: pane.event_count for pane in walk.panes} == {-10: 2, 0: 3, 10: 1}


def test_the_same_rows_change_nothing_though_an_older_batch_has_told_of_a_new_substream() -> None:
    walk = walk_of(Window(name="long", size=30, step=10))
    rows = [event(1, 40, 150), event(2, 52, 160), event(3, 45, 250), event(4, 1, 50, substream="x")]
    for start in (100, 200, 0):
        walk.run(batch(start, start + 100), rows)
    assert [row["missed"] for row in tables_of(walk, ("key",))["late_events"]] == [1]
    stood, outcomes = told(walk), dict(walk.outcomes)
    # [20, 50) is closed without the third event, which it would take in if it were corrected.
    for start in (100, 200):
        walk.run(batch(start, start + 100), rows)
    assert [it.batch.start for it in walk.ledger] == [100, 200, 0]
    assert (told(walk), walk.outcomes) == (stood, outcomes)
    # The next knows of it.
    walk.run(batch(300, 400), rows)
    assert len(walk.ledger[-1].standings) == 2


def test_without_lateness_judged_nothing_is_late() -> None:
    walk = walk_of(TENS)
    rows = [event(1, 50, 50), event(2, 3, 150)]
    walk.run(batch(0, 100), rows)
    walk.run(batch(100, 200), rows)
    walk.run(batch(100, 200, ignore_lateness=True), rows)
    assert [len(outcome.fates.late) for outcome in walk.ledger] == [0, 1, 0]
    assert told(walk) == [("insert", "LATE", 0, 1, 0)]


def test_every_row_has_one_fate() -> None:
    walk = walk_of(TENS)
    rows = [event(1, 50, 50), event(2, 3, 150), event(3, None, 160), event(4, 70, 170)]
    for start in (0, 100):
        walk.run(batch(start, start + 100), rows)
    for row in tables_of(walk, ("key",))["runs"]:
        assert row["ingested"] == row["accepted"] + row["late"] + row["quarantined"] + row["duplicates"]
