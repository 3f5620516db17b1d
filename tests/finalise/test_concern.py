"""Which windows a batch is about, by their ends."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from pipelines.finalise.concern import concern_of
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.spec.model import Cumulate, Panes, Rows, Session, Sliding, Window

WINDOW = Window(name="w", shape=Sliding(size_us=20, step_us=10), allowed_lateness_us=5)


#   event time   0----10----20----30----40----50
#   watermarks               |before     |after
#   due                       (20 … 40]
#   open, late           (15 … 20]
def test_windows_between_the_watermarks_are_due_and_those_behind_are_open_for_their_lateness() -> None:
    concern = concern_of(WINDOW, before_us=20, after_us=40, restated=False)
    assert (concern.due_after_us, concern.due_until_us, concern.open_after_us) == (20, 40, 15)


def test_a_restatement_is_about_closed_windows_too() -> None:
    assert concern_of(WINDOW, before_us=20, after_us=40, restated=True).open_after_us is None


def test_after_the_final_watermark_no_window_is_open() -> None:
    concern = concern_of(WINDOW, before_us=LATEST_US, after_us=LATEST_US, restated=False)
    assert concern.open_after_us == LATEST_US


HELD_BACK = replace(WINDOW, panes=Panes(late=Rows(rows=9)))


@pytest.mark.parametrize(
    ("before", "after", "restated", "closing"),
    [
        (
            20,
            40,
            False,
            Interval(16, 21),
        ),
        (20, 40, True, Interval(16, 21)),
        (20, 22, False, Interval(16, 18)),
        (20, 20, False, None),
        (None, 40, False, None),
        (20, LATEST_US, False, Interval(16, 21)),
        (LATEST_US, LATEST_US, False, None),
    ],
)
def test_where_news_is_held_back_windows_that_close_are_looked_at(
    before: int | None, after: int, restated: bool, closing: Interval | None
) -> None:
    concern = concern_of(HELD_BACK, before_us=before, after_us=after, restated=restated)
    assert concern.closing == closing
    plain = concern_of(WINDOW, before_us=before, after_us=after, restated=restated)
    assert plain.closing is None


@pytest.mark.parametrize(
    ("shape", "after"),
    [
        (Sliding(size_us=20, step_us=10), 119),  # [100, 120) is whole
        (
            Cumulate(size_us=30, step_us=10),
            120,
        ),  # the block of [90, 120) has lost frames
        (Cumulate(size_us=50, step_us=10), 100),
        (Cumulate(size_us=50, step_us=10, offset_us=20), 120),
        (Session(gap_us=5), 100),
    ],
)
def test_windows_are_whole_whose_frames_are_all_kept(shape: Sliding | Cumulate | Session, after: int) -> None:
    concern = concern_of(replace(WINDOW, shape=shape), before_us=200, after_us=300, restated=True)
    assert concern.whole_from(100).whole_after_us == after


def test_a_lateness_longer_than_time_itself_closes_nothing() -> None:
    #  the first instant   |---------- lateness ---------- 20 … 40
    for beyond_us, closing in ((0, (21, 41)), (30, (1, 11)), (100, None), (10**18, None)):
        window = replace(HELD_BACK, allowed_lateness_us=-EARLIEST_US + beyond_us)
        concern = concern_of(window, before_us=20, after_us=40, restated=False)
        told = closing and Interval(EARLIEST_US + closing[0], EARLIEST_US + closing[1])
        assert concern.closing == told
        assert concern.frames([])[-1] == Interval(0, 40)


@pytest.mark.parametrize(
    ("before", "after", "touched", "needed"),
    [
        (20, 40, [], [Interval(0, 40)]),
        (20, 20, [], []),
        (20, 20, [Interval(100, 110)], [Interval(80, 130)]),
        (20, 40, [Interval(30, 40)], [Interval(0, 60)]),
        (None, 40, [], [Interval(EARLIEST_US, 40)]),
        (None, None, [], []),
        (None, None, [Interval(0, 10)], [Interval(-20, 30)]),
    ],
)
def test_the_frames_needed_are_those_under_due_and_touched_windows(
    before: int | None, after: int | None, touched: list[Interval], needed: list[Interval]
) -> None:
    assert concern_of(WINDOW, before_us=before, after_us=after, restated=False).frames(touched) == needed


def test_a_session_that_merges_when_it_touches_reaches_no_further_than_itself() -> None:
    session = Window(name="s", shape=Session(gap_us=1))
    concern = concern_of(session, before_us=10, after_us=20, restated=False)
    assert concern.frames([Interval(30, 40)]) == [Interval(10, 20), Interval(30, 40)]


#   size 1000, coarser frames of 30; a window starts somewhere in `starts`
@pytest.mark.parametrize(
    ("before", "after", "restated", "core"),
    [
        (2000, 2100, False, Interval(1110, 1980)),
        (2000, 2000, False, Interval(1020, 1980)),
        (2000, 3000, False, None),
        (2000, 2100, True, None),
        (None, 2100, False, None),
        (2000, LATEST_US, False, None),
    ],
)
def test_what_lies_in_all_windows_of_a_batch_is_its_core(
    before: int | None, after: int, restated: bool, core: Interval | None
) -> None:
    window = Window(name="w", shape=Sliding(size_us=1000, step_us=10), allowed_lateness_us=5)
    concern = concern_of(window, before_us=before, after_us=after, restated=restated)
    assert concern.core is None
    concern = replace(concern, coarser_us=30)
    assert concern.core == core
    if core is not None and concern.starts is not None:
        last = concern.starts.end_us - 1
        for start, frame in product((concern.starts.start_us, last), (core.start_us, core.end_us - 1)):
            assert start <= frame < start + 1000


def test_windows_that_may_be_early_have_no_core() -> None:
    window = Window(name="w", shape=Sliding(size_us=1000, step_us=10), panes=Panes(early=Rows(rows=9)))
    concern = concern_of(window, before_us=2000, after_us=2100, restated=False)
    assert replace(concern, coarser_us=30).core is None


#   watermarks         |before 20      |after 40        lateness 5, until now 12
#   open until now  (8 … 20]           closed by the shorter one up to 15
def test_windows_that_a_shorter_lateness_closes_are_looked_at_once_more() -> None:
    concern = concern_of(HELD_BACK, before_us=20, after_us=40, restated=False).was_open_for(12)
    assert (concern.open_after_us, concern.closing, concern.cut_short_us) == (8, Interval(9, 21), 15)
    again = concern_of(HELD_BACK, before_us=20, after_us=40, restated=True).was_open_for(12)
    assert again.open_after_us is None
    assert concern_of(HELD_BACK, before_us=None, after_us=4, restated=False).was_open_for(12).closing is None


@pytest.mark.parametrize(
    ("window", "before", "after", "idle"),
    [
        (WINDOW, 20, 20, True),
        (WINDOW, None, None, True),
        (WINDOW, LATEST_US, LATEST_US, True),
        (WINDOW, 20, 21, False),
        (WINDOW, None, 20, False),
        # The same watermark closes nothing more, a higher one may.
        (HELD_BACK, 20, 20, True),
        (HELD_BACK, 20, 22, False),
    ],
)
def test_a_definition_is_idle_while_the_watermark_stands(
    window: Window, before: int | None, after: int | None, idle: bool
) -> None:
    assert concern_of(window, before_us=before, after_us=after, restated=False).is_idle == idle
