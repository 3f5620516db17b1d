"""Which windows publish in a batch: those that become due, and those whose trigger fires."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.combine import TOUCHED
from pipelines.finalise.publication import Publication
from pipelines.finalise.windows import CLOSES, CUT
from pipelines.spec import EachBatch, Every, Pipeline, Rows, Trigger, Window
from pipelines.windows import merges

IS_OTHER = "_is_other"
"""Whether what stands under the bounds of a session is of other events: it waits for no trigger."""


def is_published() -> Column:
    """Whether what was last said of a window is a value, and not that it is gone."""
    return F.coalesce(F.col("_last.kind") == "insert", F.lit(False))


def fires(pipeline: Pipeline, publication: Publication) -> Column:
    """Whether a window publishes, in a batch that restates nothing.

    Rows have `timing`, `CLOSES`, `CUT`, `TOUCHED`, `IS_OTHER`, `event_count`, `_last` and `_news` (null
    where not counted).
    """
    of_windows = [
        (F.col("window") == window.name) & _fires(window, publication) for window in pipeline.windows
    ]
    always = (F.col("timing") == "ON_TIME") | publication.is_new() | F.col(IS_OTHER)
    return (F.col("event_count") > 0) & (always | reduce(or_, of_windows))


def may_be_early(pipeline: Pipeline) -> Column:
    """Whether a window has an early trigger."""
    names = [window.name for window in pipeline.windows if window.panes.early is not None]
    return F.col("window").isin(names) if names else F.lit(False)


def _fires(window: Window, publication: Publication) -> Column:
    is_counted = window.name in publication.counted
    has_news = _has_news(window, is_counted=is_counted)
    in_turn = (F.col(CLOSES) & has_news) | _trigger(window.panes.late, has_news, publication=publication)
    # No later batch looks at one that has closed, and what it lost before stays lost.
    newest_us = F.unix_micros("_news._newest")
    of_batch = F.coalesce(newest_us == F.lit(publication.batch_end_us), F.lit(False))
    taken_in = of_batch if is_counted else F.col(TOUCHED)
    if merges(window.shape):
        # An event may move the bounds of closed ones that do not hold it.
        taken_in |= ~is_published()
        # A function may have cut one off that has a published one's bounds, and news that waits.
        taken_in |= F.col(CUT) & has_news
    late = (
        F.when(publication.has_closed(window), taken_in)
        .when(publication.is_cut_short(window), _had_waited(window, publication))
        .otherwise(in_turn)
    )
    fires = (F.col("timing") == "LATE") & late
    if window.panes.early is not None:
        fires |= (F.col("timing") == "EARLY") & _trigger(
            window.panes.early, has_news, publication=publication
        )
    return fires


def _has_news(window: Window, *, is_counted: bool) -> Column:
    has_rows = F.coalesce(F.col("_news.event_count") > 0, F.lit(False)) if is_counted else F.col(TOUCHED)
    # New bounds are news by themselves.
    is_new = ~is_published() if merges(window.shape) or not is_counted else F.lit(False)
    return has_rows | is_new


def _had_waited(window: Window, publication: Publication) -> Column:
    """Whether news of a window came before the batch, or of a session its bounds did."""
    oldest_us, end_us = F.unix_micros("_news._oldest"), F.lit(publication.batch_end_us)
    came_before = oldest_us <= end_us if publication.brings_nothing else oldest_us < end_us
    had_news = F.coalesce(came_before, F.lit(False))
    return had_news | ~is_published() if merges(window.shape) else had_news


def _trigger(trigger: Trigger, has_news: Column, *, publication: Publication) -> Column:
    match trigger:
        case EachBatch():
            return has_news
        case Rows():
            return F.coalesce(F.col("_news.event_count") >= F.lit(trigger.rows), F.lit(False))
        case Every():
            waited_us = F.lit(publication.batch_end_us) - F.unix_micros("_news._since")
            return has_news & F.coalesce(waited_us >= F.lit(trigger.every_us), F.lit(False))
        case _:
            assert_never(trigger)
