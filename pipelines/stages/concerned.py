"""The windows that a batch is about, read from the store: their states, their news, and what was last
published of them.

Reads are pruned to the frames under them. Where triggers hold news back, frames that older batches touched
count as touched too, as far back as news can have waited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from pipelines.accumulate import FRAME, PROTO, marked
from pipelines.aggregates import BY_CHANCE
from pipelines.finalise import (
    CORRECTED,
    Concern,
    Publication,
    all_of,
    counts_news,
    session_states,
    window_states,
    with_remade,
)
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, merge, without
from pipelines.spec import Cumulate, Every, Sliding
from pipelines.stages.before import changed_before, stood_before, version_before, without_cut_off
from pipelines.stages.combining import in_runs, within
from pipelines.stages.meeting import due_or_near, overlapping, standing_near, touched_by
from pipelines.stages.reached import concern_in, reached
from pipelines.stages.retained import of_sessions_that_are_kept
from pipelines.stages.site import Work
from pipelines.store.asked import are_any, first_of, stretches_in
from pipelines.store.sql import ALL, NONE, Instant, is_batch, is_of_windows, not_after, text
from pipelines.windows import cuts_freely, grace_us, grid_of, merges


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """The states of the windows concerned, and predicates: where `panes` tell of them, and which frames or
    partial sessions are under them.
    """

    states: DataFrame
    reach: str
    covering: str = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Definitions that are looked at together.

    Of frames or of sessions, and with news that has to be counted or not.
    """

    concerns: tuple[Concern, ...]
    of_sessions: bool
    with_news: bool

    def is_about(self, names: Sequence[str]) -> bool:
        """Whether a definition of one of these names is in it."""
        return any(concern.window.name in names for concern in self.concerns)


def publication_of(work: Work, groups: Sequence[Group]) -> Publication:
    """What holds for all panes of the batch."""
    concerns = [it for group in groups for it in group.concerns]
    late = [it for it in concerns if _tells_of_closed(work, it)]
    shorter = [it for it in concerns if it not in late or not work.takes_all]
    by_event, by_arrival = reached(work)
    return Publication(
        batch_end_us=work.batch.end_us,
        by_event=by_event,
        by_arrival=by_arrival,
        restated=work.restates,
        brings_nothing=work.has_run_alike,
        new_windows=work.run.opening.changes.new_windows,
        reshaped=work.run.opening.changes.reshaped,
        gone=work.gone,
        cut_short={it.window.name: it.cut_short_us for it in shorter if it.cut_short_us is not None},
        taking_late={it.window.name: it.closed_before_us for it in late if it.closed_before_us is not None},
        counted=tuple(it.window.name for group in groups if group.with_news for it in group.concerns),
    )


def _tells_of_closed(work: Work, concern: Concern) -> bool:
    """Whether windows that had closed may be published by a batch in its turn: lateness is ignored, or a part
    of an open one is cut off that ended long ago.
    """
    return (work.takes_all or cuts_freely(concern.window.shape)) and not work.restates


def groups_of(work: Work) -> list[Group]:
    """What the batch is about, definition by definition."""
    by_event, by_arrival = reached(work)
    concerns = [
        concern_in(work, window, reached=by_arrival if window.time == "arrival" else by_event)
        for window in work.pipeline.windows
    ]
    sorts: dict[tuple[bool, bool, bool], list[Concern]] = {}
    for it in concerns:
        is_new = it.window.name in work.run.opening.changes.new_windows
        sort = (merges(it.window.shape), _needs_news(work, it), is_new)
        sorts.setdefault(sort, []).append(it)
    return [
        Group(concerns=tuple(mine), of_sessions=of_sessions, with_news=with_news)
        for (of_sessions, with_news, _), mine in sorts.items()
    ]


def concerned(work: Work, group: Group) -> Concerned:
    """The windows of a group that the batch makes due, corrected or early."""
    whose = _touching(work, group)
    if not group.of_sessions:
        return _of_frames(work, group.concerns, whose=whose)
    return _of_sessions(work, group.concerns, whose=whose)


def are_idle(work: Work, groups: Sequence[Group]) -> bool:
    """Whether nothing was touched, becomes due or closes, so that no window has anything to publish."""
    touching = all(_touching(work, group) == NONE for group in groups)
    return touching and all(it.is_idle for group in groups for it in group.concerns)


