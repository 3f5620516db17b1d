"""What retention has let go, or may let go at any time, is not asked for again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from pyspark.sql import DataFrame

from pipelines.combine import among_kept
from pipelines.errors import ChooseAnotherBatch, CorrectTheSpec
from pipelines.finalise import kept_sessions
from pipelines.intervals import Interval, floor_to, show_instant
from pipelines.spec import Pipeline, Shape, Sliding
from pipelines.spec.durations import show_duration
from pipelines.spec.places import with_lines
from pipelines.stages.before import stood_before
from pipelines.stages.site import Request, Site, Work
from pipelines.store.ledger_rows import LedgerRow, newest, standing
from pipelines.store.opening import Opening, waiting_latenesses
from pipelines.store.reader import read_ledger
from pipelines.store.retention import (
    first_whole_us,
    forgotten_until_us,
    gone_from,
    remembered_from_us,
    sure_before_us,
    sure_from_us,
)
from pipelines.store.sql import ALL, Instant
from pipelines.store.tables import Folder
from pipelines.windows import session_windows, whole_after_us

By = Literal["frame_end", "window_end"]
"""Where a partial frame, or a partial session, ends."""


def kept_now_us(store: Folder, pipeline: Pipeline, *, rows: Sequence[LedgerRow]) -> int | None:
    """Up to which end batches that have run cannot run again, as the ledger stands; `None`: all can."""
    last = newest(row for row in rows if row.status == "published")
    if last is None:
        return None
    return sure_from_us(
        store,
        pipeline,
        watermark_us=last.watermark_after_us,
        newest_end_us=last.batch.end_us,
        latenesses=waiting_latenesses(rows),
    )


def without_gone(
    site: Site, requests: Sequence[Request], *, leaves_out: Callable[[Request], None]
) -> Iterator[Request]:
    """The requests one after the other, each once the one before it is done: but those of batches that have
    run and are older by then than what is kept, of which `leaves_out` is told. So a command of many batches
    that was cut off, and is said again, goes on behind them. Where all are such, all are given.
    """
    gone = _gone(site, requests)
    are_all = len(gone) == len(requests)
    for request in requests:
        if request.batch in gone and not are_all:
            leaves_out(request)
            continue
        yield request
        gone = _gone(site, requests)


def _gone(site: Site, requests: Sequence[Request]) -> set[Interval]:
    """Of the batches of many requests those that have run and are older than what is kept."""
    may_be = site.declared.retention.frames_us is not None or gone_from(site.tables) is not None
    if len(requests) == 1 or not may_be:
        return set()
    rows = read_ledger(site.store, site.declared.name)
    kept_us = kept_now_us(site.tables, site.declared, rows=rows)
    if kept_us is None:
        return set()
    done = {row.batch for row in standing(rows) if row.status == "published"}
    return {it.batch for it in requests if it.batch in done and it.batch.end_us <= kept_us}


def refuse_beyond_retention(site: Site, opening: Opening, *, rows: Sequence[LedgerRow]) -> None:
    """Raise `ChooseAnotherBatch` where the batch may need frames or ids that are gone, `CorrectTheSpec` where
    a new window does. `rows` is the ledger.
    """
    kept_us = sure_before_us(site.tables, site.pipeline, opening=opening)
    if opening.restated and kept_us is not None:
        _refuse_older(opening, kept_us)
        if any(it.event_id is not None and it.event_id.within_us is not None for it in site.pipeline.sources):
            _refuse_forgotten(opening, remembered_from_us(rows, kept_us=kept_us))
    problems = tuple(_not_remembered(site, opening.batch))
    if problems and opening.restated:
        raise ChooseAnotherBatch(f"batch {opening.batch}: {'; '.join(problems)}")
    problems += tuple(_cut_off(site, opening)) if opening.changes.new_windows else ()
    if problems:
        raise CorrectTheSpec(site.pipeline.path.name, with_lines(problems, site.pipeline))


def of_what_is_kept(work: Work, whose: str) -> str:
    """The predicate that a partial frame is one of those, and none of what upkeep has let go, where a batch
    reaches back: of that only parts may be there.
    """
    gone = work.gone_behind
    if gone is None:
        return whose
    return f"{whose} AND (frame_end IS NULL OR frame_end > {Instant(gone.until_us)})"


def touched_of(work: Work, changed: DataFrame, *, sessions: DataFrame) -> DataFrame:
    """Of the changed partial sessions of the batch those around which sessions are built anew."""
    gone, windows = work.gone_behind, session_windows(work.pipeline)
    if gone is None:
        return changed
    return among_kept(changed, sessions, windows=windows, key=work.pipeline.key, gone=gone)


def of_no_session_that_has_gone(work: Work) -> str:
    """The predicate that a partial session is none that upkeep keeps beside a session that it has let go, for
    a batch that may run again.
    """
    gone = None if work.gone is None else work.gone.sessions
    if gone is None:
        return ALL
    return f"(window_end > {Instant(gone.before_us)} OR batch_start >= {Instant(gone.newest_us)})"


def of_sessions_that_are_kept(work: Work, states: DataFrame) -> DataFrame:
    """Of the states of sessions those that end after what has gone, and those that the batch has changed."""
    if work.gone is None:
        return states
    stood = stood_before(work, "sessions")
    return kept_sessions(states, stood, kept_us=work.gone.until_us, pipeline=work.pipeline)


def lost_until_us(work: Work, *, by: By) -> int | None:
    """Up to which end a batch that reaches back may bring partial states of windows that begin before all is
    kept, so that nobody publishes them any more; `None`: it does not, or nothing has gone.
    """
    if by == "window_end":
        return None if work.gone_behind is None else work.gone_behind.until_us
    kept_us = work.first_whole_us if work.reaches_back else None
    if kept_us is None:
        return None
    ends = [_last_end_us(it.shape, kept_us) for it in work.pipeline.windows if it.time == "event"]
    return max([kept_us, *ends])


def warn_of_lost(work: Work) -> None:
    """Have it told, once a stage, that there are such states, or were before."""
    if work.first_whole_us is None:
        return
    warning = (
        f"batch {work.batch} changes windows that begin before {show_instant(work.first_whole_us)}, of "
        "which `retention` lets frames or sessions go: what was published of them stands as it was, and "
        "nothing new of them is published. `sash run … --rebuild` computes all anew"
    )
    if warning not in work.warned:
        work.warned.append(warning)


def _last_end_us(shape: Shape, kept_us: int) -> int:
    """Where the last of the windows ends that begin before then."""
    after_us = whole_after_us(shape, kept_us)
    if not isinstance(shape, Sliding):
        return after_us
    return floor_to(after_us, shape.step_us, offset_us=shape.offset_us + shape.size_us)


def _refuse_older(opening: Opening, kept_us: int) -> None:
    if opening.batch.end_us <= kept_us:
        raise ChooseAnotherBatch(
            f"batch {opening.batch} is older than what `retention` keeps, which begins at "
            f"{show_instant(kept_us)}: its frames may be gone. {_giving_up(opening)}Run a newer one, or "
            "compute all anew with --rebuild"
        )


def _refuse_forgotten(opening: Opening, from_us: int) -> None:
    if opening.batch.start_us < from_us:
        raise ChooseAnotherBatch(
            f"batch {opening.batch} begins before {show_instant(from_us)}: of the ids that it looks back to "
            f"`retention` may have let some go, so that rows would count twice. {_giving_up(opening)}Run one "
            "that begins then or later, or compute all anew with --rebuild"
        )


def _giving_up(opening: Opening) -> str:
    """What comes first where the batch is unfinished, for all others wait for it."""
    return "" if opening.status is None else "Others wait for it: give it up with `sash abandon`. "


def _not_remembered(site: Site, batch: Interval) -> Iterator[str]:
    """What is wrong with sources that look back to ids which have been let go under another spec."""
    gone_us = forgotten_until_us(site.tables)
    for source in site.pipeline.sources:
        if source.event_id is None or source.name not in gone_us:
            continue
        within_us, ends_us = source.event_id.within_us, gone_us[source.name]
        if within_us is not None and batch.start_us - within_us >= ends_us:
            continue
        nearer = show_duration(max(1, batch.start_us - ends_us))
        yield (
            f"source `{source.name}`: event_id `within` reaches further back than {show_instant(ends_us)}, "
            "and `retention` has let go the ids of before, so that rows could count twice. Say `within: "
            f"{nearer}` or less, or compute all anew with `sash run … --rebuild`"
        )


def _cut_off(site: Site, opening: Opening) -> Iterator[str]:
    """What is wrong with windows that are new over frames of which the oldest are gone."""
    changes, lost_us = opening.changes, first_whole_us(site.tables, site.pipeline, opening=opening)
    if lost_us is None:
        return
    begins = show_instant(lost_us)
    for window in site.pipeline.windows:
        is_whole = window.from_us is not None and window.from_us >= lost_us
        if is_whole or window.name not in changes.new_windows:
            continue
        found, otherwise = "new", ""
        if window.name in changes.reshaped:
            found = "new under a name that was there before"
            otherwise = "Call it otherwise, or all that was published under that name before is taken back. "
        yield (
            f"window `{window.name}` is {found}, and asks for frames before {begins}, which are beyond "
            f"`retention`. {otherwise}Say `from: {begins}` or later in it; or compute all anew with `sash "
            "run … --rebuild`, or give the pipeline a new `name`"
        )
