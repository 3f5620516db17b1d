"""Sessions → window states: those that become due, and those of touched keys that may be published again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import part_columns
from pipelines.combine import TOUCHED
from pipelines.finalise.concern import Concern, is_closing, timing
from pipelines.finalise.results import RESULT_BOUNDS
from pipelines.finalise.windows import CLOSES, CORRECTED, CUT
from pipelines.spec import Pipeline
from pipelines.windows import is_apart, keeps_apart, session_windows

NEAR = "_near_"


def session_states(
    sessions: DataFrame,
    touched: DataFrame | None,
    *,
    pipeline: Pipeline,
    concerns: Sequence[Concern],
    restated: bool = False,
) -> DataFrame:
    """The states of the sessions concerned, as `window_states` gives them.

    `touched` are the partial sessions of the batch, also those that are gone, with `CORRECTED` as there; of
    what is due only a restatement asks whether it was touched, and `TOUCHED` is false there without one.
    Beside what is due come all sessions of touched keys that may be corrected or published early: new bounds
    are news by themselves. `None` where there is nothing but what is due.
    """
    end_us, window = F.unix_micros("window_end"), F.col("window")
    told = F.coalesce(*[F.when(window == it.window.name, timing(end_us, it)) for it in concerns])
    closes = F.coalesce(*[F.when(window == it.window.name, is_closing(end_us, it)) for it in concerns])
    rows = sessions.withColumns({"timing": told, CLOSES: closes}).where("timing IS NOT NULL")
    states = _marked(rows, touched, pipeline=pipeline, restated=restated)
    return states.select(
        *pipeline.key,
        "window",
        F.unix_micros("window_start").alias("window_start_us"),
        F.unix_micros("window_end").alias("window_end_us"),
        "timing",
        CLOSES,
        *part_columns(pipeline.aggregates),
        "event_count",
        TOUCHED,
        CORRECTED,
        F.lit(False).alias(CUT),
    )


def _marked(rows: DataFrame, touched: DataFrame | None, *, pipeline: Pipeline, restated: bool) -> DataFrame:
    """Of sessions those that are concerned, and whether they hold news."""
    is_due = F.col("timing") == "ON_TIME"
    if restated and touched is not None:
        return _with_touched(rows, touched, pipeline=pipeline, surely=F.col(CLOSES) | is_due)
    due = rows.where(is_due).withColumns(dict.fromkeys((TOUCHED, CORRECTED), F.lit(False)))
    if touched is None:
        return due
    open_ones = rows.where(~is_due)
    return due.unionByName(_with_touched(open_ones, touched, pipeline=pipeline, surely=F.col(CLOSES)))


def _with_touched(rows: DataFrame, touched: DataFrame, *, pipeline: Pipeline, surely: Column) -> DataFrame:
    """Of sessions those that are surely concerned and those of touched keys, and whether they hold news."""
    others = touched if CORRECTED in touched.columns else touched.withColumn(CORRECTED, F.lit(True))
    near = renamed(others, NEAR, pipeline=pipeline, beside=(CORRECTED,))
    of_key = same_place(NEAR, (*pipeline.key, "window"))
    perhaps = rows.where(~surely).join(near, on=of_key, how="left_semi")
    candidates = rows.where(surely).unionByName(perhaps)
    place = (*pipeline.key, *RESULT_BOUNDS)
    found = candidates.select(*place).join(near, on=of_key & inside(NEAR, "")).groupBy(*place)
    marks = found.agg(F.max(f"{NEAR}{CORRECTED}").alias(CORRECTED))
    marks = marks.select(*[F.col(name).alias(f"{NEAR}{name}") for name in place], CORRECTED)
    told = candidates.join(marks, on=same_place(NEAR, place), how="left")
    held = {TOUCHED: F.col(CORRECTED).isNotNull(), CORRECTED: F.coalesce(CORRECTED, F.lit(False))}
    return told.withColumns(held).select(*rows.columns, TOUCHED, CORRECTED)


def with_cut_anew(states: DataFrame, stood: DataFrame | None, *, pipeline: Pipeline) -> DataFrame:
    """The states, with `CUT` where the batch has cut a session anew: an event may move the bounds of later
    ones that do not hold it. `stood` are those before the batch, where they are known.
    """
    windows = session_windows(pipeline)
    if not any(keeps_apart(it.shape) for it in windows):
        return states
    return _with_others(states, stood, pipeline=pipeline, marks=(CUT,))


def with_remade(states: DataFrame, stood: DataFrame | None, *, pipeline: Pipeline) -> DataFrame:
    """The states, with `TOUCHED` and `CORRECTED` where a restatement has given a session other bounds, or
    more or fewer events in the same: what it took away none holds any more. `stood` as above.
    """
    return _with_others(states, stood, pipeline=pipeline, marks=(TOUCHED, CORRECTED))


def _with_others(
    states: DataFrame, stood: DataFrame | None, *, pipeline: Pipeline, marks: Sequence[str]
) -> DataFrame:
    """The states, with marks where a session did not stand before; as `CUT` only such as may be cut anew."""
    is_new = is_apart(session_windows(pipeline)) if CUT in marks else F.lit(True)
    if stood is None:
        return states.withColumns({mark: F.col(mark) | is_new for mark in marks})
    near = renamed(stood.where("event_count > 0"), NEAR, pipeline=pipeline, beside=("event_count",))
    beside = states.join(near, on=_is_that(NEAR, pipeline), how="left")
    did_stand = F.col(f"{NEAR}window").isNotNull()
    if CORRECTED in marks:
        did_stand &= F.col(f"{NEAR}event_count") == F.col("event_count")
    is_new &= ~F.coalesce(did_stand, F.lit(False))
    return beside.withColumns({mark: F.col(mark) | is_new for mark in marks}).select(*states.columns)


def kept_sessions(
    states: DataFrame, stood: DataFrame | None, *, kept_us: int, pipeline: Pipeline
) -> DataFrame:
    """Of the states those that end after an instant, and those before it that the batch has made, or made
    others: `stood` are the sessions as they were, where they are known.
    """
    is_kept = F.col("window_end_us") > F.lit(kept_us)
    if stood is None:
        return states.where(is_kept)
    near = renamed(stood, NEAR, pipeline=pipeline, beside=("event_count",))
    same = _is_that(NEAR, pipeline) & (F.col("event_count") == F.col(f"{NEAR}event_count"))
    made = states.where(~is_kept).join(near, on=same, how="left_anti")
    return states.where(is_kept).unionByName(made)


def renamed(rows: DataFrame, prefix: str, *, pipeline: Pipeline, beside: Sequence[str] = ()) -> DataFrame:
    """The place of windows, and what is beside it, under names of their own."""
    names = (*pipeline.key, *RESULT_BOUNDS, *beside)
    return rows.select(*[F.col(name).alias(f"{prefix}{name}") for name in names])


def _is_that(prefix: str, pipeline: Pipeline) -> Column:
    """Whether a state is of the session that has a prefix."""
    same = same_place(prefix, (*pipeline.key, "window"))
    for bound in ("window_start", "window_end"):
        same &= F.col(f"{bound}_us") == F.unix_micros(f"{prefix}{bound}")
    return same


def same_place(prefix: str, names: Sequence[str]) -> Column:
    """Whether a row is of the same place as what has a prefix."""
    same = [F.col(name).eqNullSafe(F.col(f"{prefix}{name}")) for name in names]
    return reduce(lambda one, other: one & other, same)


def inside(prefix: str, other: str) -> Column:
    """Whether what has one prefix lies within the bounds of what has the other."""
    starts = F.col(f"{prefix}window_start") >= F.col(f"{other}window_start")
    return starts & (F.col(f"{prefix}window_end") <= F.col(f"{other}window_end"))
