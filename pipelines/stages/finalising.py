"""The stage `finalise`: frames and sessions become panes, those of the windows that the batch made due or
corrected.

One read of the frames that cover them, one pass of the strategy, one comparison with what was last
published; then the panes pass their gate, and only then are they written.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from pipelines.finalise import (
    Concern,
    Publication,
    all_of,
    concern_of,
    last_published,
    panes,
    retracted_sessions,
    session_states,
    window_states,
)
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, merge
from pipelines.spec import Cumulate, Session, Sliding, Window
from pipelines.stages.combining import intervals_of, within
from pipelines.stages.gates import pass_stage
from pipelines.stages.site import Work
from pipelines.stages.watermarks import watermark_of
from pipelines.store.ledger import Run, noted, still_mine
from pipelines.store.sql import Instant, is_batch, on_days_of, text
from pipelines.store.writes import append, days_of, replace

TIMINGS = ("EARLY", "ON_TIME", "LATE")
Counts = dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How far a watermark had come before the batch, and how far it has after it."""

    before_us: int | None
    after_us: int | None


def finalise_batch(work: Work) -> Counts:
    """Publish the panes of the batch into `panes`; returns their counts by timing."""
    by_event, by_arrival = _reached(work)
    concerns = [
        _concern(work, window, reached=by_arrival if window.time == "arrival" else by_event)
        for window in work.pipeline.windows
    ]
    of_sessions = [it for it in concerns if isinstance(it.window.shape, Session)]
    of_frames = [it for it in concerns if it not in of_sessions]
    publication = Publication(
        watermark_us=by_event.after_us,
        arrival_us=by_arrival.after_us,
        restated=work.run.opening.restated,
    )
    touches = work.request.ignore_lateness or not has_run_alike(work)
    whose = is_batch(work.batch) if touches else "false"
    states, reach = [], "false"
    if of_frames:
        of_windows, reach = _of_frames(work, of_frames, whose=whose)
        states.append(of_windows)
    sessions = work.tables.read("sessions")
    if of_sessions:
        touched = work.tables.read("partial_sessions").where(whose)
        states.append(session_states(sessions, touched, pipeline=work.pipeline, concerns=of_sessions))
        reach = f"{reach} OR {_of_windows(of_sessions)}"
    earlier = work.tables.read("panes").where(f"({reach}) AND NOT ({_is_this(work.run)})")
    last = last_published(earlier, work.pipeline, runs=work.tables.read("runs"))
    rows = panes(all_of(states), last, pipeline=work.pipeline, publication=publication)
    if of_sessions:
        rows = rows.persist()
        gone = retracted_sessions(
            rows, last, sessions=sessions, pipeline=work.pipeline, restated=publication.restated
        )
        rows = rows.unionByName(gone)
    if work.site.suite.at("panes"):
        rows = rows.persist()
        pass_stage(work, "panes", candidates=rows.where("kind = 'insert'"))
    counts = _write(work, rows)
    rows.unpersist()
    return counts


def _reached(work: Work) -> tuple[Reached, Reached]:
    """How far event time has come, and arrival time: that is where batches end, until all is closed."""
    opening = work.run.opening
    after_us = _largest(opening.in_force_us, watermark_of(work))
    ends = (opening.newest_end_us, opening.in_force_us if opening.in_force_us == LATEST_US else None)
    before_arrival_us = _largest(*ends)
    final_us = after_us if after_us == LATEST_US else None
    return (
        Reached(before_us=opening.in_force_us, after_us=after_us),
        Reached(
            before_us=before_arrival_us, after_us=_largest(before_arrival_us, work.batch.end_us, final_us)
        ),
    )


def _concern(work: Work, window: Window, *, reached: Reached) -> Concern:
    return concern_of(
        window, before_us=reached.before_us, after_us=reached.after_us, restated=work.run.opening.restated
    )


def _of_frames(work: Work, concerns: list[Concern], *, whose: str) -> tuple[DataFrame, str]:
    """The states of windows made of frames, and where their panes are found."""
    of_batch = work.tables.read("partial_frames").where(whose)
    touched = intervals_of(days_of(of_batch, "frame_start") if whose != "false" else [])
    shared = [it for it in concerns if isinstance(it.window.shape, Sliding | Cumulate)]
    own = [it for it in concerns if it not in shared]
    needed = merge(interval for concern in shared for interval in concern.frames(touched))
    longest_us = max((concern.size_us for concern in shared), default=0)
    covering = [within(needed, "frame_start")]
    reaching = [within(_reaching(needed, longest_us), "window_start")]
    for concern in own:
        name = text(concern.window.name)
        covering.append(f"(grid = {name} AND ({_due_or_touched(concern, touched, what='frame')}))")
        of_windows = _due_or_touched(concern, touched, what="window")
        reaching.append(f"(window = {name} AND (window_start IS NULL OR {of_windows}))")
    frames = work.tables.read("frames").where(" OR ".join(covering))
    states = window_states(frames, of_batch, pipeline=work.pipeline, concerns=concerns)
    return states, " OR ".join(f"({it})" for it in reaching)


def _due_or_touched(concern: Concern, touched: list[Interval], *, what: str) -> str:
    due = "false"
    if concern.due_until_us is not None and concern.due_until_us != concern.due_after_us:
        due = f"{what}_end <= {Instant(concern.due_until_us)}"
        if concern.due_after_us is not None:
            due = f"({due} AND {what}_end > {Instant(concern.due_after_us)})"
    return f"{within(touched, f'{what}_start')} OR {due}"


def _of_windows(concerns: list[Concern]) -> str:
    return f"window IN ({', '.join(text(concern.window.name) for concern in concerns)})"


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


def _largest(*instants: int | None) -> int | None:
    return max((instant for instant in instants if instant is not None), default=None)


def _is_this(run: Run) -> str:
    return f"{is_batch(run.batch)} AND revision = {run.revision}"
