"""Intervals and grids, each table beginning before 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.intervals import (
    EARLIEST_US,
    LATEST_US,
    Interval,
    common_length,
    cut,
    floor_to,
    from_us,
    merge,
    show_instant,
    to_us,
    without,
)

INSTANTS = st.integers(min_value=-(10**6), max_value=10**6)


def pairs(*bounds: tuple[int, int]) -> list[Interval]:
    return [Interval(start_us, end_us) for start_us, end_us in bounds]


@pytest.mark.parametrize(
    ("instant_us", "length_us", "offset_us", "floor_us"),
    [
        (-11, 10, 0, -20),
        (-10, 10, 0, -10),
        (-9, 10, 0, -10),
        (-1, 10, 0, -10),
        (0, 10, 0, 0),
        (1, 10, 0, 0),
        (9, 10, 0, 0),
        (10, 10, 0, 10),
        (-8, 10, 3, -17),
        (-7, 10, 3, -7),
        (2, 10, 3, -7),
        (3, 10, 3, 3),
        (3, 10, 13, 3),
        (3, 10, -7, 3),
        (5, 1, 0, 5),
    ],
)
def test_a_floor_is_the_last_multiple_that_is_not_after(
    instant_us: int, length_us: int, offset_us: int, floor_us: int
) -> None:
    assert floor_to(instant_us, length_us, offset_us=offset_us) == floor_us


@given(instant_us=INSTANTS, length_us=st.integers(min_value=1, max_value=1000), offset_us=INSTANTS)
def test_a_floor_is_less_than_one_length_away_and_on_the_grid(
    instant_us: int, length_us: int, offset_us: int
) -> None:
    floor_us = floor_to(instant_us, length_us, offset_us=offset_us)
    assert 0 <= instant_us - floor_us < length_us
    assert (floor_us - offset_us) % length_us == 0


@pytest.mark.parametrize(("start_us", "end_us"), [(-1, -2), (-1, -1), (0, 0), (1, 0)])
def test_an_interval_starts_before_it_ends(start_us: int, end_us: int) -> None:
    with pytest.raises(ValueError, match="starts before it ends"):
        Interval(start_us, end_us)


@pytest.mark.parametrize(
    ("instant_us", "is_in"), [(-6, False), (-5, True), (-4, True), (4, True), (5, False), (6, False)]
)
def test_an_interval_holds_its_start_and_not_its_end(instant_us: int, is_in: bool) -> None:
    assert (instant_us in Interval(-5, 5)) is is_in


@pytest.mark.parametrize(
    ("other", "overlaps", "covers"),
    [
        ((-9, -5), False, False),  # touches at the start
        ((-9, -4), True, False),
        ((-5, 5), True, True),
        ((-4, 4), True, True),
        ((-6, 6), True, False),
        ((4, 9), True, False),
        ((5, 9), False, False),  # touches at the end
    ],
)
def test_intervals_that_only_touch_do_not_overlap(
    other: tuple[int, int], overlaps: bool, covers: bool
) -> None:
    interval = Interval(-5, 5)
    assert interval.overlaps(Interval(*other)) is overlaps
    assert Interval(*other).overlaps(interval) is overlaps
    assert interval.covers(Interval(*other)) is covers


@pytest.mark.parametrize(
    ("whole", "length_us", "pieces"),
    [
        ((-10, 0), 5, [(-10, -5), (-5, 0)]),
        ((-10, 1), 5, [(-10, -5), (-5, 0), (0, 1)]),
        ((-3, 4), 5, [(-3, 2), (2, 4)]),
        ((0, 4), 5, [(0, 4)]),
        ((0, 5), 5, [(0, 5)]),
    ],
)
def test_a_cut_makes_up_the_whole_and_only_the_last_may_be_shorter(
    whole: tuple[int, int], length_us: int, pieces: list[tuple[int, int]]
) -> None:
    assert list(cut(Interval(*whole), length_us)) == pairs(*pieces)


@pytest.mark.parametrize(
    ("given_pairs", "merged"),
    [
        ([], []),
        ([(-9, -5), (-5, -1)], [(-9, -1)]),
        ([(-9, -5), (-4, -1)], [(-9, -5), (-4, -1)]),
        ([(-4, -1), (-9, -5)], [(-9, -5), (-4, -1)]),
        ([(-9, 9), (-1, 1)], [(-9, 9)]),
        ([(0, 2), (1, 3), (3, 4), (6, 7)], [(0, 4), (6, 7)]),
        ([(0, 1), (0, 1)], [(0, 1)]),
    ],
)
def test_merging_joins_what_overlaps_or_touches(
    given_pairs: list[tuple[int, int]], merged: list[tuple[int, int]]
) -> None:
    assert merge(pairs(*given_pairs)) == pairs(*merged)


@given(st.lists(st.tuples(INSTANTS, st.integers(min_value=1, max_value=50)), max_size=20))
def test_merged_intervals_hold_the_same_instants_and_never_meet(bounds: list[tuple[int, int]]) -> None:
    intervals = pairs(*[(start_us, start_us + length_us) for start_us, length_us in bounds])
    merged = merge(intervals)
    edges = {edge + by for it in intervals for edge in (it.start_us, it.end_us) for by in (-1, 0)}
    assert all(any(at in it for it in intervals) == any(at in it for it in merged) for at in edges)
    assert all(left.end_us < right.start_us for left, right in pairwise(merged))


@pytest.mark.parametrize(
    ("lengths_us", "common_us"), [([], 0), ([7], 7), ([0, 6, 4], 2), ([7, 3600], 1), ([3600, 1800, 0], 1800)]
)
def test_the_common_length_divides_all_and_zeros_do_not_count(lengths_us: list[int], common_us: int) -> None:
    assert common_length(lengths_us) == common_us


@pytest.mark.parametrize(
    ("instant", "instant_us"),
    [
        (datetime(1, 1, 1, tzinfo=UTC), EARLIEST_US),
        (datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), -1),
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1970, 1, 1), 0),  # noqa: DTZ001 - without a zone it is UTC
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        (datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), LATEST_US),
    ],
)
def test_an_instant_is_microseconds_since_1970_in_utc(instant: datetime, instant_us: int) -> None:
    assert to_us(instant) == instant_us
    assert to_us(from_us(instant_us)) == instant_us


@pytest.mark.parametrize(
    ("instant_us", "shown"),
    [
        (-1, "1969-12-31 23:59:59.999999"),
        (0, "1970-01-01 00:00"),
        (60_000_000, "1970-01-01 00:01"),
        (1_000_000, "1970-01-01 00:00:01"),
    ],
)
def test_an_instant_shows_no_more_digits_than_it_has(instant_us: int, shown: str) -> None:
    assert show_instant(instant_us) == shown


def test_an_interval_shows_as_half_open() -> None:
    assert str(Interval(-60_000_000, 0)) == "[1969-12-31 23:59, 1970-01-01 00:00)"


@pytest.mark.parametrize(
    ("hole", "left"),
    [
        (None, pairs((-10, 0), (5, 20))),
        (Interval(-20, 30), []),
        (Interval(0, 5), pairs((-10, 0), (5, 20))),
        (Interval(-5, 10), pairs((-10, -5), (10, 20))),
        (Interval(7, 8), pairs((-10, 0), (5, 7), (8, 20))),
    ],
)
def test_what_lies_outside_a_hole_is_left(hole: Interval | None, left: list[Interval]) -> None:
    assert without(pairs((-10, 0), (5, 20)), hole) == left
