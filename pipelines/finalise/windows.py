"""Frames → window states: those of the windows that a batch is about.

Sliding and cumulating windows are put together by their plan, sliding definitions that say the same of an
end in one pass. Of the others, and where a frame is in few windows, each frame is given to its windows, all
definitions in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from pipelines.aggregates import combine_columns, operation_of, part_columns, shared
from pipelines.aggregates.sums import ROWS
from pipelines.combine import TOUCHED
from pipelines.finalise.concern import Concern, is_closing, timing
from pipelines.finalise.cumulated import END, cumulated_states
from pipelines.finalise.parts import START, StatePart
from pipelines.finalise.planner import Plan, plan_of
from pipelines.finalise.results import WINDOW
from pipelines.finalise.slides import DEFINITION, Slides, is_reached, looked_up
from pipelines.finalise.sliding import slid_together, sliding_states
from pipelines.intervals import EARLIEST_US
from pipelines.spec import Cumulate, Pipeline, Sliding
from pipelines.windows import grid_of, held

FRAME = ("grid", "frame_start", "frame_end")
CLOSES = "_closes"
"""Whether a window that was due closes in the batch, so that news which waits has to be published."""
CUT = "_cut_anew"
"""Whether the batch has cut a session that did not stand before it."""
CORRECTED = "_corrected"
"""Whether a restatement changed what is under a window, and not only touched it."""


def window_states(
    frames: DataFrame, touched: DataFrame | None, *, pipeline: Pipeline, concerns: Sequence[Concern]
) -> DataFrame:
    """The states of the windows concerned.

    Key, `WINDOW`, `timing`, `CLOSES`, `TOUCHED`, `CORRECTED`, `CUT`, parts, `event_count`.

    `frames` are whole, `touched` names those of the batch (key, grid and bounds), also when they are gone;
    `None` where nobody asks. It has `CORRECTED` where it knows of which the batch has made others: else all
    that is touched counts as such.
    """
    given = _with_marks(frames, touched, pipeline=pipeline)
    plans = {concern.window.name: _plan(given, pipeline, concern=concern) for concern in concerns}
    states, spread = [], []
    alike: dict[tuple[object, ...], list[tuple[Concern, Plan]]] = {}
    for concern in concerns:
        plan = plans[concern.window.name]
        if plan is None or plan.recombines:
            spread.append(concern)
        elif isinstance(plan.shape, Cumulate):
            states.append(_cumulated(given, pipeline, concern=concern, plan=plan))
        else:
            # Where two frames may enter at one start they are combined first, which others need not pay for.
            combines = plan.shape.step_us > plan.frame_us
            alike.setdefault((plan.frame_us, combines, *concern.tells_by), []).append((concern, plan))
    states += [_slid(given, pipeline, planned=planned) for planned in alike.values()]
    if spread:
        (first, *others) = spread
        if touched is None and not others and _is_one_frame(first, pipeline):
            states.append(_framed(given, pipeline, concern=first))
        else:
            states.append(_recombined(given, pipeline, concerns=spread))
    told = all_of(states).where((F.col("timing") == "ON_TIME") | F.col(TOUCHED) | F.col(CLOSES))
    if CORRECTED not in _marks_of(given):
        told = told.withColumn(CORRECTED, F.col(TOUCHED))
    return told.withColumn(CUT, F.lit(False))


def _with_marks(frames: DataFrame, touched: DataFrame | None, *, pipeline: Pipeline) -> DataFrame:
    """The frames, and an empty one beside each that was touched: `TOUCHED` and `CORRECTED` count these."""
    parts, is_told = part_columns(pipeline.aggregates), touched is not None and CORRECTED in touched.columns
    unmarked = [_count(0).alias(mark) for mark in ([TOUCHED, CORRECTED] if is_told else [TOUCHED])]
    whole = frames.select(*pipeline.key, *FRAME, *parts, "event_count", *unmarked)
    if touched is None:
        return whole
    nothing = [F.lit(None).cast(frames.schema[part].dataType).alias(part) for part in parts]
    marks = {"event_count": _count(0), TOUCHED: _count(1)}
    if is_told:
        marks[CORRECTED] = F.col(CORRECTED).cast("bigint")
    marked = touched.select(
        *pipeline.key, *FRAME, *nothing, *[mark.alias(name) for name, mark in marks.items()]
    )
    return whole.unionByName(marked)


def _marks_of(frames: DataFrame) -> list[str]:
    return [mark for mark in (TOUCHED, CORRECTED) if mark in frames.columns]


def state_parts(frames: DataFrame, pipeline: Pipeline) -> list[StatePart]:
    """The columns of a state as strategies see them, each once, those that count among them."""
    repeated = shared(pipeline.aggregates)
    parts = [
        StatePart(
            column=f"{aggregate.name}__{part.name}",
            part=part,
            kind=frames.schema[f"{aggregate.name}__{part.name}"].dataType,
        )
        for aggregate in pipeline.aggregates
        for part in operation_of(aggregate).parts
        if f"{aggregate.name}__{part.name}" not in repeated
    ]
    names = ("event_count", *_marks_of(frames))
    return [*parts, *[StatePart(column=name, part=ROWS, kind=LongType()) for name in names]]


def _plan(frames: DataFrame, pipeline: Pipeline, *, concern: Concern) -> Plan | None:
    """How windows that share frames are put together; `None` for other windows."""
    frame_us = grid_of(pipeline, concern.window.name).frame_us
    if not isinstance(concern.window.shape, Sliding | Cumulate) or frame_us is None:
        return None
    return plan_of(state_parts(frames, pipeline), shape=concern.window.shape, frame_us=frame_us)


def _slid(frames: DataFrame, pipeline: Pipeline, *, planned: Sequence[tuple[Concern, Plan]]) -> DataFrame:
    """Sliding windows of definitions that say the same of an end: several in one pass."""
    concerns, parts = [concern for concern, _ in planned], state_parts(frames, pipeline)
    concern, plan = planned[0]
    if len(planned) == 1:
        mine = _under(concern, frames, pipeline=pipeline)
        slid = sliding_states(mine, parts, key=pipeline.key, plan=plan, starts=concern.starts)
        ended = slid.withColumn(END, F.col(START) + F.lit(concern.size_us))
        return _concerned(ended, pipeline, concern=concern)
    starts = [it.starts for it in concerns]
    slides = Slides(
        shapes=tuple(it.shape for _, it in planned), starts=tuple(it for it in starts if it is not None)
    )
    places = [F.when(_is_near(it, pipeline), F.lit(place)) for place, it in enumerate(concerns, start=1)]
    given = frames.select(
        *pipeline.key,
        F.unix_micros("frame_start").alias("_frame_us"),
        *[part.column for part in parts],
        F.explode(F.array(*places)).alias(DEFINITION),
    )
    key = (*pipeline.key, DEFINITION)
    slid = slid_together(given.where(F.col(DEFINITION).isNotNull()), parts, key=key, plan=plan, slides=slides)
    ended = slid.withColumn(END, F.col(START) + slides.size_us)
    return _concerned(ended, pipeline, concern=concern, together=concerns)


def _is_near(concern: Concern, pipeline: Pipeline) -> Column:
    """Whether windows that are asked for are made of a frame."""
    is_under, starts = _is_under(concern, pipeline), concern.starts
    if starts is None:
        return is_under
    return is_under & is_reached(F.unix_micros("frame_start"), starts, size_us=concern.size_us)


def _cumulated(frames: DataFrame, pipeline: Pipeline, *, concern: Concern, plan: Plan) -> DataFrame:
    mine, parts = _under(concern, frames, pipeline=pipeline), state_parts(frames, pipeline)
    states = cumulated_states(mine, parts, key=pipeline.key, plan=plan, ends=concern.ends)
    return _concerned(states, pipeline, concern=concern)


def _under(concern: Concern, frames: DataFrame, *, pipeline: Pipeline) -> DataFrame:
    return frames.where(_is_under(concern, pipeline)).withColumn("_frame_us", F.unix_micros("frame_start"))


def _concerned(
    states: DataFrame, pipeline: Pipeline, *, concern: Concern, together: Sequence[Concern] = ()
) -> DataFrame:
    """Of windows that were put together by a plan those that the batch is about; `together`: of definitions
    that say the same of an end as the concern, but from when on windows are whole.
    """
    end_us, repeated = F.col(END), shared(pipeline.aggregates)
    told = timing(end_us, concern)
    if together:
        after_us = [EARLIEST_US if it.whole_after_us is None else it.whole_after_us for it in together]
        told = F.when(end_us > looked_up(after_us), timing(end_us, replace(concern, whole_after_us=None)))
    return states.where(told.isNotNull()).select(
        *pipeline.key,
        looked_up([it.window.name for it in together or (concern,)]).alias("window"),
        START,
        END,
        told.alias("timing"),
        is_closing(end_us, concern).alias(CLOSES),
        *[F.col(repeated.get(part, part)).alias(part) for part in part_columns(pipeline.aggregates)],
        "event_count",
        *[(F.col(mark) > 0).alias(mark) for mark in _marks_of(states)],
    )


def _is_one_frame(concern: Concern, pipeline: Pipeline) -> bool:
    """Whether each window of a definition is one frame."""
    shape = concern.window.shape
    if not isinstance(shape, Sliding | Cumulate):
        return True
    is_tumbling = isinstance(shape, Sliding) and shape.size_us == shape.step_us
    return is_tumbling and shape.size_us == grid_of(pipeline, concern.window.name).frame_us


def _framed(frames: DataFrame, pipeline: Pipeline, *, concern: Concern) -> DataFrame:
    """Windows of one frame each."""
    bounds = {START: F.unix_micros("frame_start"), END: F.unix_micros("frame_end")}
    mine = frames.where(_is_under(concern, pipeline)).withColumns(bounds)
    return _concerned(mine, pipeline, concern=concern)


def _recombined(frames: DataFrame, pipeline: Pipeline, *, concerns: Sequence[Concern]) -> DataFrame:
    """Each frame given to its windows, and those of a window combined."""
    parts, marks = part_columns(pipeline.aggregates), _marks_of(frames)
    (first, *others) = [windows_over(concern, pipeline) for concern in concerns]
    # Of one array Spark's `concat` costs a third of the pass.
    windows = F.concat(first, *others) if others else first
    given = frames.select(*pipeline.key, *parts, "event_count", *marks, F.inline(windows))
    combined = given.groupBy(*pipeline.key, *WINDOW, "timing", CLOSES).agg(
        *combine_columns(pipeline.aggregates, frames.schema),
        *[(F.sum(mark) > 0).alias(mark) for mark in marks],
    )
    return combined.select(*pipeline.key, *WINDOW, "timing", CLOSES, *parts, "event_count", *marks)


def windows_over(concern: Concern, pipeline: Pipeline) -> Column:
    """An array of the windows over a frame that the batch is about."""

    def window(it: Column) -> Column:
        return F.struct(
            F.lit(concern.window.name).alias("window"),
            it["start_us"].alias("window_start_us"),
            it["end_us"].alias("window_end_us"),
            timing(it["end_us"], concern).alias("timing"),
            is_closing(it["end_us"], concern).alias(CLOSES),
        )

    windows = F.transform(_bounds(concern), window)
    concerned = F.filter(windows, lambda it: it["timing"].isNotNull())
    return F.when(_is_under(concern, pipeline), concerned).otherwise(F.slice(concerned, 1, 0))


def _is_under(concern: Concern, pipeline: Pipeline) -> Column:
    """Whether the windows concerned are made of a frame.

    A coarser one lies in all of them, so it stands for its fine ones where it begins; of these the marks
    of those that were touched are left.
    """
    grid = grid_of(pipeline, concern.window.name)
    is_fine = F.col("grid") == grid.name
    if concern.core is None:
        return is_fine
    start_us = F.unix_micros("frame_start")
    in_core = (start_us >= F.lit(concern.core.start_us)) & (start_us < F.lit(concern.core.end_us))
    is_in_place = F.when(in_core, F.col("grid") == grid.coarser).otherwise(is_fine)
    return is_in_place | (is_fine & (F.col(TOUCHED) > 0))


def _bounds(concern: Concern) -> Column:
    start_us, end_us = F.unix_micros("frame_start"), F.unix_micros("frame_end")
    if isinstance(concern.window.shape, Sliding | Cumulate):
        return held(concern.window.shape, start_us, key=())
    return F.array(F.struct(start_us.alias("start_us"), end_us.alias("end_us")))


def all_of(states: Sequence[DataFrame]) -> DataFrame:
    """Window states of several kinds as one."""
    return reduce(DataFrame.unionByName, states)


def _count(number: int) -> Column:
    return F.lit(number).cast("bigint")
