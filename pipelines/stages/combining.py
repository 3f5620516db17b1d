"""The stage `combine`: partial frames of all sources become frames, and the sources' watermarks the
pipeline's.

Before anything is combined, the events and partial frames of the batch pass their gates; before anything
is written, the frames do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.accumulate import PROTO, at_places, changed_places
from pipelines.aggregates import part_columns
from pipelines.combine import (
    TOUCHED,
    Standing,
    areas,
    combine,
    combine_sessions,
    is_coarser,
    open_after_us,
    reach_of,
    reopened,
    standing,
)
from pipelines.errors import CorrectTheCall
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, to_us
from pipelines.intervals import merge as merge_intervals
from pipelines.spec import Window
from pipelines.stages.before import put_back, stood_before, without_cut_off
from pipelines.stages.coarser import are_new, say_none, say_whole
from pipelines.stages.gates import pass_events, pass_stage
from pipelines.stages.meeting import is_in_turn, standing_near, touched_by
from pipelines.stages.retained import of_no_session_that_has_gone, of_what_is_kept, touched_of
from pipelines.stages.site import Work
from pipelines.stages.watermarks import write_watermark
from pipelines.store import small
from pipelines.store.asked import are_any, days_in
from pipelines.store.progress import finished_stages, stages_before
from pipelines.store.rows import from_rows
from pipelines.store.sql import ALL, NONE, Instant, is_batch, not_after, not_before, text
from pipelines.store.writes import Place, days_of, merge
from pipelines.windows import grids_of, keeps_apart, session_windows

DAY_US = 86_400_000_000
MOST_RANGES = 100
NOTHING = {"event_count": 0, TOUCHED: False}
"""What an empty frame has that is not null."""
PARTIALS = {False: "partial_frames", True: "partial_sessions"}
"""By whether they are of sessions."""
FATES = ("ingested", "accepted", "late", "quarantined", "duplicates")
Counts = dict[str, int]


def combine_batch(work: Work) -> Counts:
    """Combine what the batch touched; returns the counts of frames and sessions."""
    pass_events(work, accumulated(work))
    whose = is_batch(work.batch)
    _refuse_sources_that_are_gone(work, whose)
    of_batch = work.tables.read("partial_frames").where(whose)
    pass_stage(work, "partial_frames", candidates=of_batch.where("event_count > 0"))
    counts = {"frames": combine_touched_frames(work, whose=of_what_is_kept(work, whose))}
    if session_windows(work.pipeline):
        put_back(work, "sessions")
        counts["sessions"] = (
            _leave_sessions(work) if work.has_run_alike else combine_touched_sessions(work, whose=whose)
        )
    else:
        pass_stage(work, "sessions", candidates=work.tables.read("sessions").where(NONE))
    write_watermark(work)
    return counts


def _refuse_sources_that_are_gone(work: Work, whose: str) -> None:
    """Raise `CorrectTheCall` where rows of such a source still stand: the first source takes their place."""
    if work.run.is_first:
        return
    sources = [source.name for source in work.pipeline.sources]
    gone = f"{whose} AND event_count > 0 AND source NOT IN ({', '.join(text(name) for name in sources)})"
    # What was made for windows that are gone too is not looked at any more, nor taken away.
    of_sessions = {grid.of_sessions for grid in grids_of(work.pipeline)}
    for table in [name for is_of, name in PARTIALS.items() if is_of in of_sessions]:
        if are_any(work.tables, table, where=gone):
            raise CorrectTheCall(
                f"batch {work.batch}: the table {table} has rows of a source that the spec no longer has, "
                f"which would count beside the others; run the stage accumulate for {sources[0]} again, "
                "which takes them away"
            )


def combine_touched_frames(work: Work, *, whose: str) -> int:
    """Combine anew the frames of the partial ones that a predicate tells; returns how many were written."""
    # Of places that the batch does not touch any more an earlier attempt may have left frames.
    put_back(work, "frames")
    partials = work.tables.read("partial_frames")
    # Coarser frames of another length are made of all that there are.
    makes_coarser = are_new(work)
    asked = ALL if makes_coarser else whose
    days = days_in(work.tables, "partial_frames", instant="frame_start", where=asked)
    is_checked = bool(work.site.suite.at("frames"))
    # The same partial frames as when the batch ran before make the same frames, which stand.
    stand_already = work.has_run_alike and not makes_coarser and not is_checked
    if not days or stand_already:
        pass_stage(work, "frames", candidates=work.tables.read("frames").where(NONE))
        if stand_already:
            small.say_written(work.tables, "frames", fence=work.run.fence("frames"))
        return 0
    on_days = within(intervals_of(days), "frame_start")
    near = partials.where(on_days).withColumn(TOUCHED, F.expr(whose))
    are_whole = _is_alone(work, "partial_frames", near=on_days, whose=whose)
    frames = combine(near, work.pipeline, are_whole=are_whole)
    if makes_coarser:
        say_none(work)
        frames = _without_others(work, frames)
    else:
        frames = frames.where(TOUCHED)
    if is_checked:
        frames = frames.persist()
    if is_checked or not work.run.is_first:
        fine = (F.col("event_count") > 0) & ~is_coarser()
        pass_stage(work, "frames", candidates=frames.where(F.col(TOUCHED) & fine).drop(TOUCHED))
    place = Place(on=(*work.pipeline.key, "grid", "frame_start", "frame_end"), days=days)
    written = merge(work.tables, "frames", rows=frames, place=place, fence=work.run.fence("frames"))
    frames.unpersist()
    if makes_coarser:
        say_whole(work)
    return written


def _without_others(work: Work, frames: DataFrame) -> DataFrame:
    """The frames, and an empty one for each coarser frame that stands and is none of them."""
    place = [F.col(name) for name in (*work.pipeline.key, "grid", "frame_start", "frame_end")]
    stored = work.tables.read("frames")
    stands = stored.where(is_coarser()).select(*place).exceptAll(frames.select(*place))
    nothing = {
        field.name: F.lit(NOTHING.get(field.name)).cast(field.dataType)
        for field in frames.schema
        if field.name not in stands.columns
    }
    return frames.unionByName(stands.withColumns(nothing).select(*frames.columns))


def _leave_sessions(work: Work) -> int:
    """Leave what later batches made of the sessions of one that has run alike: they were judged since."""
    pass_stage(work, "sessions", candidates=work.tables.read("sessions").where(NONE), may_be_none=True)
    return 0


def combine_touched_sessions(work: Work, *, whose: str) -> int:
    """Build anew the sessions around partial ones that a predicate tells; returns how many were written."""
    windows, partials = session_windows(work.pipeline), work.tables.read("partial_sessions")
    if _are_whole(work, windows, whose=whose):
        return _take_as_they_are(work, partials, whose=whose)
    sessions, of_batch = work.tables.read("sessions"), partials.where(whose)
    changed = _that_changed(work, without_cut_off(work, of_batch, table="partial_sessions", bounds=PROTO))
    touched = touched_of(work, changed, sessions=sessions)

    def standing_in(reach: str) -> Standing:
        near = sessions.where(reach)
        stand = standing(near, windows, watermark_us=work.judged_by_us, gone=work.gone)
        return stand if work.run.is_first else reopened(stand, changed, key=work.pipeline.key)

    opened = _may_be_open(work)
    near = f"({standing_near(work, windows, whose=whose, opened=opened)}) AND {opened}"
    around = areas(
        touched,
        standing_in(near),
        windows=windows,
        key=work.pipeline.key,
        in_turn=is_in_turn(work),
    ).persist()
    inside, meeting = _reached(around)
    # Closed ones too, which may reach out of the areas with intervals of their own inside.
    stand = standing_in(meeting)
    left = partials.where(f"({inside}) AND {of_no_session_that_has_gone(work)}")
    rows = combine_sessions(left, stand, windows=windows, areas=around, pipeline=work.pipeline).persist()
    try:
        return _write_sessions(work, rows, days=days_of(rows, "window_start"))
    finally:
        rows.unpersist()
        around.unpersist()


def _is_alone(work: Work, table: str, *, near: str, whose: str) -> bool:
    """Whether what a batch wrote into a table of partial states is of one source, and beside no others."""
    is_of_one = work.run.is_first and len(work.pipeline.sources) == 1
    return is_of_one and not are_any(work.tables, table, where=f"({near}) AND NOT ({whose})")


def _are_whole(work: Work, windows: Sequence[Window], *, whose: str) -> bool:
    """Whether the partial sessions of a batch are sessions, as there is nothing that they could join."""
    if not work.run.is_first or work.gone_behind is not None or any(keeps_apart(it.shape) for it in windows):
        return False
    near = touched_by(work, whose)
    stands_any = are_any(work.tables, "sessions", where=near)
    return not stands_any and _is_alone(work, "partial_sessions", near=near, whose=whose)


def _take_as_they_are(work: Work, partials: DataFrame, *, whose: str) -> int:
    is_there = f"({whose}) AND event_count > 0"
    days = days_in(work.tables, "partial_sessions", instant="window_start", where=is_there)
    parts = part_columns(work.pipeline.aggregates)
    rows = partials.where(is_there).select(*work.pipeline.key, *PROTO, *parts, "event_count")
    return _write_sessions(work, rows, days=days)


def _write_sessions(work: Work, rows: DataFrame, *, days: Sequence[date]) -> int:
    pass_stage(work, "sessions", candidates=rows.where("event_count > 0"))
    place = Place(on=(*work.pipeline.key, *PROTO), days=days)
    return merge(work.tables, "sessions", rows=rows, place=place, fence=work.run.fence("sessions"))


def _that_changed(work: Work, touched: DataFrame) -> DataFrame:
    """Of the partial sessions of a batch that has run before those that are others now: what later batches
    made of the sessions around the rest stands, for they were judged since.
    """
    opening, stood = work.run.opening, stood_before(work, "partial_sessions")
    if opening.before is None or opening.covered or stood is None:
        return touched
    earlier = stood.where(is_batch(work.batch))
    others = changed_places(touched, earlier, pipeline=work.pipeline, bounds=(*PROTO, "source"))
    # Whatever source they are of: the rows of one that the spec no longer has are another's now.
    return at_places(touched, others, place=(*work.pipeline.key, *PROTO))


def _may_be_open(work: Work) -> str:
    """The predicate that keeps files out which hold closed sessions only, unless these may lose events."""
    if not work.run.is_first:
        return ALL
    after_us = open_after_us(session_windows(work.pipeline), watermark_us=work.judged_by_us)
    return ALL if after_us is None else f"window_end > {Instant(max(EARLIEST_US, after_us))}"


def _reached(areas: DataFrame) -> tuple[str, str]:
    """The predicates that something lies, or reaches, between the first and the last of the areas."""
    (reach,) = from_rows(reach_of(areas))
    if reach.first_us is None:
        return NONE, NONE
    inside = f"{not_before('window_start', reach.first_us)} AND {not_after('window_end', reach.last_us)}"
    meeting = f"{not_before('window_end', reach.first_us)} AND {not_after('window_start', reach.last_us)}"
    return inside, meeting


def accumulated(work: Work) -> Counts:
    """The sums of all sources' counts. Raises `CorrectTheCall` if a source has not been accumulated.

    What was accumulated for a batch that has run stands, until it is accumulated again. Of one that others
    have followed the ledger alone knows, which has no counts of rules.
    """
    done = {
        one.source: one.counts
        for one in (*stages_before(work.tables, work.run), *finished_stages(work.tables, work.run))
        if one.stage == "accumulate" and one.source in {source.name for source in work.pipeline.sources}
    }
    before = work.run.opening.before
    if not done and before is not None:
        return {name: getattr(before, name) or 0 for name in FATES}
    missing = [source.name for source in work.pipeline.sources if source.name not in done]
    if missing:
        raise CorrectTheCall(
            f"batch {work.batch}: source {', '.join(missing)} has not been accumulated; run the stage "
            "accumulate for it first"
        )
    names = sorted({name for counts in done.values() for name in counts})
    return {name: sum(counts.get(name, 0) for counts in done.values()) for name in names}


def intervals_of(days: Iterable[date]) -> list[Interval]:
    """Days as few intervals of event time."""
    starts = [to_us(datetime.combine(day, time())) for day in days]
    return merge_intervals(Interval(start_us, start_us + DAY_US) for start_us in starts)


def within(intervals: Sequence[Interval], column: str) -> str:
    """The predicate that an instant lies in one of the intervals."""
    if not intervals:
        return NONE
    ranges = (
        intervals
        if len(intervals) <= MOST_RANGES
        else [Interval(intervals[0].start_us, intervals[-1].end_us)]
    )
    return " OR ".join(
        f"({not_before(column, it.start_us)} AND {column} < {Instant(min(it.end_us, LATEST_US))})"
        for it in ranges
    )
