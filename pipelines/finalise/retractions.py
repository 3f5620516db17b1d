"""The retractions of published sessions that have become others.

A session whose bounds changed is a new window. With its first pane, each published session that shares
events with it is retracted; until then that one stands. So with a later pane of one that was cut anew. What
came after its last pane is none of its events, also where it lies within its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.finalise.news import CAME
from pipelines.finalise.publication import Publication
from pipelines.finalise.results import RESULT_BOUNDS
from pipelines.finalise.sessions import NEAR, inside, renamed, same_place
from pipelines.spec import Pipeline, Session, Window
from pipelines.windows import by_window, grace_us, is_apart, session_windows

NEW = "_new_"
PART = "_part_"


@dataclass(frozen=True, slots=True)
class Present:
    """The sessions that there are now, and the partial sessions that they are made of, with `CAME`."""

    sessions: DataFrame
    partials: DataFrame


def retracted_sessions(
    panes: DataFrame, last: DataFrame, *, present: Present, pipeline: Pipeline, publication: Publication
) -> DataFrame:
    """The retract rows of published sessions that are no more, in the shape of panes.

    Of those that share events with a session that has its first pane now; and of those that share
    events with none, which a restatement has emptied.
    """
    names = [window.name for window in session_windows(pipeline)]
    stood = last.where(F.col("window").isin(names) & (F.col("_last.kind") == "insert"))
    now = renamed(present.sessions, NEAR, pipeline=pipeline)
    gone = stood.join(now, on=same_place(NEAR, (*pipeline.key, *RESULT_BOUNDS)), how="left_anti")
    # What retention has let go is no more among the sessions, and stands.
    gone = gone.where(publication.is_kept())
    apart = present.partials.where(_is_apart(pipeline) & (F.col("event_count") > 0))
    brought = _replaced(panes, gone, partials=_of_apart(apart, pipeline), pipeline=pipeline)
    if not publication.restated:
        return as_panes(brought, pipeline, restated=False)
    # One that stands beside them as it was published has events of its own: all that is within its bounds,
    # also where those of another lie around it.
    others = now.join(stood, on=same_place(NEAR, (*pipeline.key, *RESULT_BOUNDS)), how="left_anti")
    as_told = _as_told(now, stood, panes=panes, pipeline=pipeline)
    is_of_those = same_place(NEAR, (*pipeline.key, "window")) & inside("", NEAR)
    free = apart.join(as_told, on=is_of_those, how="left_anti")
    emptied = _emptied(gone, others, partials=_of_apart(free, pipeline), pipeline=pipeline)
    emptied = as_taken_back(emptied, session_windows(pipeline), pipeline=pipeline, publication=publication)
    return as_panes(brought.unionByName(emptied), pipeline, restated=publication.restated)


def _replaced(panes: DataFrame, gone: DataFrame, *, partials: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Of the sessions that are gone those that share events with one that has its first pane now; or its
    next, where it may have been another meanwhile, and partial sessions tell whose events are whose.
    """
    names = [window.name for window in session_windows(pipeline)]
    takes = F.col("is_first") | _is_apart(pipeline)
    first = panes.where(F.col("window").isin(names) & takes & (F.col("kind") == "insert"))
    new = first.select(
        *[F.col(name).alias(f"{NEW}{name}") for name in (*pipeline.key, *RESULT_BOUNDS)],
        *[F.col(name).alias(f"{NEW}{name}") for name in ("timing", "pane_index", "is_final")],
    )
    pairs = gone.join(new, on=_overlap(NEW, pipeline), how="inner")
    replaced = _sharing(pairs, partials, pipeline=pipeline).groupBy(*pipeline.key, *RESULT_BOUNDS)
    said = F.struct(f"{NEW}timing", f"{NEW}pane_index", f"{NEW}is_final")
    bringing = F.min_by(said, f"{NEW}window_start")
    return replaced.agg(F.first("_last").alias("_last"), bringing.alias("_by")).select(
        *pipeline.key,
        *RESULT_BOUNDS,
        "_last",
        F.col(f"_by.{NEW}timing").alias("timing"),
        F.col(f"_by.{NEW}pane_index").alias("pane_index"),
        F.col(f"_by.{NEW}is_final").alias("is_final"),
    )


