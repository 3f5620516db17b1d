"""The published answers of the user scores that are told pane by pane, by the plain loops."""

from __future__ import annotations

from functools import partial

from pipelines.intervals import EARLIEST_US
from tests.oracle.publishing import LATEST, Definition, Event, Publisher
from tests.oracle.shapes import sessions, tumbled

SECOND = 1_000_000


def at(clock: str) -> int:
    minutes, seconds = clock.split(":")
    return (int(minutes) * 60 + int(seconds)) * SECOND


#  score, when it happened, when it came
SCORES = [
    (5, "0:26", "5:19"),
    (7, "2:26", "5:39"),
    (3, "3:39", "6:13"),
    (4, "4:19", "6:46"),
    (3, "6:39", "7:19"),
    (8, "3:06", "7:33"),
    (8, "7:26", "8:13"),
    (9, "1:26", "8:19"),
    (1, "7:46", "9:00"),
]


def test_session_panes_with_retractions() -> None:
    of = partial(sessions, gap=60 * SECOND)
    rules = {"gap": 60 * SECOND, "touching": "merge", "early": "each batch", "mode": "retracting"}
    publisher = Publisher(Definition(name="it", sessions_of=of, **rules), "x")
    found = []
    for number, (_, happened, came) in enumerate(SCORES):
        event = Event(number, "x", at(happened), at(came))
        rows = publisher.run([event], end=at(came) + 1, before=None, after=None)
        found.append([(it.kind == "insert", it.start, it.end, it.event_count) for it in rows])
    counts = [[count if is_insert else -count for is_insert, _, _, count in rows] for rows in found]
    assert counts == [[1], [1], [1], [-1, 2], [1], [-1, -2, 4], [-1, 2], [-1, -4, 6], [-2, 3]]
    assert found[-2][-1] == (True, at("0:26"), at("5:19"), 6)


def test_processing_time_by_triggers_depends_on_the_order_of_arrival() -> None:
    rules = {"early": "each batch", "mode": "discarding"}
    for batches, told in (
        ([[5, 7], [3, 4, 8, 3], [9, 8, 1]], [12, 18, 18]),
        ([[7], [4, 3, 8, 3, 9, 8, 1], [5]], [7, 36, 5]),
    ):
        ever = Definition(name="it", windows_of=lambda _: [(EARLIEST_US, LATEST)], **rules)
        publisher, found, number = Publisher(ever, "x"), [], 0
        for scores in batches:
            rows = [Event(number := number + 1, "x", 0, 0) for _ in scores]
            (row,) = publisher.run(rows, end=number, before=None, after=None)
            found.append((row.event_count, sum(scores)))
        assert [total for _, total in found] == told
        assert [count for count, _ in found] == [len(scores) for scores in batches]


def test_after_the_final_watermark_windows_by_arrival_take_nothing_in() -> None:
    by_arrival = Definition(name="it", windows_of=lambda _: [(0, 100)], by_arrival=True)
    publisher = Publisher(by_arrival, "x")
    (row,) = publisher.run([Event(1, "x", 5, 5)], end=10, before=None, after=LATEST)
    assert (row.timing, row.is_final) == ("ON_TIME", True)
    assert publisher.run([Event(2, "x", 15, 15)], end=20, before=LATEST, after=LATEST) == []
    (lost,) = publisher.losses
    assert (lost.missed, lost.kept) == (1, 0)


def test_windows_that_are_not_aligned_hold_their_events() -> None:
    for shift, starts in ((0, [0, 0, 120]), (60, [-60, 60, 60])):
        held = [tumbled(instant, 120, shift) for instant in (10, 70, 130)]
        assert held == [[(start, start + 120)] for start in starts]