def all_states(found: Sequence[Concerned]) -> DataFrame:
    """The states of several groups as one."""
    return all_of([it.states for it in found])


def _needs_news(work: Work, concern: Concern) -> bool:
    """A restatement publishes what changed, at once and whole; of a new definition all is."""
    opening = work.run.opening
    if work.restates or concern.window.name in opening.changes.new_windows:
        return False
    return work.changes.new_triggers or counts_news(concern.window)


def _touching(work: Work, group: Group) -> str:
    """The predicate that a partial frame or session may be news."""
    opening = work.run.opening
    if group.is_about(opening.changes.new_windows) or (group.with_news and work.changes.new_triggers):
        return ALL
    whose = NONE if work.has_run_alike else is_batch(work.batch)
    if not work.restates and whose != NONE:
        # What an attempt wrote that was stopped, and this one has not found again, nobody has been told of.
        whose = f"{whose} AND event_count > 0"
    waits = [
        trigger.every_us
        for it in group.concerns
        for trigger in (it.window.panes.early, it.window.panes.late)
        if isinstance(trigger, Every)
    ]
    if not group.with_news or not waits or opening.newest_end_us is None:
        return whose
    # What came earlier had waited long enough by the last batch in turn, so it was published then.
    since_us = EARLIEST_US if opening.in_turn_end_us is None else opening.in_turn_end_us - max(waits)
    return f"({whose}) OR batch_end > {Instant(max(EARLIEST_US, since_us))}"


def _of_frames(work: Work, concerns: Sequence[Concern], *, whose: str) -> Concerned:
    """Windows made of frames."""
    of_batch = work.tables.read("partial_frames").where(whose)
    touched = in_runs(stretches_in(work.tables, "partial_frames", instant="frame_start", where=whose))
    shared = [it for it in concerns if isinstance(it.window.shape, Sliding | Cumulate)]
    own = [it for it in concerns if it not in shared]
    needed = merge(interval for concern in shared for interval in concern.frames(touched))
    longest_us = max((concern.size_us for concern in shared), default=0)
    covering = [within(needed, "frame_start")]
    fine = merge(it for concern in shared for it in without(concern.frames(touched), concern.core))
    reading = [within(fine, "frame_start"), *_of_cores(work, shared)]
    reaching = [within(_reaching(needed, longest_us), "window_start")]
    for concern in own:
        name = text(concern.window.name)
        of_frames = f"(grid = {name} AND ({_due_or_touched(concern, touched, what='frame')}))"
        covering.append(of_frames)
        reading.append(of_frames)
        of_windows = _due_or_touched(concern, touched, what="window")
        reaching.append(f"(window = {name} AND (window_start IS NULL OR {of_windows}))")
    frames = work.tables.read("frames").where(" OR ".join(reading))
    marks = None
    if _ask_what_was_touched(work, concerns, whose=whose):
        marks = _marks(work, concerns, of_batch=of_batch, whose=whose, bounds=FRAME)
    states = window_states(frames, marks, pipeline=work.pipeline, concerns=concerns)
    reach = " OR ".join(f"({it})" for it in reaching)
    if any(it.window.name in work.run.opening.changes.reshaped for it in concerns):
        reach = ALL
    # Definitions of other groups may start at the same times.
    return Concerned(
        states=states, reach=f"({_of_windows(concerns)}) AND ({reach})", covering=" OR ".join(covering)
    )


def _marks(
    work: Work, concerns: Sequence[Concern], *, of_batch: DataFrame, whose: str, bounds: Sequence[str]
) -> DataFrame:
    """What the batch has touched; also what it has corrected, where some may wait that it only restates, or
    come out otherwise of the same events.
    """
    table = "partial_frames" if bounds == FRAME else "partial_sessions"
    touched = without_cut_off(work, of_batch, table=table, bounds=bounds)
    may_wait = any(it.is_early or it.closing is not None for it in concerns)
    is_asked = may_wait or any(it.op in BY_CHANCE for it in work.pipeline.aggregates)
    # Of a definition that is new all is told.
    if not work.restates or whose == ALL or not is_asked:
        return touched
    others = changed_before(work, touched, table=table, bounds=bounds)
    return touched if others is None else marked(touched, others, mark=CORRECTED)


