"""The stage `finalise`: frames become panes, those of the windows that the batch made due or corrected.

One read of the frames that cover them, one pass of the strategy, one comparison with what was last
published; then the panes pass their gate, and only then are they written.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from pipelines.finalise import Publication, concern_of, last_published, panes, window_states
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, merge
from pipelines.stages.combining import intervals_of, within
from pipelines.stages.gates import pass_stage
from pipelines.stages.site import Work
from pipelines.stages.watermarks import watermark_of
from pipelines.store.ledger import Run, noted, still_mine
from pipelines.store.sql import is_batch, on_days_of
from pipelines.store.writes import append, days_of, replace

TIMINGS = ("EARLY", "ON_TIME", "LATE")
Counts = dict[str, int]


def finalise_batch(work: Work) -> Counts:
    """Publish the panes of the batch into `panes`; returns their counts by timing."""
    before_us, after_us = (
        work.run.opening.in_force_us,
        _largest(work.run.opening.in_force_us, watermark_of(work)),
    )
    concerns = [
        concern_of(window, before_us=before_us, after_us=after_us, restated=work.run.opening.restated)
        for window in work.pipeline.windows
    ]
    touches = work.request.ignore_lateness or not has_run_alike(work)
    of_batch = work.tables.read("partial_frames").where(is_batch(work.batch) if touches else "false")
    touched = intervals_of(days_of(of_batch, "frame_start") if touches else [])
    needed = merge(interval for concern in concerns for interval in concern.frames(touched))
    frames = work.tables.read("frames").where(within(needed, "frame_start"))
    states = window_states(frames, of_batch, pipeline=work.pipeline, concerns=concerns)
    longest_us = max(concern.sliding.size_us for concern in concerns)
    earlier = work.tables.read("panes").where(within(_reaching(needed, longest_us), "window_start"))
    last = last_published(earlier.where(f"NOT ({_is_this(work.run)})"), work.pipeline)
    publication = Publication(watermark_us=after_us, restated=work.run.opening.restated)
    rows = panes(states, last, pipeline=work.pipeline, publication=publication)
    if work.site.suite.at("panes"):
        rows = rows.persist()
        pass_stage(work, "panes", candidates=rows.where("kind = 'insert'"))
    counts = _write(work, rows)
    rows.unpersist()
    return counts


def has_run_alike(work: Work) -> bool:
    """Whether the batch has run before with the same events, so that it touches nothing."""
    return (
        work.run.opening.before is not None
        and not work.run.opening.covered
        and noted(work.tables, work.run, name="changed") == 0
    )


def _reaching(needed: list[Interval], size_us: int) -> list[Interval]:
    """Where windows start that reach into the intervals."""
    return merge(
        Interval(max(EARLIEST_US, interval.start_us - size_us), min(LATEST_US, interval.end_us))
        for interval in needed
    )


def _write(work: Work, rows: DataFrame) -> Counts:
    counting = Observation()
    timings = [F.count_if(F.col("timing") == timing).alias(timing) for timing in TIMINGS]
    published = rows.observe(counting, *timings).select(
        "*",
        F.timestamp_micros(F.lit(work.batch.start_us)).alias("batch_start"),
        F.timestamp_micros(F.lit(work.batch.end_us)).alias("batch_end"),
        F.lit(work.run.revision).alias("revision"),
    )
    if work.run.is_first:
        append(work.tables, "panes", rows=published, fence=work.run.fence("panes"))
    else:
        where = f"{on_days_of(work.batch)} AND {_is_this(work.run)}"
        replace(work.tables, "panes", rows=published, where=where, fence=work.run.fence("panes"))
    # Delta skips the write of an attempt that was taken over without a word, and nothing was observed then.
    still_mine(work.tables, work.run)
    return {timing: rows for timing, rows in counting.get.items() if rows}


def _largest(one: int | None, other: int | None) -> int | None:
    return max((instant for instant in (one, other) if instant is not None), default=None)


def _is_this(run: Run) -> str:
    return f"{is_batch(run.batch)} AND revision = {run.revision}"
