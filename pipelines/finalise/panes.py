"""The rows that say what windows publish in a batch.

A window that becomes due publishes once, ON_TIME; one that has news publishes EARLY before, LATE after,
when its trigger fires: the whole value, or only the news, or a retract of the last pane and the whole
value. A restatement publishes what changed: a retract that repeats what stood, then the new value, unless
the window is now empty; and what becomes due by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType

from pipelines.aggregates import BY_CHANCE, is_unchanged
from pipelines.combine import TOUCHED
from pipelines.finalise.publication import Publication
from pipelines.finalise.results import RESULT_BOUNDS, finished
from pipelines.finalise.triggers import IS_OTHER, fires, is_published, may_be_early
from pipelines.finalise.windows import CLOSES, CORRECTED, CUT
from pipelines.spec import Mode, Pipeline
from pipelines.windows import keeps_apart, session_windows

CHANGED = "_has_changed"
"""Whether a window says something else than its last pane; asked of a restatement alone."""
NOTHING_KNOWN = "struct<event_count: bigint, _since: timestamp, _newest: timestamp, _oldest: timestamp>"


def panes(
    states: DataFrame,
    last: DataFrame,
    *,
    news: DataFrame | None = None,
    pipeline: Pipeline,
    publication: Publication,
) -> DataFrame:
    """The panes of a batch, given what was last published and, where it is counted, the news.

    Key, `RESULT_BOUNDS`, results, `event_count`, `kind`, `timing`, `pane_index`, three flags.
    """
    both = _beside(finished(states, pipeline), last, what="_last", pipeline=pipeline)
    both = _beside(both, news, what="_news", pipeline=pipeline)
    surely, perhaps = _has_changed(both, pipeline, exact=_exact_averages(states, pipeline))
    both = both.withColumns(
        {
            CHANGED: surely | (perhaps & F.col(CORRECTED)) if publication.restated else F.lit(False),
            IS_OTHER: _is_other(surely | perhaps, pipeline),
        }
    )
    published = both.where(_publishes(pipeline, publication))
    told = _told(published, pipeline, publication=publication, with_news=news is not None)
    return told.select(
        *pipeline.key,
        *RESULT_BOUNDS,
        *_said(pipeline),
        "kind",
        "timing",
        "pane_index",
        (F.col("pane_index") == 0).alias("is_first"),
        publication.is_final(pipeline).alias("is_final"),
        publication.restates().alias("restated"),
    )


def _beside(rows: DataFrame, others: DataFrame | None, *, what: str, pipeline: Pipeline) -> DataFrame:
    """The rows with what is known of the same windows."""
    if others is None:
        return rows.withColumn(what, F.lit(None).cast(NOTHING_KNOWN))
    same = [rows[name].eqNullSafe(others[name]) for name in (*pipeline.key, *RESULT_BOUNDS)]
    joined = rows.join(others, on=reduce(lambda one, other: one & other, same), how="left")
    return joined.select(rows["*"], others[what])


def _exact_averages(states: DataFrame, pipeline: Pipeline) -> frozenset[str]:
    """The averages of whole numbers: doubles in which no order of adding has a part."""
    kinds = {
        it.name: states.schema[f"{it.name}__total"].dataType for it in pipeline.aggregates if it.op == "avg"
    }
    return frozenset(name for name, kind in kinds.items() if isinstance(kind, IntegralType))


def _is_other(has_changed: Column, pipeline: Pipeline) -> Column:
    """Whether a session that was cut anew has the bounds of one that is published, and other events: it had
    grown, and lost some to another, before anybody was told. Where news is counted, that may be all there is.
    """
    if not any(keeps_apart(it.shape) for it in session_windows(pipeline)):
        return F.lit(False)
    news, whole = F.col("_news.event_count"), F.col("event_count")
    is_more = F.coalesce(news > 0, F.lit(False))
    differs = F.when(is_more, F.col("_last.event_count") + news != whole).otherwise(has_changed)
    return F.when(F.col(CUT) & is_published(), differs).otherwise(F.lit(False))


def _publishes(pipeline: Pipeline, publication: Publication) -> Column:
    if not publication.restated:
        return fires(pipeline, publication)
    is_early = F.col("timing") == "EARLY"
    # What waits for a trigger, and the restatement leaves as it was, goes on waiting.
    is_about = _is_touched(pipeline) & (~is_early | F.col(CORRECTED))
    fresh = (F.col("event_count") > 0) & is_about & (~is_early | may_be_early(pipeline))
    is_due = (F.col("event_count") > 0) & (F.col("timing") == "ON_TIME")
    return F.when(is_published(), (F.col(CHANGED) & is_about) | is_due).otherwise(fresh)


def _is_touched(pipeline: Pipeline) -> Column:
    """Whether a window is one that a restatement is about: others of its keys are looked at too."""
    names = [it.name for it in session_windows(pipeline)]
    is_session = F.col("window").isin(names) if names else F.lit(False)
    return ~is_session | F.col(TOUCHED) | F.col(CLOSES) | (F.col("timing") == "ON_TIME")


def _next_index(pipeline: Pipeline) -> Column:
    """The index of the next pane; a session that was retracted begins anew."""
    following = F.col("_last.pane_index") + 1
    names = [window.name for window in session_windows(pipeline)]
    if not names:
        return following
    begins_anew = F.col("window").isin(names) & ~is_published()
    return F.when(begins_anew, F.lit(0)).otherwise(following)


def _has_changed(both: DataFrame, pipeline: Pipeline, *, exact: frozenset[str]) -> tuple[Column, Column]:
    """Whether a window is another than the published one; and whether it is in what comes out otherwise of
    the same events, too: there only the states can tell.
    """
    surely, perhaps = ~F.col("event_count").eqNullSafe(F.col("_last.event_count")), F.lit(False)
    for aggregate in pipeline.aggregates:
        kind = both.schema[aggregate.name].dataType
        now, before = F.col(aggregate.name), F.col(f"_last.{aggregate.name}")
        if aggregate.op in BY_CHANCE:
            perhaps |= ~is_unchanged(now, before, kind=kind, op=aggregate.op)
        elif aggregate.name in exact:
            surely |= ~now.eqNullSafe(before)
        else:
            surely |= ~is_unchanged(now, before, kind=kind, op=aggregate.op)
    return surely, perhaps


def _told(
    published: DataFrame, pipeline: Pipeline, *, publication: Publication, with_news: bool
) -> DataFrame:
    """The rows of each window that publishes: values, `kind`, and what is the same in all of them."""
    same = (*pipeline.key, *RESULT_BOUNDS, "timing")
    index = F.coalesce(_next_index(pipeline), F.lit(0)).cast("int").alias("pane_index")
    inserted = _inserted(pipeline, with_news=with_news)
    may_retract = any(it.panes.mode == "retracting" for it in pipeline.windows) or (
        with_news and any(it.panes.mode == "discarding" for it in pipeline.windows)
    )
    if not publication.restated and not may_retract:
        # One row each: columns, which Spark compiles, cost a third less than arrays of rows.
        return published.select(*same, index, *inserted, F.lit("insert").alias("kind"))
    retracts = _is_of(pipeline, "retracting") | _does_not_add_up(pipeline)
    if publication.restated:
        # One that only becomes due, or closes, says what its mode has it say, whatever waited in it; the news
        # of none is known here.
        is_in_its_turn = (F.col("timing") == "ON_TIME") | F.col(CLOSES)
        takes_back = F.col(CHANGED) & (~is_in_its_turn | F.col(CORRECTED))
        retracts |= takes_back | _is_of(pipeline, "discarding")
    rows = F.explode(_rows(pipeline, inserted=inserted, retracts=retracts)).alias("_row")
    return published.select(*same, index, rows).select(*same, "pane_index", "_row.*")


def _inserted(pipeline: Pipeline, *, with_news: bool) -> list[Column]:
    """What an insert says: the whole value, or only the news."""
    if not with_news:
        return [F.col(name) for name in _said(pipeline)]
    is_news = is_published() & _is_of(pipeline, "discarding") & ~_does_not_add_up(pipeline)
    return [
        F.when(is_news, F.col(f"_news.{name}")).otherwise(F.col(name)).alias(name) for name in _said(pipeline)
    ]


def _rows(pipeline: Pipeline, *, inserted: Sequence[Column], retracts: Column) -> Column:
    """The rows of one publication, in order: the retract of what was published, and the insert."""
    insert = F.struct(*inserted, F.lit("insert").alias("kind"))
    before = [F.col(f"_last.{name}").alias(name) for name in _said(pipeline)]
    retract = F.struct(*before, F.lit("retract").alias("kind"))
    return F.array_compact(
        F.array(F.when(is_published() & retracts, retract), F.when(F.col("event_count") > 0, insert))
    )


def _does_not_add_up(pipeline: Pipeline) -> Column:
    """Whether what was published of a discarding window is not the whole together with its news: a
    restatement took as many rows from it as waited, so that its value stayed and nothing was told; or it is
    of other events.
    """
    both = F.col("_last.event_count") + F.col("_news.event_count")
    differs = F.coalesce(both != F.col("event_count"), F.lit(False))
    return _is_of(pipeline, "discarding") & (differs | F.col(IS_OTHER))


def _said(pipeline: Pipeline) -> list[str]:
    return [*[aggregate.name for aggregate in pipeline.aggregates], "event_count"]


def _is_of(pipeline: Pipeline, mode: Mode) -> Column:
    names = [window.name for window in pipeline.windows if window.panes.mode == mode]
    return F.col("window").isin(names) if names else F.lit(False)
