"""The stage `combine`: partial frames of all sources become frames, and the sources' watermarks the
pipeline's.

Before anything is combined, the events and partial frames of the batch pass their gates; before anything
is written, the frames do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.combine import TOUCHED, combine, has_coarser, is_coarser
from pipelines.errors import CorrectTheCall
from pipelines.intervals import LATEST_US, Interval, to_us
from pipelines.intervals import merge as merge_intervals
from pipelines.spec import changes_between, state_fingerprint
from pipelines.stages.alone import add, are_alone
from pipelines.stages.before import put_back
from pipelines.stages.coarser import are_new, say_none, say_whole
from pipelines.stages.combining_sessions import combine_touched_sessions, leave_sessions
from pipelines.stages.gates import pass_events, pass_stage
from pipelines.stages.lines import many
from pipelines.stages.partials import PARTIALS, is_asked_for
from pipelines.stages.retained import of_what_is_kept
from pipelines.stages.same_again import FATES
from pipelines.stages.site import Work
from pipelines.stages.watermarks import write_watermark
from pipelines.store import small
from pipelines.store.asked import are_any, stretches_in
from pipelines.store.progress import finished_stages, stages_before
from pipelines.store.sql import ALL, NONE, Instant, is_batch, not_before, text
from pipelines.store.writes import Place, merge
from pipelines.windows import session_windows

DAY_US = 86_400_000_000
MOST_RANGES = 100
NOTHING = {"event_count": 0, TOUCHED: False}
"""What an empty frame has that is not null."""
Counts = dict[str, int]


def combine_batch(work: Work) -> Counts:
    """Combine what the batch touched; returns the counts of frames and sessions."""
    counted = accumulated(work)
    pass_events(work, counted)
    _refuse_fewer(work, counted)
    refuse_sources_that_are_gone(work)
    whose = is_batch(work.batch)
    # What was made for windows that are gone is not looked at any more.
    of_frames, of_sessions = (f"{whose} AND {is_asked_for(work.pipeline, it)}" for it in PARTIALS)
    of_batch = work.tables.read("partial_frames").where(of_frames)
    pass_stage(work, "partial_frames", candidates=of_batch.where("event_count > 0"))
    counts = {"frames": combine_touched_frames(work, whose=of_what_is_kept(work, of_frames))}
    # Also where there are none any more.
    put_back(work, "sessions")
    if session_windows(work.pipeline):
        counts["sessions"] = (
            leave_sessions(work) if work.has_run_alike else combine_touched_sessions(work, whose=of_sessions)
        )
    else:
        pass_stage(work, "sessions", candidates=work.tables.read("sessions").where(NONE))
    write_watermark(work, counted)
    return counts


def _refuse_fewer(work: Work, counted: Counts) -> None:
    """Raise `CorrectTheCall` where late events are to be taken in and rows that counted are not there any
    more, which would be taken back. Who replays quarantined rows may have mended files, so that some of those
    are gone, or of another batch; who loses more is told, as is who has the rows read otherwise, or runs the
    batch again by its bounds.
    """
    before = work.run.opening.before
    if before is None:
        return
    rows, then = counted["ingested"], before.ingested or 0
    told = f"batch {work.batch} has {many(rows, 'row')} now, and had {then:,} when it last ran"
    # What was quarantined, and what came more than once, counted nowhere.
    counts, did_count = counted["accepted"] + counted["late"], (before.accepted or 0) + (before.late or 0)
    loses, now = rows < then and counts < did_count, state_fingerprint(work.pipeline)
    is_read_alike = not changes_between(before.spec_fingerprint, now).read_otherwise
    is_about_late = work.request.replays == "late"
    if loses and is_about_late and is_read_alike:
        raise CorrectTheCall(
            f"{told}: the others would be taken back. Put back what is gone and say this again. If there are "
            "to be fewer, run it by its bounds: `sash run SPEC --from … --to … --ignore-lateness`; if all is "
            "to stay as it was, give this run up: `sash abandon SPEC --from … --to …`"
        )
    if loses or (is_about_late and rows < then):
        work.warned.append(f"{told}: what had counted, and is not there any more, is taken back")


def refuse_sources_that_are_gone(work: Work) -> None:
    """Raise `CorrectTheCall` where rows of such a source still stand: the first source takes their place."""
    if work.run.is_first:
        return
    sources = [source.name for source in work.pipeline.sources]
    others = f"source NOT IN ({', '.join(text(name) for name in sources)})"
    gone = f"{is_batch(work.batch)} AND event_count > 0 AND {others}"
    for table in PARTIALS:
        if are_any(work.tables, table, where=f"{gone} AND {is_asked_for(work.pipeline, table)}"):
            raise CorrectTheCall(
                f"batch {work.batch}: the table {table} has rows of a source that the spec no longer has, "
                f"which would count beside the others; run the stage accumulate for {sources[0]} again, "
                "which takes them away"
            )


def combine_touched_frames(work: Work, *, whose: str) -> int:
    """Combine anew the frames of the partial ones that a predicate tells; returns how many were written."""
    # Of places that the batch does not touch any more an earlier attempt may have left frames.
    put_back(work, "frames")
    # Coarser frames of another length are made of all that there are.
    makes_coarser = are_new(work)
    asked = ALL if makes_coarser else whose
    stretches = stretches_in(work.tables, "partial_frames", instant="frame_start", where=asked)
    is_checked = bool(work.site.suite.at("frames"))
    # The same partial frames as when the batch ran before make the same frames, which stand.
    stand_already = work.has_run_alike and not makes_coarser and not is_checked
    if not stretches or stand_already:
        pass_stage(work, "frames", candidates=work.tables.read("frames").where(NONE))
        if stand_already:
            small.say_written(work.tables, "frames", fence=work.run.fence("frames"))
        return 0
    # Where the first frame that is touched begins, a coarser one need not.
    are_two_lengths = makes_coarser or has_coarser(work.pipeline)
    days, together = [*stretches], in_runs(stretches, whole_days=are_two_lengths)
    near = within(together, "frame_start")
    of_near = work.tables.read("partial_frames").where(near).withColumn(TOUCHED, F.expr(whose))
    are_whole = are_alone(work, "frames", near=near, whose=whose)
    frames = combine(of_near, work.pipeline, are_whole=are_whole)
    if are_whole and not (is_checked or are_two_lengths):
        return add(work, "frames", rows=frames, whose=whose, days=days)
    if makes_coarser:
        say_none(work)
    frames = _without_others(work, frames) if makes_coarser else frames.where(TOUCHED)
    if is_checked:
        frames = frames.persist()
    if is_checked or not work.run.is_first:
        fine = (F.col("event_count") > 0) & ~is_coarser()
        pass_stage(work, "frames", candidates=frames.where(F.col(TOUCHED) & fine).drop(TOUCHED))
    on = (*work.pipeline.key, "grid", "frame_start", "frame_end")
    place = Place(on=on, days=days, near=within(together, "old.frame_start"))
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


def in_runs(stretches: Mapping[date, Interval], *, whole_days: bool = False) -> list[Interval]:
    """Stretches of days, or those days, as few intervals of event time: one for days in a row."""
    numbers = {day.toordinal() for day in stretches}
    runs = []
    for day, of_day in stretches.items():
        whole = _whole(day)
        stretch = whole if whole_days else of_day
        start_us = whole.start_us if day.toordinal() - 1 in numbers else stretch.start_us
        end_us = whole.end_us if day.toordinal() + 1 in numbers else stretch.end_us
        runs.append(Interval(start_us, end_us))
    return merge_intervals(runs)


def _whole(day: date) -> Interval:
    start_us = to_us(datetime.combine(day, time()))
    return Interval(start_us, start_us + DAY_US)


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
