"""The stage `combine` for sessions: those around what the batch touched are built anew."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from pipelines.accumulate import PROTO
from pipelines.aggregates import part_columns
from pipelines.combine import Standing, areas, combine_sessions, open_after_us, reach_of, reopened, standing
from pipelines.intervals import EARLIEST_US
from pipelines.spec import Window
from pipelines.stages.alone import add, are_alone
from pipelines.stages.before import that_changed, without_cut_off
from pipelines.stages.gates import pass_stage
from pipelines.stages.meeting import is_in_turn, standing_near, touched_by
from pipelines.stages.retained import of_no_session_that_has_gone, touched_of
from pipelines.stages.site import Work
from pipelines.store.asked import days_in
from pipelines.store.rows import from_rows
from pipelines.store.sql import ALL, NONE, Instant, not_after, not_before
from pipelines.store.writes import Place, days_of, merge
from pipelines.windows import keeps_apart, session_windows


def combine_touched_sessions(work: Work, *, whose: str) -> int:
    """Build anew the sessions around partial ones that a predicate tells; returns how many were written."""
    windows, partials = session_windows(work.pipeline), work.tables.read("partial_sessions")
    if _are_whole(work, windows, whose=whose):
        return _take_as_they_are(work, partials, whose=whose)
    sessions, of_batch = work.tables.read("sessions"), partials.where(whose)
    of_run = without_cut_off(work, of_batch, table="partial_sessions", bounds=PROTO)
    # What later batches made of the sessions around the rest stands, for they were judged since.
    changed = that_changed(work, of_run, table="partial_sessions", bounds=PROTO)
    touched = touched_of(work, changed, sessions=sessions)

    def standing_in(reach: str) -> Standing:
        near = sessions.where(reach)
        stand = standing(near, windows, closed_at_us=work.closed_at_us, gone=work.gone)
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
        pass_stage(work, "sessions", candidates=rows.where("event_count > 0"))
        place = Place(on=(*work.pipeline.key, *PROTO), days=days_of(rows, "window_start"))
        return merge(work.tables, "sessions", rows=rows, place=place, fence=work.run.fence("sessions"))
    finally:
        rows.unpersist()
        around.unpersist()


def leave_sessions(work: Work) -> int:
    """Leave what later batches made of the sessions of one that has run alike: they were judged since."""
    pass_stage(work, "sessions", candidates=work.tables.read("sessions").where(NONE), may_be_none=True)
    return 0


def _are_whole(work: Work, windows: Sequence[Window], *, whose: str) -> bool:
    """Whether the partial sessions of a batch are sessions, as there is nothing that they could join."""
    if not work.run.is_first or work.gone_behind is not None or any(keeps_apart(it.shape) for it in windows):
        return False
    return are_alone(work, "sessions", near=touched_by(work, whose), whose=whose)


def _take_as_they_are(work: Work, partials: DataFrame, *, whose: str) -> int:
    is_there = f"({whose}) AND event_count > 0"
    days = days_in(work.tables, "partial_sessions", instant="window_start", where=is_there)
    parts = part_columns(work.pipeline.aggregates)
    rows = partials.where(is_there).select(*work.pipeline.key, *PROTO, *parts, "event_count")
    pass_stage(work, "sessions", candidates=rows)
    return add(work, "sessions", rows=rows, whose=whose, days=days)


def _may_be_open(work: Work) -> str:
    """The predicate that keeps files out which hold closed sessions only, unless these may lose events."""
    if not work.run.is_first:
        return ALL
    after_us = open_after_us(session_windows(work.pipeline), closed_at_us=work.closed_at_us)
    return ALL if after_us is None else f"window_end > {Instant(max(EARLIEST_US, after_us))}"


def _reached(areas: DataFrame) -> tuple[str, str]:
    """The predicates that something lies, or reaches, between the first and the last of the areas."""
    (reach,) = from_rows(reach_of(areas))
    if reach.first_us is None:
        return NONE, NONE
    inside = f"{not_before('window_start', reach.first_us)} AND {not_after('window_end', reach.last_us)}"
    meeting = f"{not_before('window_end', reach.first_us)} AND {not_after('window_start', reach.last_us)}"
    return inside, meeting
