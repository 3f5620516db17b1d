"""Frames → states of sliding windows, by the plan of the window.

In come frames, each a key, `_frame_us` and a state, out go the states of the windows that exist: those with
events, and those that were touched where `_touched` is among the parts. Every plan gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.finalise.change_points import (
    FIRST,
    NEXT,
    POINT,
    RANK,
    Value,
    change_points,
    reach_of,
    written_out,
)
from pipelines.finalise.deduct import deducted
from pipelines.finalise.gathered import Gathered, with_folds
from pipelines.finalise.parts import Running, StatePart
from pipelines.finalise.planner import Choice, Plan
from pipelines.finalise.prefix_suffix import PrefixSuffix
from pipelines.finalise.recombine import recombined
from pipelines.finalise.slides import Slides, is_reached
from pipelines.intervals import Interval
from pipelines.spec import Sliding


def sliding_states(
    frames: DataFrame,
    parts: Sequence[StatePart],
    *,
    key: Sequence[str],
    plan: Plan,
    starts: Interval | None = None,
) -> DataFrame:
    """Key, `window_start_us`, the parts, for all windows that exist and start in `starts`.

    `frames` holds the key (nulls are keys), `_frame_us` and the parts; rows of one key and frame combine.
    """
    shape = plan.shape
    if not isinstance(shape, Sliding):
        raise TypeError(f"{shape} does not slide")
    if starts is not None:
        frames = frames.where(is_reached(F.col("_frame_us"), starts, size_us=shape.size_us))
    if plan.recombines:
        return recombined(frames, parts, key=key, sliding=shape, starts=starts)
    slides = Slides(shapes=(shape,), starts=() if starts is None else (starts,))
    return slid_together(frames, parts, key=key, plan=plan, slides=slides)


def slid_together(
    frames: DataFrame, parts: Sequence[StatePart], *, key: Sequence[str], plan: Plan, slides: Slides
) -> DataFrame:
    """The same for several definitions in one pass, which take one sort of their change points together.

    Their plans choose alike, on frames of one length, and `plan` is any of them. A frame is there once for
    each definition that is made of it, whose `DEFINITION` is part of the key.
    """
    points = change_points(frames, parts, key=key, plan=plan, slides=slides)
    gathered = [part for part in parts if part.column in plan.gathered]
    if gathered:
        points = with_folds(points, gathered, key=key)
    choices = {choice.column: choice for choice in plan.choices}
    running = {part.column: _running(part, choices[part.column]) for part in parts}
    values = {name: Value(it.before(), it.after()) for name, it in running.items()}
    return written_out(_run(points, running, key=key, plan=plan), values, key=key, slides=slides)


def _running(part: StatePart, choice: Choice) -> Running:
    match choice.strategy:
        case "deduct":
            return deducted(part)
        case "prefix–suffix":
            return Gathered(part) if choice.is_gathered else PrefixSuffix(part)
        case "recombine" | "prefix":
            raise ValueError(f"`{part.column}`: the strategy {choice.strategy} is not for change points")
        case _:
            assert_never(choice.strategy)


def _run(points: DataFrame, running: dict[str, Running], *, key: Sequence[str], plan: Plan) -> DataFrame:
    """Change points with all that the parts want to know of those before and after."""
    reach = reach_of(key, plan)
    if plan.looks_ahead:
        rank = [] if plan.gathers else [reach.descending(F.row_number()).alias(RANK)]
        ahead = [column for it in running.values() for column in it.looking_ahead(reach)]
        points = points.select("*", *rank, *ahead)
    # The same blocks again: nothing is shuffled, and the sort has only to reverse them.
    back = [column for it in running.values() for column in it.looking_back(reach)]
    is_first = reach.ascending(F.lag(POINT)).isNull().alias(FIRST)
    return points.select("*", is_first, reach.ascending(F.lead(POINT)).alias(NEXT), *back)
