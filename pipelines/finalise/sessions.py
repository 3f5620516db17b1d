"""Sessions → window states, and the retractions of published sessions that have become others.

A session whose bounds changed is a new window. With its first pane, each published session that shares
events with it is retracted; until then that one stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import part_columns
from pipelines.combine import TOUCHED
from pipelines.finalise.concern import Concern, is_closing, timing
from pipelines.finalise.publication import Publication
from pipelines.finalise.results import RESULT_BOUNDS
from pipelines.finalise.windows import CLOSES
from pipelines.spec import Pipeline, Session, Window
from pipelines.windows import by_window, session_windows

NEAR = "_near_"
NEW = "_new_"


def session_states(
    sessions: DataFrame, touched: DataFrame, *, pipeline: Pipeline, concerns: Sequence[Concern]
) -> DataFrame:
    """The states of the sessions concerned, as `window_states` gives them.

    `touched` are the partial sessions of the batch, also those that are gone. Beside what is due come all
    sessions of touched keys that may be corrected or published early: new bounds are news by themselves.
    """
    end_us, window = F.unix_micros("window_end"), F.col("window")
    told = F.coalesce(*[F.when(window == it.window.name, timing(end_us, it)) for it in concerns])
    closes = F.coalesce(*[F.when(window == it.window.name, is_closing(end_us, it)) for it in concerns])
    rows = sessions.withColumns({"timing": told, CLOSES: closes}).where("timing IS NOT NULL")
    near = _renamed(touched, NEAR, pipeline=pipeline)
    of_key = _same(NEAR, (*pipeline.key, "window"))
    always = (F.col("timing") == "ON_TIME") | F.col(CLOSES)
    candidates = rows.where(always).unionByName(rows.where(~always).join(near, on=of_key, how="left_semi"))
    inside = (F.col(f"{NEAR}window_start") >= F.col("window_start")) & (
        F.col(f"{NEAR}window_end") <= F.col("window_end")
    )
    news = candidates.join(near, on=of_key & inside, how="left_semi").withColumn(TOUCHED, F.lit(True))
    others = candidates.join(near, on=of_key & inside, how="left_anti").withColumn(TOUCHED, F.lit(False))
    return news.unionByName(others).select(
        *pipeline.key,
        "window",
        F.unix_micros("window_start").alias("window_start_us"),
        F.unix_micros("window_end").alias("window_end_us"),
        "timing",
        CLOSES,
        *part_columns(pipeline.aggregates),
        "event_count",
        TOUCHED,
    )


def retracted_sessions(
    panes: DataFrame, last: DataFrame, *, sessions: DataFrame, pipeline: Pipeline, publication: Publication
) -> DataFrame:
    """The retract rows of published sessions that are no more, in the shape of panes.

    Of those that share events with a session that has its first pane now; and of those that share
    events with none, which a restatement has emptied.
    """
    names = [window.name for window in session_windows(pipeline)]
    stood = last.where(F.col("window").isin(names) & (F.col("last.kind") == "insert"))
    now = _renamed(sessions, NEAR, pipeline=pipeline)
    gone = stood.join(now, on=_same(NEAR, (*pipeline.key, *RESULT_BOUNDS)), how="left_anti")
    first = panes.where(F.col("window").isin(names) & F.col("is_first") & (F.col("kind") == "insert"))
    new = first.select(
        *[F.col(name).alias(f"{NEW}{name}") for name in (*pipeline.key, *RESULT_BOUNDS)],
        *[F.col(name).alias(f"{NEW}{name}") for name in ("timing", "is_final")],
    )
    replaced = gone.join(new, on=_shares(NEW, pipeline), how="inner").groupBy(*pipeline.key, *RESULT_BOUNDS)
    bringing = F.min_by(F.struct(f"{NEW}timing", f"{NEW}is_final"), f"{NEW}window_start")
    brought = replaced.agg(F.first("last").alias("last"), bringing.alias("by")).select(
        *pipeline.key,
        *RESULT_BOUNDS,
        "last",
        F.col(f"by.{NEW}timing").alias("timing"),
        F.lit(0).alias("pane_index"),
        F.col(f"by.{NEW}is_final").alias("is_final"),
    )
    emptied = gone.join(now, on=_shares(NEAR, pipeline), how="left_anti").select(
        *pipeline.key,
        *RESULT_BOUNDS,
        "last",
        F.when(_is_due(pipeline, publication), F.lit("LATE")).otherwise(F.lit("EARLY")).alias("timing"),
        (F.col("last.pane_index") + 1).alias("pane_index"),
        F.lit(False).alias("is_final"),
    )
    return _as_panes(brought.unionByName(emptied), pipeline, restated=publication.restated)


def _is_due(pipeline: Pipeline, publication: Publication) -> Column:
    reached_us = by_window(session_windows(pipeline), lambda it: F.lit(publication.reached_us(it)))
    return F.coalesce(F.unix_micros("window_end") <= reached_us, F.lit(False))


def _as_panes(retracted: DataFrame, pipeline: Pipeline, *, restated: bool) -> DataFrame:
    said = [*[aggregate.name for aggregate in pipeline.aggregates], "event_count"]
    return retracted.select(
        *pipeline.key,
        *RESULT_BOUNDS,
        *[F.col(f"last.{name}").alias(name) for name in said],
        F.lit("retract").alias("kind"),
        "timing",
        F.col("pane_index").cast("int").alias("pane_index"),
        (F.col("pane_index") == 0).alias("is_first"),
        "is_final",
        F.lit(restated).alias("restated"),
    )


def _shares(prefix: str, pipeline: Pipeline) -> Column:
    """Whether two sessions share events: from their first to their last they overlap."""
    gap_us = by_window(session_windows(pipeline), lambda it: F.lit(_after_last_us(it)))
    start_us, end_us = F.unix_micros("window_start"), F.unix_micros("window_end")
    other_start_us = F.unix_micros(f"{prefix}window_start")
    other_end_us = F.unix_micros(f"{prefix}window_end")
    overlap = (other_start_us <= end_us - gap_us) & (start_us <= other_end_us - gap_us)
    return _same(prefix, (*pipeline.key, "window")) & overlap


def _after_last_us(window: Window) -> int:
    """How long before its end the last event of a session is: of a custom one it may be the last instant."""
    return window.shape.gap_us if isinstance(window.shape, Session) else 1


def _renamed(rows: DataFrame, prefix: str, *, pipeline: Pipeline) -> DataFrame:
    return rows.select(*[F.col(name).alias(f"{prefix}{name}") for name in (*pipeline.key, *RESULT_BOUNDS)])


def _same(prefix: str, names: Sequence[str]) -> Column:
    same = [F.col(name).eqNullSafe(F.col(f"{prefix}{name}")) for name in names]
    return reduce(lambda one, other: one & other, same)
