"""The news of windows: what has come since their last pane.

Only where a trigger holds news back, or a pane is to carry nothing else, is it needed; everywhere else a
window has news when the batch touched it. A partial frame or session is news when its batch had not run
yet when the window was last published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import combine_columns, part_columns
from pipelines.finalise.concern import Concern
from pipelines.finalise.results import RESULT_BOUNDS, bounds, finished
from pipelines.finalise.sessions import inside, same_place
from pipelines.finalise.windows import windows_over
from pipelines.spec import EachBatch, Pipeline, Window

CAME = "_came"
"""When the batch of a partial frame or session first ran."""
OF, PUBLISHED, TOLD = "_of_", "_published_", "_told_"
"""Before the names of key and bounds, of whatever name."""
SINCE, SINCE_BATCH = "_since_run", "_since_batch"
"""When the run began that published a window last, and where its batch ends."""


def holds_back(window: Window) -> bool:
    """Whether news of a window may wait for a trigger."""
    return any(trigger not in (None, EachBatch()) for trigger in (window.panes.early, window.panes.late))


def counts_news(window: Window) -> bool:
    """Whether the news of a window has to be known by itself."""
    return holds_back(window) or window.panes.mode == "discarding"


def frame_news(
    partials: DataFrame, last: DataFrame, *, pipeline: Pipeline, concerns: Sequence[Concern]
) -> DataFrame:
    """The news of windows made of frames: key, `RESULT_BOUNDS`, `_news`, a struct of the results of the news
    alone, their `event_count`, `_since`, from when the news waits, `_newest` and `_oldest`, where its last
    and its first batch end.

    `partials` are the partial frames under the windows concerned, with `CAME`: fine ones, none for coarser
    frames to stand for.
    """
    fine = [replace(concern, coarser_us=None) for concern in concerns]
    windows = F.inline(F.concat(*[windows_over(concern, pipeline) for concern in fine]))
    own = (*pipeline.key, *part_columns(pipeline.aggregates), "event_count", "batch_end", CAME)
    there = partials.where("event_count > 0")
    given = there.select(*own, windows).select(*own, *bounds(pipeline))
    same = same_place(PUBLISHED, (*pipeline.key, *RESULT_BOUNDS))
    return _news(given.join(_standing(last, pipeline), on=same, how="left"), last, pipeline=pipeline)


def session_news(
    partials: DataFrame, last: DataFrame, *, sessions: DataFrame, pipeline: Pipeline
) -> DataFrame:
    """The same of sessions, given the partial sessions of the same keys.

    Those that a session came from tell what of it has been published, and from when its news waits, also
    where another piece of them has taken them back.
    """
    targets = sessions.select(*[F.col(name).alias(f"{OF}{name}") for name in (*pipeline.key, *RESULT_BOUNDS)])
    of_key = (*pipeline.key, "window")
    own = (*of_key, *part_columns(pipeline.aggregates), "event_count", "batch_end", CAME)
    held = partials.where("event_count > 0").join(
        targets, on=same_place(OF, of_key) & inside("", OF), how="inner"
    )
    place = (*pipeline.key, *RESULT_BOUNDS)
    told = _told(held.select(*place).distinct(), last, pipeline=pipeline)
    found = held.join(told, on=same_place(TOLD, place), how="left")
    return _news(
        found.select(
            *own,
            *[F.col(f"{OF}{name}").alias(name) for name in RESULT_BOUNDS if name != "window"],
            SINCE,
            SINCE_BATCH,
        ),
        last,
        pipeline=pipeline,
    )


def _told(places: DataFrame, last: DataFrame, *, pipeline: Pipeline) -> DataFrame:
    """The places of partial sessions that were ever inside a published one, and when last."""
    place = (*pipeline.key, *RESULT_BOUNDS)
    published = last.where("_told IS NOT NULL").select(
        *[F.col(name).alias(f"{PUBLISHED}{name}") for name in place], "_told"
    )
    inside_of = same_place(PUBLISHED, (*pipeline.key, "window")) & inside("", PUBLISHED)
    newest = (
        places.join(published, on=inside_of, how="inner").groupBy(*place).agg(F.max("_told").alias("_told"))
    )
    return newest.select(
        *[F.col(name).alias(f"{TOLD}{name}") for name in place],
        F.col("_told._started_at").alias(SINCE),
        F.col("_told.batch_end").alias(SINCE_BATCH),
    )


def _standing(last: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The windows that are published, under names of their own."""
    return last.where(F.col("_last.kind") == "insert").select(
        *[F.col(name).alias(f"{PUBLISHED}{name}") for name in (*pipeline.key, *RESULT_BOUNDS)],
        F.col("_last._started_at").alias(SINCE),
        F.col("_last.batch_end").alias(SINCE_BATCH),
    )


def _news(given: DataFrame, last: DataFrame, *, pipeline: Pipeline) -> DataFrame:
    is_news = F.col(SINCE).isNull() | (F.col(CAME) > F.col(SINCE))
    # What came after all that was published around it waits since its own batch, or that of the last pane.
    since = F.when(is_news, F.greatest("batch_end", SINCE_BATCH)).otherwise(F.col(SINCE_BATCH))
    parts = part_columns(pipeline.aggregates)
    fresh = given.select(
        *pipeline.key,
        *RESULT_BOUNDS,
        *[F.when(is_news, F.col(part)).alias(part) for part in parts],
        F.when(is_news, F.col("event_count")).otherwise(F.lit(0)).alias("event_count"),
        since.alias("_since"),
        F.when(is_news & (F.col("event_count") > 0), F.col("batch_end")).alias("_newest"),
    )
    both = fresh.unionByName(_nothing(last, like=fresh, pipeline=pipeline))
    states = both.groupBy(*pipeline.key, *RESULT_BOUNDS).agg(
        *combine_columns(pipeline.aggregates, given.schema),
        F.min("_since").alias("_since"),
        F.max("_newest").alias("_newest"),
        F.min("_newest").alias("_oldest"),
    )
    told = ("event_count", "_since", "_newest", "_oldest")
    said = [*[aggregate.name for aggregate in pipeline.aggregates], *told]
    in_us = states.withColumns(
        {"window_start_us": F.unix_micros("window_start"), "window_end_us": F.unix_micros("window_end")}
    )
    results = finished(in_us.drop("window_start", "window_end"), pipeline)
    return results.select(*pipeline.key, *RESULT_BOUNDS, F.struct(*said).alias("_news"))


def _nothing(last: DataFrame, *, like: DataFrame, pipeline: Pipeline) -> DataFrame:
    """A row without events for each window that is published, so that its news is known to be none."""
    names = part_columns(pipeline.aggregates)
    parts = [F.lit(None).cast(like.schema[name].dataType).alias(name) for name in names]
    return last.where(F.col("_last.kind") == "insert").select(
        *pipeline.key,
        *RESULT_BOUNDS,
        *parts,
        F.lit(0).cast("bigint").alias("event_count"),
        F.col("_last.batch_end").alias("_since"),
        F.lit(None).cast("timestamp").alias("_newest"),
    )
