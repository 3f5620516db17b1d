"""Frames → states of cumulating windows: each is the beginning of its block, up to the end of a step.

A frame enters at its step and stays until the block ends. So the frames of a block are combined in order,
each once, and a result costs one combine at most.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.finalise.change_points import (
    BLOCK,
    FIRST,
    NEXT,
    POINT,
    Value,
    reach_of,
    written_out,
)
from pipelines.finalise.gathered import with_folds
from pipelines.finalise.parts import ENTERS, START, StatePart
from pipelines.finalise.planner import Plan
from pipelines.finalise.prefix_suffix import prefix_of
from pipelines.finalise.slides import Slides, floored
from pipelines.intervals import Interval, floor_to

END = "window_end_us"


def cumulated_states(
    frames: DataFrame,
    parts: Sequence[StatePart],
    *,
    key: Sequence[str],
    plan: Plan,
    ends: Interval | None = None,
) -> DataFrame:
    """Key, `START`, `END`, the parts, for all windows that exist and end in `ends`.

    `frames` holds the key (nulls are keys), `_frame_us` and the parts; rows of one key and frame combine.
    """
    step_us = plan.shape.step_us
    # A window is known by its last step, whose start the change points tell.
    steps = None if ends is None else Interval(ends.start_us - step_us, ends.end_us - step_us)
    slides = Slides(shapes=(plan.shape,), starts=() if steps is None else (steps,))
    points = _points(_of_blocks(frames, steps, plan=plan), parts, key=key, plan=plan, slides=slides)
    gathered = [part for part in parts if part.column in plan.gathered]
    if gathered:
        points = with_folds(points, gathered, key=key)
    reach = reach_of(key, plan)
    others = [part for part in parts if part not in gathered]
    prefixes = [part.combine(F.col(part.column), reach.so_far).alias(prefix_of(part)) for part in others]
    next_us = reach.ascending(F.lead(POINT)).alias(NEXT)
    runs = points.select("*", F.lit(False).alias(FIRST), next_us, *prefixes)
    values = {part.column: Value(_nothing(part), F.col(prefix_of(part))) for part in parts}
    written = written_out(runs, values, key=key, slides=slides)
    last_us = F.col(START)
    return written.select(
        *key,
        floored(last_us, slides.size_us, offset_us=slides.offset_us).alias(START),
        (last_us + slides.step_us).alias(END),
        *[part.column for part in parts],
    )


def _of_blocks(frames: DataFrame, steps: Interval | None, *, plan: Plan) -> DataFrame:
    """The frames that lie in the windows whose last steps start in an interval."""
    if steps is None:
        return frames
    shape, frame_us = plan.shape, F.col("_frame_us")
    first_us = floor_to(steps.start_us - shape.offset_us, shape.size_us) + shape.offset_us
    return frames.where((frame_us >= F.lit(first_us)) & (frame_us < F.lit(steps.end_us + shape.step_us)))


def _points(
    frames: DataFrame, parts: Sequence[StatePart], *, key: Sequence[str], plan: Plan, slides: Slides
) -> DataFrame:
    """Each frame at the step where it enters: key, `BLOCK`, `POINT`, `ENTERS`, the parts."""
    frame_us = F.col("_frame_us")
    points = frames.select(
        *key,
        floored(frame_us, slides.size_us, offset_us=slides.offset_us).alias(BLOCK),
        floored(frame_us, slides.step_us, offset_us=slides.offset_us).alias(POINT),
        F.lit(True).alias(ENTERS),
        *[part.column for part in parts],
    )
    if slides.have_steps_within(plan.frame_us):
        return points
    combined = [part.combine(F.col(part.column)).alias(part.column) for part in parts]
    return points.groupBy(*key, BLOCK, POINT, ENTERS).agg(*combined)


def _nothing(part: StatePart) -> Column:
    """A block begins with nothing; there is no window before its first event."""
    return part.state(F.lit(None))
