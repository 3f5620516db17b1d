"""Which strategy the planner takes for which part, and what it says of it."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, LongType

from pipelines.aggregates import Part
from pipelines.aggregates.extremes import LARGEST
from pipelines.aggregates.items import ITEMS
from pipelines.aggregates.moments import MOMENTS
from pipelines.aggregates.sums import ROWS, TOTAL
from pipelines.finalise.parts import StatePart
from pipelines.finalise.planner import FEW_WINDOWS, Choice, Plan, Strategy, plan_of
from pipelines.spec import Cumulate, Sliding

HOURLY = Sliding(size_us=60, step_us=1)


def choice_for(
    part: Part,
    kind: DataType,
    *,
    sliding: Sliding = HOURLY,
    only: Strategy | None = None,
) -> Choice:
    parts = [StatePart(column="it", part=part, kind=kind)]
    return plan_of(parts, shape=sliding, frame_us=1, only=only).choices[0]


@pytest.mark.parametrize(
    ("part", "kind", "strategy", "why"),
    [
        (ROWS, LongType(), "deduct", "its type is exact: what leaves a window is taken away again"),
        (TOTAL, DecimalType(27, 2), "deduct", "its type is exact: what leaves a window is taken away again"),
        (TOTAL, DecimalType(28, 2), "prefix–suffix", "a running total has no room in its type"),
        (TOTAL, DoubleType(), "prefix–suffix", "taking doubles away would leave a residue"),
        (LARGEST, LongType(), "prefix–suffix", "what left a window cannot be taken away again"),
        (
            ITEMS,
            ArrayType(LongType()),
            "prefix–suffix",
            "merging states of its type costs less than taking one away",
        ),
    ],
)
def test_a_part_is_deducted_where_that_is_exact_and_cheap(
    part: Part, kind: DataType, strategy: Strategy, why: str
) -> None:
    choice = choice_for(part, kind)
    assert (choice.strategy, choice.why) == (strategy, why)


@pytest.mark.parametrize(
    ("sliding", "strategy"),
    [
        (Sliding(size_us=60, step_us=60), "recombine"),
        (Sliding(size_us=60, step_us=90), "recombine"),
        (Sliding(size_us=60 * FEW_WINDOWS, step_us=60), "recombine"),
        (Sliding(size_us=60 * FEW_WINDOWS + 1, step_us=60), "deduct"),
    ],
)
def test_frames_in_few_windows_are_put_into_each(sliding: Sliding, strategy: Strategy) -> None:
    assert choice_for(ROWS, LongType(), sliding=sliding).strategy == strategy


@pytest.mark.parametrize("part", [ROWS, LARGEST, MOMENTS], ids=["rows", "largest", "moments"])
def test_growing_windows_have_prefixes_and_a_combine_a_result(part: Part) -> None:
    daily = Cumulate(size_us=1440, step_us=60)
    parts = [StatePart(column="it", part=part, kind=ArrayType(LongType()))]
    (choice,) = plan_of(parts, shape=daily, frame_us=60).choices
    assert (choice.strategy, choice.combines, choice.is_gathered) == ("prefix", 1, part == MOMENTS)


def test_combines_a_result_do_not_grow_with_the_size_but_where_frames_are_recombined() -> None:
    long = Sliding(size_us=100_000, step_us=1)
    assert choice_for(ROWS, LongType(), sliding=long).combines == 2
    assert choice_for(LARGEST, LongType(), sliding=long).combines == 3
    assert choice_for(LARGEST, LongType(), sliding=long, only="recombine").combines == 100_000


def test_what_cannot_be_deducted_is_not_though_it_is_asked_for() -> None:
    assert choice_for(LARGEST, LongType(), only="deduct").strategy == "prefix–suffix"
    assert choice_for(TOTAL, DoubleType(), only="deduct").strategy == "prefix–suffix"


def test_a_plan_that_recombines_some_parts_only_is_refused() -> None:
    first = Choice(column="a", strategy="recombine", why="", combines=1)
    other = Choice(column="b", strategy="deduct", why="", combines=1)
    with pytest.raises(ValueError, match="either all parts"):
        Plan(shape=HOURLY, frame_us=1, choices=(first, other))


@pytest.mark.parametrize(
    "sliding", [Sliding(size_us=7, step_us=2), Sliding(size_us=6, step_us=2, offset_us=1)]
)
def test_frames_that_do_not_divide_the_window_are_refused(sliding: Sliding) -> None:
    with pytest.raises(ValueError, match="do not divide"):
        plan_of([StatePart(column="it", part=ROWS, kind=LongType())], shape=sliding, frame_us=2)
