"""Watermarks as truth tables: each rule of time, a tick before, at and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pytest

from pipelines.ingest.watermark import (
    Progress,
    Seen,
    Standing,
    advance,
    arrival_watermark,
    known_before,
    pipeline_watermark,
    standing,
    watermark_after,
)
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.spec.model import Session, Sliding, Source, Window
from pipelines.windows import judging_us

SOURCE = Source(name="main", format="parquet", path="x", event_time="t")
BATCH = Interval(100, 200)


def progress(
    substream: str | None = None, *, at: int = 50, watermark: int = 50, idle: bool = False
) -> Progress:
    return Progress(
        substream=substream, newest_event_us=at, newest_arrival_us=at, watermark_us=watermark, is_idle=idle
    )


def seen(at: int, substream: str | None = None) -> Seen:
    return Seen(substream=substream, newest_event_us=at, newest_arrival_us=at)


@pytest.mark.parametrize(
    ("newest", "disorder", "watermark"),
    [(-7, 0, 50), (49, 0, 50), (50, 0, 50), (51, 0, 51), (60, 10, 50), (61, 10, 51), (1_000, 10, 990)],
)
def test_a_watermark_is_the_newest_event_less_the_disorder_and_never_goes_back(
    newest: int, disorder: int, watermark: int
) -> None:
    source = replace(SOURCE, max_disorder_us=disorder)
    after = advance([progress()], [seen(newest)], source=source, batch=BATCH)
    assert [one.watermark_us for one in after] == [watermark]


def test_a_substream_that_brings_nothing_keeps_its_watermark() -> None:
    after = advance([progress("a"), progress("b")], [seen(90, "b")], source=SOURCE, batch=BATCH)
    assert {one.substream: one.watermark_us for one in after} == {"a": 50, "b": 90}


def test_of_a_substream_that_several_have_known_the_newest_counts() -> None:
    before = [progress("a", at=50, watermark=45), progress("b"), progress("a", at=40, watermark=60)]
    after = advance(before, [], source=SOURCE, batch=BATCH)
    assert [(one.substream, one.newest_event_us, one.watermark_us) for one in after] == [
        ("a", 50, 60),
        ("b", 50, 50),
    ]


def test_a_substream_that_the_batch_of_its_newest_arrival_has_no_more_is_known_no_more() -> None:
    first, second = Interval(0, 60), Interval(60, 100)
    stood = {second: [progress("x", at=50), progress("y", at=90)], first: [progress("y", at=50)]}
    assert known_before([*stood.items()]) == [progress("y", at=90), progress("y", at=50)]
    later = {**stood, second: [progress("x", at=60)]}
    assert known_before([*later.items()])[0] == progress("x", at=60)
    assert known_before([(second, stood[second])]) == stood[second]


def test_null_is_a_substream_like_any_other() -> None:
    after = advance([], [seen(1), seen(2, "a")], source=SOURCE, batch=BATCH)
    assert {one.substream: one.watermark_us for one in after} == {None: 1, "a": 2}


@pytest.mark.parametrize(("arrival", "idle"), [(150, True), (151, False), (149, True)])
def test_a_substream_is_idle_when_idle_after_or_more_has_passed(arrival: int, idle: bool) -> None:
    source = replace(SOURCE, idle_after_us=50)
    assert [one.is_idle for one in advance([], [seen(arrival)], source=source, batch=BATCH)] == [idle]


def test_without_idle_after_nothing_is_ever_idle() -> None:
    after = advance([progress()], [], source=SOURCE, batch=Interval(10**15, 10**16))
    assert [one.is_idle for one in after] == [False]


def test_one_that_wakes_up_is_no_longer_idle() -> None:
    source = replace(SOURCE, idle_after_us=50)
    after = advance([progress("a", idle=True)], [seen(199, "a")], source=source, batch=BATCH)
    assert [(one.is_idle, one.watermark_us) for one in after] == [(False, 199)]


@pytest.mark.parametrize(
    ("first_start", "idle_after", "waits"),
    [(150, 50, False), (151, 50, True), (100, None, True), (0, 300, True)],
)
def test_a_declared_source_not_seen_yet_holds_back_until_it_would_be_idle(
    first_start: int, idle_after: int | None, waits: bool
) -> None:
    source = replace(SOURCE, idle_after_us=idle_after)
    assert standing(source, [], first_batch_start_us=first_start, batch=BATCH) == Standing(waits=waits)


def test_a_source_stands_where_its_slowest_active_substream_is() -> None:
    substreams = [
        progress("a", watermark=7, idle=True),
        progress("b", watermark=30),
        progress("c", watermark=20),
    ]
    found = standing(SOURCE, substreams, first_batch_start_us=0, batch=BATCH)
    assert found == Standing(active_us=20, furthest_us=30)


#   before      one source                another                          after
@pytest.mark.parametrize(
    ("before", "standings", "after"),
    [
        (None, [], None),
        (None, [Standing(active_us=5, furthest_us=9)], 5),
        (None, [Standing(active_us=5, furthest_us=9), Standing(active_us=3, furthest_us=3)], 3),
        (4, [Standing(active_us=5, furthest_us=9), Standing(active_us=3, furthest_us=3)], 4),
        (4, [Standing(active_us=5, furthest_us=5), Standing(waits=True)], 4),
        (None, [Standing(active_us=5, furthest_us=5), Standing(waits=True)], None),
        (None, [Standing(active_us=5, furthest_us=5), Standing()], 5),
        (None, [Standing(furthest_us=8), Standing(active_us=5, furthest_us=6)], 5),
        (None, [Standing(furthest_us=8), Standing(furthest_us=6)], 8),
        (9, [Standing(furthest_us=8), Standing(furthest_us=6)], 9),
        (-5, [Standing(active_us=-7, furthest_us=-7)], -5),
    ],
)
def test_the_pipeline_stands_where_the_slowest_stands_that_is_not_idle(
    before: int | None, standings: list[Standing], after: int | None
) -> None:
    assert pipeline_watermark(before, standings) == after


#   reached  floor  asked   →  after, where no batch follows
@pytest.mark.parametrize(
    ("reached", "floor", "asked", "after"),
    [
        (None, None, None, None),
        (50, None, None, 50),
        (49, 50, None, 50),
        (50, 50, None, 50),
        (51, 50, None, 51),
        (None, 50, None, 50),
        (50, None, 49, 50),
        (50, None, 51, 51),
        (None, None, 51, 51),
        (50, 52, 51, 52),
        (-50, -60, -55, -50),
        (50, 60, LATEST_US, LATEST_US),
        (50, LATEST_US, None, LATEST_US),
        (50, LATEST_US, 60, LATEST_US),
    ],
)
def test_a_watermark_that_is_asked_for_raises_it_and_nothing_takes_it_below_its_floor(
    reached: int | None, floor: int | None, asked: int | None, after: int | None
) -> None:
    for ceiling in (None, 0):
        found = watermark_after(reached, floor_us=floor, asked_us=asked, has_next=False, ceiling_us=ceiling)
        assert found == after


#   reached  asked   that after the next batch  →  after
@pytest.mark.parametrize(
    ("reached", "asked", "ceiling", "after"),
    [
        (49, None, 50, 49),
        (50, None, 50, 50),
        (51, None, 50, 50),
        (40, 51, 50, 50),
        (40, LATEST_US, 50, 50),
        (40, LATEST_US, LATEST_US, LATEST_US),
        (40, None, None, None),
        (40, LATEST_US, None, None),
        (None, None, 50, None),
    ],
)
def test_a_restated_batch_stays_under_the_watermark_of_the_one_that_follows(
    reached: int | None, asked: int | None, ceiling: int | None, after: int | None
) -> None:
    found = watermark_after(reached, floor_us=None, asked_us=asked, has_next=True, ceiling_us=ceiling)
    assert found == after


@pytest.mark.parametrize(
    ("newest_end", "event_time", "after"),
    [
        (None, None, None),
        (None, LATEST_US, LATEST_US),
        (200, None, 200),
        (200, 900, 200),
        (200, LATEST_US - 1, 200),
        (200, LATEST_US, LATEST_US),
    ],
)
def test_by_arrival_time_the_watermark_is_the_end_of_the_newest_batch_until_all_is_closed(
    newest_end: int | None, event_time: int | None, after: int | None
) -> None:
    assert arrival_watermark(newest_end, event_us=event_time) == after


@pytest.mark.parametrize("shape", [Sliding(size_us=10, step_us=10), Session(gap_us=10)])
@pytest.mark.parametrize(
    ("time", "watermark", "judged_by"),
    [
        ("event", None, None),
        ("event", 50, 50),
        ("event", LATEST_US, LATEST_US),
        ("arrival", None, None),
        ("arrival", 50, None),
        ("arrival", LATEST_US - 1, None),
        ("arrival", LATEST_US, LATEST_US),
    ],
)
def test_by_arrival_time_nothing_is_late_until_all_is_closed(
    shape: Sliding | Session, time: Literal["event", "arrival"], watermark: int | None, judged_by: int | None
) -> None:
    assert judging_us(Window(name="it", shape=shape, time=time), watermark) == judged_by


def walked(batches: Sequence[tuple[Interval, Sequence[Seen]]], *, source: Source) -> list[int | None]:
    """The pipeline's watermark after each of some batches of one source."""
    reached: list[int | None] = [None]
    known: list[Progress] = []
    for batch, of_batch in batches:
        known = advance(known, of_batch, source=source, batch=batch)
        now = standing(source, known, first_batch_start_us=batches[0][0].start_us, batch=batch)
        own_us = pipeline_watermark(reached[-1], [now])
        reached.append(
            watermark_after(own_us, floor_us=reached[-1], asked_us=None, has_next=False, ceiling_us=None)
        )
    return reached[1:]