def _ask_what_was_touched(work: Work, concerns: Sequence[Concern], *, whose: str) -> bool:
    """Whether windows may publish because the batch touched them, and not only because they are due."""
    if any(it.is_early for it in concerns):
        return True
    due_us = max((it.due_after_us for it in concerns if it.due_after_us is not None), default=None)
    first_us = first_of(work.tables, "partial_frames", instant="frame_start", where=whose)
    return due_us is not None and first_us is not None and first_us <= due_us


def _of_cores(work: Work, concerns: Sequence[Concern]) -> Iterator[str]:
    """The predicates on the coarser frames that lie in all windows of a concern."""
    for concern in concerns:
        coarser = grid_of(work.pipeline, concern.window.name).coarser
        if concern.core is not None and coarser is not None:
            yield f"(grid = {text(coarser)} AND ({within([concern.core], 'frame_start')}))"


def _of_sessions(work: Work, concerns: Sequence[Concern], *, whose: str) -> Concerned:
    """Windows that grow together."""
    meets, opened = touched_by(work, whose), _may_end(concerns)
    cut = [it for it in concerns if _tells_of_closed(work, it)]
    version = version_before(work, "sessions") if cut else None
    near = standing_near(work, [it.window for it in concerns], whose=whose, opened=opened, version=version)
    may_tell = f"({opened} OR ({_of_windows(cut)} AND ({near})))" if cut else opened
    which = f"{_of_windows(concerns)} AND {may_tell} AND ({due_or_near(concerns, near)})"
    touched = None
    if _are_any_but_due(work, concerns, which=which):
        of_batch = work.tables.read("partial_sessions").where(whose)
        touched = _marks(work, concerns, of_batch=of_batch, whose=whose, bounds=PROTO)
    states = session_states(
        work.tables.read("sessions").where(which),
        touched,
        pipeline=work.pipeline,
        concerns=[replace(it, open_after_us=None) if it in cut else it for it in concerns],
        restated=work.restates,
    )
    reach = f"{_of_windows(concerns)} AND (({meets}) OR ({overlapping(work, sessions=which)}))"
    if work.restates:
        stood = stood_before(work, "sessions")
        # The same bounds as those of a session that is asked for are asked for too.
        there = None if stood is None else stood.where(which)
        states = with_remade(states, there, pipeline=work.pipeline)
    states = of_sessions_that_are_kept(work, states)
    return Concerned(states=states, reach=reach, covering=reach)


def _are_any_but_due(work: Work, concerns: Sequence[Concern], *, which: str) -> bool:
    """Whether of the sessions concerned one may be published early, or was due before and is open."""
    if any(it.is_early for it in concerns):
        return True
    due_us = max((it.due_after_us for it in concerns if it.due_after_us is not None), default=None)
    if due_us is None:
        return False
    return are_any(work.tables, "sessions", where=f"({which}) AND {not_after('window_end', due_us)}")


def _due_or_touched(concern: Concern, touched: Sequence[Interval], *, what: str) -> str:
    ends = NONE
    if concern.due_until_us is not None and concern.due_until_us != concern.due_after_us:
        ends = not_after(f"{what}_end", concern.due_until_us)
        if concern.due_after_us is not None:
            ends = f"({ends} AND {what}_end > {Instant(concern.due_after_us)})"
    if concern.closing is not None:
        first, after = Instant(concern.closing.start_us), Instant(min(concern.closing.end_us, LATEST_US))
        ends = f"{ends} OR ({what}_end >= {first} AND {what}_end < {after})"
    return f"{within(touched, f'{what}_start')} OR {ends}"


def _may_end(concerns: Sequence[Concern]) -> str:
    """The predicate that a session is not one that closed before the batch."""
    after = [it.open_after_us for it in concerns]
    known = [it - grace_us(by.window.shape) for it, by in zip(after, concerns, strict=True) if it is not None]
    if len(known) < len(after):
        return ALL
    return f"window_end > {Instant(max(EARLIEST_US, min(known)))}"


def _of_windows(concerns: Sequence[Concern]) -> str:
    return is_of_windows(concern.window.name for concern in concerns)


def _reaching(needed: Sequence[Interval], size_us: int) -> list[Interval]:
    """Where windows start that reach into the intervals."""
    return merge(
        Interval(max(EARLIEST_US, interval.start_us - size_us), min(LATEST_US, interval.end_us))
        for interval in needed
    )