def as_taken_back(
    stands: DataFrame, windows: Sequence[Window], *, pipeline: Pipeline, publication: Publication
) -> DataFrame:
    """What stands of these definitions as it is taken back by itself: `_last`, timing, index, whether it is
    the last pane.
    """
    return stands.select(
        *pipeline.key,
        *RESULT_BOUNDS,
        "_last",
        _timing_alone(windows, publication).alias("timing"),
        (F.col("_last.pane_index") + 1).alias("pane_index"),
        publication.is_final(pipeline).alias("is_final"),
    )


def _timing_alone(windows: Sequence[Window], publication: Publication) -> Column:
    """The timing of a window of one of these definitions that no pane tells of."""
    grace = by_window(windows, lambda it: F.lit(grace_us(it.shape)))
    end_us = F.unix_micros("window_end") + grace
    before_us = by_window(windows, lambda it: F.lit(publication.reached(it).before_us))
    after_us = by_window(windows, lambda it: F.lit(publication.reached(it).after_us))
    was_due = F.when(end_us <= before_us, F.lit("LATE"))
    return was_due.when(end_us <= after_us, F.lit("ON_TIME")).otherwise(F.lit("EARLY"))


def as_panes(retracted: DataFrame, pipeline: Pipeline, *, restated: bool) -> DataFrame:
    """Retract rows in the shape of panes, each with what was last published of it."""
    said = [*[aggregate.name for aggregate in pipeline.aggregates], "event_count"]
    return retracted.select(
        *pipeline.key,
        *RESULT_BOUNDS,
        *[F.col(f"_last.{name}").alias(name) for name in said],
        F.lit("retract").alias("kind"),
        "timing",
        F.col("pane_index").cast("int").alias("pane_index"),
        (F.col("pane_index") == 0).alias("is_first"),
        "is_final",
        F.lit(restated).alias("restated"),
    )


def _of_apart(partials: DataFrame, pipeline: Pipeline) -> DataFrame:
    return renamed(partials, PART, pipeline=pipeline, beside=(CAME,))


def _as_told(now: DataFrame, stood: DataFrame, *, panes: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Of the sessions that there are now those that stand as they were published, and publish nothing."""
    same = same_place(NEAR, (*pipeline.key, *RESULT_BOUNDS))
    return now.join(stood, on=same, how="left_semi").join(panes, on=same, how="left_anti")


def _sharing(pairs: DataFrame, partials: DataFrame, *, pipeline: Pipeline) -> DataFrame:
    """The pairs that have events in common: a partial session inside both, where there is one an instant."""
    in_both = _holds(PART, pipeline) & inside(PART, NEW)
    apart = pairs.where(_is_apart(pipeline)).join(partials, on=in_both, how="left_semi")
    return pairs.where(~_is_apart(pipeline)).unionByName(apart)


def _emptied(gone: DataFrame, now: DataFrame, *, partials: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Of the sessions that are gone those whose events are in no other."""
    apart = gone.where(_is_apart(pipeline)).join(partials, on=_holds(PART, pipeline), how="left_anti")
    others = gone.where(~_is_apart(pipeline)).join(now, on=_overlap(NEAR, pipeline), how="left_anti")
    return others.unionByName(apart)


def _is_apart(pipeline: Pipeline) -> Column:
    return is_apart(session_windows(pipeline))


def _holds(prefix: str, pipeline: Pipeline) -> Column:
    """Whether a session that was published held what has a prefix."""
    was_there = F.col(f"{prefix}{CAME}") <= F.col("_last._started_at")
    return same_place(prefix, (*pipeline.key, "window")) & inside(prefix, "") & was_there


def _overlap(prefix: str, pipeline: Pipeline) -> Column:
    """Whether two sessions overlap from their first event to their last."""
    gap_us = by_window(session_windows(pipeline), lambda it: F.lit(_after_last_us(it)))
    start_us, end_us = F.unix_micros("window_start"), F.unix_micros("window_end")
    other_start_us = F.unix_micros(f"{prefix}window_start")
    other_end_us = F.unix_micros(f"{prefix}window_end")
    overlap = (other_start_us <= end_us - gap_us) & (start_us <= other_end_us - gap_us)
    return same_place(prefix, (*pipeline.key, "window")) & overlap


def _after_last_us(window: Window) -> int:
    """How long before its end the last event of a session is: of a custom one it may be the last instant."""
    return window.shape.gap_us if isinstance(window.shape, Session) else 1
