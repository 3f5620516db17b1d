"""Which windows publish in a batch, and the rows that say so.

A window that becomes due publishes once, ON_TIME; one that was due and was touched publishes again, LATE.
A restatement publishes only what changed: a retract that repeats the last pane, then the new value,
unless the window is now empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import are_alike
from pipelines.combine import TOUCHED
from pipelines.finalise.results import RESULT_BOUNDS, finished
from pipelines.intervals import LATEST_US
from pipelines.spec import Pipeline, Session, Window
from pipelines.windows import closes_us, grace_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What holds for all panes of a batch: the watermarks after it, and whether it restates an older one.

    `arrival_us` is the watermark of windows by arrival time.
    """

    watermark_us: int | None
    arrival_us: int | None
    restated: bool

    def reached_us(self, window: Window) -> int | None:
        """The watermark after the batch for windows of a definition."""
        return self.arrival_us if window.time == "arrival" else self.watermark_us


def panes(states: DataFrame, last: DataFrame, *, pipeline: Pipeline, publication: Publication) -> DataFrame:
    """The panes of a batch.

    Key, `RESULT_BOUNDS`, results, `event_count`, `kind`, `timing`, `pane_index`, three flags.
    """
    results = finished(states, pipeline)
    same = [results[name].eqNullSafe(last[name]) for name in (*pipeline.key, *RESULT_BOUNDS)]
    both = results.join(last, on=reduce(lambda one, other: one & other, same), how="left").select(
        results["*"], last["last"]
    )
    published = both.where(_publishes(both, pipeline, publication=publication))
    rows = F.explode(_rows(pipeline, publication)).alias("row")
    exploded = published.select(
        *pipeline.key, *RESULT_BOUNDS, "is_due", _next_index(pipeline).alias("_next_index"), rows
    )
    index = F.coalesce(F.col("_next_index"), F.lit(0)).cast("int")
    return exploded.select(
        *pipeline.key,
        *RESULT_BOUNDS,
        "row.*",
        F.when(F.col("is_due"), F.lit("ON_TIME")).otherwise(F.lit("LATE")).alias("timing"),
        index.alias("pane_index"),
        (index == 0).alias("is_first"),
        _is_final(pipeline, publication).alias("is_final"),
        F.lit(publication.restated).alias("restated"),
    )


def _publishes(both: DataFrame, pipeline: Pipeline, *, publication: Publication) -> Column:
    has_events = F.col("event_count") > 0
    if not publication.restated:
        return has_events & (F.col("is_due") | F.col(TOUCHED) | ~_is_published())
    return F.when(_is_published(), _has_changed(both, pipeline)).otherwise(has_events)


def _next_index(pipeline: Pipeline) -> Column:
    """The index of the next pane; a session that was retracted begins anew."""
    following = F.col("last.pane_index") + 1
    names = [window.name for window in pipeline.windows if isinstance(window.shape, Session)]
    if not names:
        return following
    begins_anew = F.col("window").isin(names) & ~_is_published()
    return F.when(begins_anew, F.lit(0)).otherwise(following)


def _is_published() -> Column:
    return F.coalesce(F.col("last.kind") == "insert", F.lit(False))


def _has_changed(both: DataFrame, pipeline: Pipeline) -> Column:
    unlike = ~F.col("event_count").eqNullSafe(F.col("last.event_count"))
    for aggregate in pipeline.aggregates:
        kind = both.schema[aggregate.name].dataType
        unlike |= ~are_alike(F.col(aggregate.name), F.col(f"last.{aggregate.name}"), kind=kind)
    return unlike


def _rows(pipeline: Pipeline, publication: Publication) -> Column:
    """The rows of one publication, in order.

    The retract of what was published, if it is restated, and the insert.
    """
    said = [*[aggregate.name for aggregate in pipeline.aggregates], "event_count"]
    insert = F.struct(*said, F.lit("insert").alias("kind"))
    if not publication.restated:
        return F.array(insert)
    retract = F.struct(*[F.col(f"last.{name}").alias(name) for name in said], F.lit("retract").alias("kind"))
    return F.array_compact(
        F.array(F.when(_is_published(), retract), F.when(F.col("event_count") > 0, insert))
    )


def _is_final(pipeline: Pipeline, publication: Publication) -> Column:
    end_us = F.coalesce(F.unix_micros("window_end"), F.lit(LATEST_US))
    is_final = F.lit(False)
    for window in pipeline.windows:
        reached_us = publication.reached_us(window)
        if reached_us is not None:
            closing_us = closes_us(end_us, window.allowed_lateness_us + grace_us(window.shape))
            is_final |= (F.col("window") == window.name) & (F.lit(reached_us) >= closing_us)
    return is_final
