"""The stage `accumulate`: one source of a batch becomes partial frames, watermarks, late events and
quarantine.

The raw slice is gone through once. Only when the tally of that pass says that rows were lost or broken is
it read a second time, to keep them; every row has one fate, and if the two passes disagree the input has
changed underfoot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from pipelines.accumulate import (
    DIFFERS,
    FRAME,
    PROTO,
    accumulate,
    changed_places,
    is_one_grid,
    newest_per_substream,
    partial_frames,
    partial_sessions,
    tally_states,
    with_vanished,
)
from pipelines.errors import RunAgain
from pipelines.ingest import (
    RowRule,
    content,
    tally,
)
from pipelines.ingest.watermark import Seen
from pipelines.spec import Source
from pipelines.stages.before import is_tried_before, stood_before
from pipelines.stages.gates import asked_of_all, event_rules
from pipelines.stages.keeping import (
    lane,
    leave,
    note_other_losses,
    put,
    shut_out_gone,
    shut_out_older,
    write_ids,
    write_late,
    write_none,
    write_quarantine,
)
from pipelines.stages.partials import PARTIALS, is_asked_for
from pipelines.stages.retained import By, lost_until_us, warn_of_lost
from pipelines.stages.site import Work
from pipelines.stages.sourcing import source_events
from pipelines.stages.watermarks import write_progress
from pipelines.store.asked import are_any
from pipelines.store.progress import CHANGED, Done, note
from pipelines.store.rows import from_rows, has_any
from pipelines.store.sql import Instant, text
from pipelines.windows import grids_of, session_windows

Counts = dict[str, int]


def accumulate_source(work: Work, source: Source) -> Counts:
    """Accumulate one source; returns the counts of its rows by fate, and of its row rules."""
    shut_out_gone(work, source)
    rules = [rule for _, rule in event_rules(work.site)]
    events = source_events(work, source, rules=rules)
    if source.event_id is not None:
        # Looked at twice: for the states, and for the ids that are to be remembered.
        events = events.persist()
    try:
        counts = _accumulate(work, source, events=events, rules=rules)
        write_ids(work, source, events=events)
        counts["late_rows"] = write_late(work, source, events=events, losing=counts["losing"])
        note_other_losses(work, source)
        write_quarantine(work, source, events=events, counts=counts)
    finally:
        events.unpersist()
    return _conserved(work, source, counts=counts)


def _accumulate(work: Work, source: Source, *, events: DataFrame, rules: Sequence[RowRule]) -> Counts:
    """Write the partials and the watermarks of the source; returns what was counted on the way."""
    passing, accumulated = Observation(), Observation()
    # What looks at every event costs most, so only what is asked of events is counted there.
    asked = [*tally(rules), *([content(events)] if asked_of_all(work.site) else [])]
    states = accumulate(
        events.observe(passing, *asked) if asked else events,
        work.pipeline,
        watermark_us=work.judged_by_us,
        by_substream=source.substream is not None,
    ).observe(accumulated, *tally_states())
    of_sessions = [grid.of_sessions for grid in grids_of(work.pipeline)]
    is_used_again = source.substream is not None or (any(of_sessions) and not all(of_sessions))
    states = states.persist() if is_used_again else states
    try:
        written = _write_partials(work, source, states=states)
        tallied = accumulated.get
        write_progress(work, source, seen=_seen(source, states, tallied=tallied))
    finally:
        if is_used_again:
            states.unpersist()
    counted = {**tallied, **(passing.get if asked else {})}
    counts = {name: int(value or 0) for name, value in counted.items() if not name.startswith("newest")}
    counts["accepted"] = counts.pop("tallied")
    counts |= {f"partial_{what}": rows for what, (rows, _) in written.items()}
    if is_one_grid(grids_of(work.pipeline)) and "frames" in written:
        # Every event is in one frame, so what was written says it too.
        counts["accepted"] = written["frames"][1]
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Partials:
    """What the states of a source are written as, and by what bounds its rows are told apart."""

    what: str
    rows: DataFrame
    bounds: Sequence[str]
    counting: Observation = field(default_factory=Observation)

    @property
    def table(self) -> str:
        return f"partial_{self.what}"

    @property
    def end(self) -> By:
        return "frame_end" if self.what == "frames" else "window_end"


def _write_partials(work: Work, source: Source, *, states: DataFrame) -> dict[str, tuple[int, int]]:
    """Write partial frames and sessions; returns of each how many rows were written, and of how many
    events there are.
    """
    every: list[_Partials] = []
    if not all(grid.of_sessions for grid in grids_of(work.pipeline)):
        frames = partial_frames(states, work.pipeline, watermark_us=work.judged_by_us)
        every.append(_Partials(what="frames", rows=frames, bounds=FRAME))
    if session_windows(work.pipeline):
        sessions = partial_sessions(states, work.pipeline)
        every.append(_Partials(what="sessions", rows=sessions, bounds=PROTO))
    put_in_place = every
    if work.run.is_first:
        for one in every:
            put(work, source, table=one.table, rows=_observed(one))
            _tell_lost(work, source, one=one)
    else:
        put_in_place = _put_what_differs(work, source, every=every)
        if work.run.opening.before is None and not work.run.opening.covered:
            # An attempt under another spec may have had windows of the other kind too.
            for table in PARTIALS.keys() - {one.table for one in every}:
                write_none(work, source, table=table)
    counted = {one.what: one.counting.get for one in every}
    written = {one.what: int(counted[one.what]["rows"]) for one in put_in_place}
    return {what: (written.get(what, 0), int(found["events"] or 0)) for what, found in counted.items()}


def _observed(one: _Partials) -> DataFrame:
    return one.rows.observe(
        one.counting, F.count(F.lit(1)).alias("rows"), F.sum("event_count").alias("events")
    )


def _put_what_differs(work: Work, source: Source, *, every: Sequence[_Partials]) -> list[_Partials]:
    """Write the partials with those that vanished, unless they stand there, after noting how many differ from
    what stood there before the run; returns those that were written. What was made for windows that are gone
    does not count: its rows go with the next that are written.
    """
    replacing, differing, changed = [], [], 0
    has_stood = work.run.opening.before is not None or bool(work.run.opening.covered)
    # What stands there may be of an attempt that had other rows.
    is_tried = has_stood and is_tried_before(work)
    for one in every:
        shut_out_older(work, source, table=one.table)
        earlier = _of_lane(work, source, one=one, stored=work.tables.read(one.table))
        stood = stood_before(work, one.table) if is_tried else None
        before = None if stood is None else _of_lane(work, source, one=one, stored=stood)
        rows = with_vanished(
            _observed(one), earlier, pipeline=work.pipeline, bounds=one.bounds, before=before
        ).persist()
        others = rows.where(DIFFERS)
        differs = _count(others)
        if before is not None:
            others = changed_places(rows, before, pipeline=work.pipeline, bounds=one.bounds)
        changed += differs if before is None else _count(others)
        _tell_lost(work, source, one=one, changed=others if has_stood else rows)
        differing.append(differs)
        replacing.append(rows)
    # Said before the write: whoever is killed in between leaves rows of which it is known.
    done = Done(stage="accumulate", source=source.name, counts={CHANGED: changed})
    note(work.tables, work.run, done=done)
    written = []
    for one, rows, differs in zip(every, replacing, differing, strict=True):
        if differs or not _stands_as_mine(work, source, one=one):
            put(work, source, table=one.table, rows=rows.drop(DIFFERS))
            written.append(one)
        else:
            leave(work, source, table=one.table)
        rows.unpersist()
    return written


def _tell_lost(work: Work, source: Source, *, one: _Partials, changed: DataFrame | None = None) -> None:
    """Warn where states of what retention lets go are others than before; by default all that were put."""
    until_us = lost_until_us(work, by=one.end)
    if until_us is None:
        return
    lost = f"{one.end} <= {Instant(until_us)}"
    if changed is None:
        are_lost = are_any(work.tables, one.table, where=f"{lane(work, source)} AND {lost}")
    else:
        are_lost = has_any(changed.where(lost))
    if are_lost:
        warn_of_lost(work)


def _count(rows: DataFrame) -> int:
    return int(from_rows(rows.agg(F.count(F.lit(1)).alias("rows")))[0].rows)


def _of_lane(work: Work, source: Source, *, one: _Partials, stored: DataFrame) -> DataFrame:
    """Of what a table holds, or once held, the rows in whose place those of the source come."""
    return stored.where(lane(work, source)).where(is_asked_for(work.pipeline, one.table))


def _stands_as_mine(work: Work, source: Source, *, one: _Partials) -> bool:
    """Whether what stands there was written by this source, for this batch; where that never ran, also for
    windows that there are.
    """
    others = f"source <> {text(source.name)}"
    if work.run.opening.before is None:
        others += f" OR NOT {is_asked_for(work.pipeline, one.table)}"
    stand = are_any(work.tables, one.table, where=f"{lane(work, source)} AND ({others})")
    return not (work.run.opening.covered or stand)


def _seen(source: Source, states: DataFrame, *, tallied: Mapping[str, int | None]) -> list[Seen]:
    """The newest times per substream.

    Of the kept states, or, where the source is one substream, of the tally.
    """
    if source.substream is not None:
        return [Seen(**row.asDict()) for row in from_rows(newest_per_substream(states))]
    event_us, arrival_us = tallied["newest_event_us"], tallied["newest_arrival_us"]
    if event_us is None or arrival_us is None:
        return []
    return [Seen(substream=None, newest_event_us=event_us, newest_arrival_us=arrival_us)]


def _conserved(work: Work, source: Source, *, counts: Counts) -> Counts:
    fates = {name: counts[name] for name in ("accepted", "late", "quarantined", "duplicates")}
    if counts["ingested"] != sum(fates.values()):
        listed = " + ".join(f"{value} {name}" for name, value in fates.items())
        raise RunAgain(
            f"source `{source.name}`, batch {work.batch}: {counts['ingested']} rows were ingested, but "
            f"{listed} make "
            f"{sum(fates.values())}: the input changed while it was read; run the batch again"
        )
    return counts
