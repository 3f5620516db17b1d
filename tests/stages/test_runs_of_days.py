"""Stretches of days as few intervals of event time."""

from __future__ import annotations

from datetime import date

import pytest

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, floor_to
from pipelines.stages.combining import DAY_US, in_runs


@pytest.mark.parametrize(
    ("stretches", "found"),
    [
        ({}, []),
        ({0: (5, 9)}, [(5, 9)]),
        #  What lies between two days that follow each other is looked at, what is around them is not.
        ({0: (5, 9), 1: (3, 4)}, [(5, DAY_US + 4)]),
        ({0: (5, 9), 2: (3, 4)}, [(5, 9), (2 * DAY_US + 3, 2 * DAY_US + 4)]),
        ({-1: (7, 8), 0: (5, 9), 1: (0, 1)}, [(7 - DAY_US, DAY_US + 1)]),
    ],
)
def test_days_that_follow_each_other_are_one_from_the_first_to_the_last_instant(
    stretches: dict[int, tuple[int, int]], found: list[tuple[int, int]]
) -> None:
    of_1970 = date(1970, 1, 1).toordinal()
    told = {
        date.fromordinal(of_1970 + day): Interval(day * DAY_US + first, day * DAY_US + last)
        for day, (first, last) in stretches.items()
    }
    assert in_runs(told) == [Interval(*it) for it in found]
    whole = [Interval(floor_to(first, DAY_US), -floor_to(-last, DAY_US)) for first, last in found]
    assert in_runs(told, whole_days=True) == whole


def test_the_first_and_the_last_day_have_no_neighbours() -> None:
    ends = {date.min: Interval(EARLIEST_US, EARLIEST_US + 1), date.max: Interval(LATEST_US, LATEST_US + 1)}
    assert in_runs(ends) == [*ends.values()]
