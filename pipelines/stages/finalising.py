"""The stage `finalise`: frames and sessions become panes, those of the windows that the batch made due,
corrected, or brought news of.

One read of the frames that cover them, one pass of the strategy, one comparison with what was last
published; then the panes pass their gate, and only then are they written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as replaced

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.finalise import (
    RESULT_BOUNDS,
    Present,
    Publication,
    as_brought,
    as_if_taken_back,
    panes,
    retracted_sessions,
    taken_back,
    with_cut_anew,
    with_values,
)
from pipelines.stages.before import stood_before
from pipelines.stages.concerned import (
    Concerned,
    Group,
    all_states,
    are_idle,
    concerned,
    groups_of,
    publication_of,
)
from pipelines.stages.gates import pass_stage
from pipelines.stages.meeting import told_of
from pipelines.stages.news import all_news, news_of, with_came
from pipelines.stages.retained import of_no_session_that_has_gone
from pipelines.stages.site import Work
from pipelines.stages.told import last_of, of_run, told_before
from pipelines.store import small
from pipelines.store.asked import are_any, counts_in
from pipelines.store.ledger import still_mine
from pipelines.store.sql import NONE, is_of_windows
from pipelines.store.writes import append, replace
from pipelines.windows import keeps_apart

TIMINGS = ("EARLY", "ON_TIME", "LATE")
Counts = dict[str, int]


def finalise_batch(work: Work) -> Counts:
    """Publish the panes of the batch into `panes`; returns their counts by timing."""
    groups = groups_of(work)
    if are_idle(work, groups):
        return _write_none(work)
    found = [concerned(work, group) for group in groups]
    publication = publication_of(work, groups)
    reaches = [it.reach for it in found]
    told = told_before(work, reaches)
    last = last_of(work, told)
    may_be_gone = told != NONE and any(group.of_sessions for group in groups)
    found = _with_cut_anew(work, groups, found=found) if may_be_gone and not publication.restated else found
    kept: list[DataFrame] = []
    if may_be_gone or any(group.with_news for group in groups):
        # What is asked for several times is worked out once; planning it again costs seconds.
        kept += [last.persist(), *[it.states.persist() for it in found]]
    try:
        news = [
            news_of(work, group, found=it, last=last)
            for group, it in zip(groups, found, strict=True)
            if group.with_news
        ]
        last = _with_whole_values(work, last, reach=reaches)
        rows = _told(work, all_states(found), last=last, news=all_news(news), publication=publication)
        if may_be_gone:
            rows = rows.persist()
            kept.append(rows)
            near = [*reaches, told_of(work, told)] if publication.restated else reaches
            gone = _of_sessions_that_are_gone(work, rows, last=last, near=near, publication=publication)
            rows = rows.unionByName(gone)
        rows = _of_run(work, rows)
        if work.site.suite.at("panes"):
            rows = rows.persist()
            kept.append(rows)
        pass_stage(work, "panes", candidates=rows.where("kind = 'insert'"), may_be_none=work.has_run_alike)
        return _write(work, rows)
    finally:
        # The last first: whatever is kept and made of another would be planned anew without it.
        for one in reversed(kept):
            one.unpersist()


def _with_cut_anew(work: Work, groups: Sequence[Group], *, found: Sequence[Concerned]) -> list[Concerned]:
    """What was found, where sessions are marked that did not stand before the batch."""
    if not any(keeps_apart(it.shape) for it in work.pipeline.windows):
        return [*found]
    stood = stood_before(work, "sessions")

    def marked(it: Concerned) -> Concerned:
        near = None if stood is None else stood.where(it.reach)
        return replaced(it, states=with_cut_anew(it.states, near, pipeline=work.pipeline))

    return [marked(it) if group.of_sessions else it for group, it in zip(groups, found, strict=True)]


def _told(
    work: Work, states: DataFrame, *, last: DataFrame, news: DataFrame | None, publication: Publication
) -> DataFrame:
    """The panes of the windows concerned, and the retracts of those whose definition has another shape."""
    if not publication.reshaped:
        return panes(states, last, news=news, pipeline=work.pipeline, publication=publication)
    gone = taken_back(last, pipeline=work.pipeline, publication=publication)
    last = as_if_taken_back(last, publication=publication)
    there = panes(states, last, news=news, pipeline=work.pipeline, publication=publication)
    return there.unionByName(as_brought(gone, there, pipeline=work.pipeline))


def _of_sessions_that_are_gone(
    work: Work, rows: DataFrame, *, last: DataFrame, near: Sequence[str], publication: Publication
) -> DataFrame:
    where = " OR ".join(f"({it})" for it in near)
    sessions, partials = (work.tables.read(it).where(where) for it in ("sessions", "partial_sessions"))
    partials = partials.where(of_no_session_that_has_gone(work))
    present = Present(sessions=sessions, partials=with_came(work, partials))
    return retracted_sessions(rows, last, present=present, pipeline=work.pipeline, publication=publication)


def _with_whole_values(work: Work, last: DataFrame, *, reach: Sequence[str]) -> DataFrame:
    """What was last published, whole: panes of a window that is discarding, or once was, carry no more than
    its news.

    `windows` has the whole value, as it was before the run, of which an earlier attempt may have changed it.
    """
    was_respelled, windows = work.was_respelled, work.pipeline.windows
    names = [window.name for window in windows if was_respelled or window.panes.mode == "discarding"]
    if not names:
        return last
    near = " OR ".join(f"({it})" for it in reach)
    of_windows = f"{is_of_windows(names)} AND ({near})"
    said = [aggregate.name for aggregate in work.pipeline.aggregates]
    columns = [*work.pipeline.key, *RESULT_BOUNDS, *said, "event_count"]
    stood = None if work.run.is_first else stood_before(work, "windows")
    stood = work.tables.read("windows") if stood is None else stood
    return with_values(last, stood.where(of_windows).select(*columns), pipeline=work.pipeline)


def _of_run(work: Work, rows: DataFrame) -> DataFrame:
    return rows.select(
        "*",
        F.timestamp_micros(F.lit(work.batch.start_us)).alias("batch_start"),
        F.timestamp_micros(F.lit(work.batch.end_us)).alias("batch_end"),
        F.lit(work.run.revision).alias("revision"),
    )


def _write_none(work: Work) -> Counts:
    none = work.tables.read("panes").where(NONE)
    pass_stage(work, "panes", candidates=none, may_be_none=work.has_run_alike)
    # Lest an attempt that was taken over writes some once they have been looked for.
    small.say_written(work.tables, "panes", fence=work.run.fence("panes").of_older())
    if are_any(work.tables, "panes", where=of_run(work)):
        return _write(work, none)
    small.say_written(work.tables, "panes", fence=work.run.fence("panes"))
    still_mine(work.tables, work.run)
    return {}


def _write(work: Work, rows: DataFrame) -> Counts:
    where = of_run(work)
    if work.run.is_first:
        append(work.tables, "panes", rows=rows, fence=work.run.fence("panes"))
    else:
        replace(work.tables, "panes", rows=rows, where=where, fence=work.run.fence("panes"))
    # Delta skips the write of an attempt that was taken over without a word.
    still_mine(work.tables, work.run)
    counts = counts_in(work.tables, "panes", column="timing", where=where)
    return {timing: counts[timing] for timing in TIMINGS if timing in counts}