#   a      |90        |190       |            |            |490
#   b      |80        |          |            |350         |
#   batch  0 … 100    … 200      … 300        … 400        … 499         b idle after 150: at 300, not before
def test_one_that_wakes_up_behind_the_others_does_not_take_the_watermark_back() -> None:
    source = replace(SOURCE, idle_after_us=150)
    behind = Seen(substream="b", newest_event_us=150, newest_arrival_us=350)
    batches = [
        (Interval(0, 100), [seen(90, "a"), seen(80, "b")]),
        (Interval(100, 200), [seen(190, "a")]),
        (Interval(200, 300), []),
        (Interval(300, 400), [behind]),
        (Interval(400, 499), [seen(490, "a")]),
    ]
    # Idle, b holds nothing back; awake, it does, but what was reached stays reached.
    assert walked(batches, source=source) == [80, 80, 190, 190, 190]


#   a      |90        |          |            |            all are idle at 300: the furthest counts
#   b      |80        |          |            |
#   c                                         |10, arrives at 350
def test_when_all_are_idle_the_furthest_counts_and_a_new_one_that_starts_behind_changes_nothing() -> None:
    source = replace(SOURCE, idle_after_us=200)
    new = Seen(substream="c", newest_event_us=10, newest_arrival_us=350)
    batches = [
        (Interval(0, 100), [seen(90, "a"), seen(80, "b")]),
        (Interval(100, 200), []),
        (Interval(200, 300), []),
        (Interval(300, 400), [new]),
    ]
    assert walked(batches, source=source) == [80, 80, 90, 90]


def test_no_disorder_takes_a_watermark_before_the_first_instant() -> None:
    source = replace(SOURCE, max_disorder_us=10)
    after = advance([], [seen(EARLIEST_US + 9)], source=source, batch=BATCH)
    assert [one.watermark_us for one in after] == [EARLIEST_US]


def test_an_event_of_the_last_instant_closes_not_everything() -> None:
    (after,) = advance([], [seen(LATEST_US)], source=SOURCE, batch=BATCH)
    assert after.watermark_us == LATEST_US - 1
    assert arrival_watermark(9, event_us=after.watermark_us) == 9
