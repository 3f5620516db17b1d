"""Watermarks as truth tables: each rule of time, a tick before, at and after."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.ingest.watermark import Progress, Seen, Standing, advance, pipeline_watermark, standing
from pipelines.intervals import Interval
from pipelines.spec.model import Source

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
