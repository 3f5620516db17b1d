"""What opening a batch means, given what has run: new, a retry, or a restatement; or why it cannot be opened.

Pure arithmetic on ledger rows. Everything that a run later needs to know of the past is decided here, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced

from pipelines.errors import ChooseAnotherBatch, CorrectTheSpec, WaitForTheBatch
from pipelines.intervals import LATEST_US, Interval, largest, merge, without
from pipelines.spec import (
    Changes,
    changes_between,
    have_other_triggers,
    have_other_windows,
    latenesses_of,
    windows_of,
)
from pipelines.store.ledger_rows import LedgerRow, Status, unfinished


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A batch as it is about to run, and the past that it is judged by.

    `status` is that of its unfinished row, if an earlier attempt left one. `judged_by_us` is the watermark
    before the batch, `in_force_us` the newest one; they differ only for a restatement. By arrival time
    `judged_end_us` is the watermark before it: where the newest of those ends that had run. The watermark
    after the batch lies between `floor_us` and `ceiling_us`, since none goes back. `first_start_us` is
    where the first batch began, from which a source that was never seen counts. `covered` are older batches
    that this one replaces, `known_by` the rows of the batch before it and of those still older that ran
    after that one first did: the substreams that they have seen are known. `before` is the ledger's row of
    the same batch when it last ran, `newest_end_us` is where the newest batch that has run ends,
    `in_turn_end_us` where the newest ends that ran in its turn and not as a restatement: up to there all
    timers have been looked at. `run_since` is what of the time before no batch had when this one first ran:
    it knows nothing of the ids that arrived then. `changes` are those of the spec since.
    """

    batch: Interval
    revision: int
    status: Status | None
    started_at_us: int | None
    restated: bool
    judged_by_us: int | None
    judged_end_us: int | None
    in_force_us: int | None
    floor_us: int | None
    ceiling_us: int | None
    has_next: bool
    known_by: tuple[LedgerRow, ...]
    first_start_us: int
    covered: tuple[Interval, ...]
    before: LedgerRow | None
    newest_end_us: int | None = None
    in_turn_end_us: int | None = None
    run_since: tuple[Interval, ...] = ()
    changes: Changes = field(default_factory=Changes)

    def row(self, *, fingerprint: str, started_at_us: int) -> LedgerRow:
        """The ledger's row of the batch as it starts running."""
        return LedgerRow(
            batch=self.batch,
            revision=self.revision,
            status="running",
            spec_fingerprint=fingerprint,
            watermark_before_us=self.judged_by_us,
            started_at_us=started_at_us,
        )


def opening_of(rows: Sequence[LedgerRow], batch: Interval, *, fingerprint: str, replace: bool) -> Opening:
    """How the batch opens. Raises what says why it cannot."""
    published = [row for row in rows if row.status == "published"]
    changes = _changes(rows, fingerprint)
    pending = unfinished(rows)
    _refuse_while_busy(batch, pending)
    same = [row for row in published if row.batch == batch]
    overlapping = [it for it in dict.fromkeys(row.batch for row in published) if _meets(it, batch)]
    # That an unfinished one may take the place of others was said when it was opened.
    _refuse_overlap(batch, overlapping, replace=replace or pending is not None)
    before = [row for row in published if row.batch.end_us <= batch.start_us]
    after = [row for row in published if row.batch.start_us >= batch.end_us]
    previous = max(before, key=_order, default=None)
    next_one = min(after, key=lambda row: (row.batch.end_us, -row.revision), default=None)
    newest = max(published, key=_order, default=None)
    last_revision = max(same, key=lambda row: row.revision, default=None)
    within = [row for row in published if batch.covers(row.batch)]
    judged_by_us = _judging(previous, within)
    revision = pending.revision if pending else (last_revision.revision + 1 if last_revision else 0)
    return Opening(
        batch=batch,
        revision=revision,
        status=pending.status if pending else None,
        started_at_us=pending.started_at_us if pending else None,
        restated=bool(same or overlapping or after),
        judged_by_us=judged_by_us,
        judged_end_us=_judged_end(rows, batch, previous=previous),
        in_force_us=newest.watermark_after_us if newest else None,
        floor_us=largest(judged_by_us, *[row.watermark_after_us for row in within]),
        ceiling_us=next_one.watermark_after_us if next_one else None,
        has_next=next_one is not None,
        known_by=_known_by([row for row in before if row.has_read]),
        first_start_us=_first_start(rows, batch, same=same),
        covered=tuple(overlapping),
        before=last_revision,
        newest_end_us=newest.batch.end_us if newest else None,
        in_turn_end_us=max([row.batch.end_us for row in _in_turn(rows)], default=None),
        run_since=_run_since(rows, before, same=same),
        changes=changes,
    )


def _meets(other: Interval, batch: Interval) -> bool:
    return other != batch and other.overlaps(batch)


def _known_by(before: Sequence[LedgerRow]) -> tuple[LedgerRow, ...]:
    previous = max(before, key=_order, default=None)
    if previous is None:
        return ()
    # Since it first ran: no later revision need have taken up what was told meanwhile.
    since_us = min(_started_us(row) for row in before if row.batch == previous.batch)
    # Of several revisions of a batch the newest is the last in the ledger's order.
    later = {row.batch: row for row in sorted(before, key=_order) if _started_us(row) > since_us}
    return (previous, *[later[batch] for batch in sorted(later.keys() - {previous.batch})])


def _first_start(rows: Sequence[LedgerRow], batch: Interval, *, same: Sequence[LedgerRow]) -> int:
    """Where the first batch begins, of those that had run when this one first did: the same data is to do
    the same, whatever older one has run since.
    """
    until_us = min(map(_started_us, same), default=LATEST_US)
    ran = [row.batch.start_us for row in rows if row.ran and _started_us(row) <= until_us]
    return min([batch.start_us, *ran])


def _run_since(
    rows: Sequence[LedgerRow], before: Sequence[LedgerRow], *, same: Sequence[LedgerRow]
) -> tuple[Interval, ...]:
    if not same:
        return ()
    first_us, since = min(map(_started_us, same)), merge(row.batch for row in before)
    for row in rows:
        # Also of those that others have taken the place of since.
        if row.ran and _started_us(row) <= first_us:
            since = without(since, row.batch)
    return tuple(since)


def _in_turn(rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """What was published and was no restatement, the first to start first."""
    reached_us: int | None = None
    found: list[LedgerRow] = []
    for row in sorted(rows, key=_started_us):
        is_in_turn = row.revision == 0 and (reached_us is None or row.batch.start_us >= reached_us)
        if row.status == "published" and is_in_turn:
            found.append(row)
        if row.finished_at_us is not None:
            # Those that were given up never ended; those that were covered did.
            reached_us = largest(reached_us, row.batch.end_us)
    return found


def _judging(previous: LedgerRow | None, within: Sequence[LedgerRow]) -> int | None:
    """The watermark that judges the batch: if it has run, or takes the place of others, the one that judged
    it, or the first of them, when that first ran.

    An older batch may have raised it since, and the same data is to do the same.
    """
    first = min(within, key=lambda row: row.batch.start_us, default=None)
    if first is not None:
        return first.watermark_before_us
    return previous.watermark_after_us if previous else None


def _judged_end(rows: Sequence[LedgerRow], batch: Interval, *, previous: LedgerRow | None) -> int | None:
    """The same by arrival time: where the batches end that had run when the batch first did, or the first of
    those whose place it has taken.
    """
    mine = [row for row in rows if row.ran and batch.covers(row.batch)]
    first = min(mine, key=lambda row: (row.batch.start_us, _started_us(row)), default=None)
    if first is None:
        return previous.batch.end_us if previous else None
    earlier = [row.batch for row in rows if row.ran and _started_us(row) < _started_us(first)]
    return max([it.end_us for it in earlier if it.end_us <= first.batch.start_us], default=None)


def _changes(rows: Sequence[LedgerRow], fingerprint: str) -> Changes:
    """What the spec asks of the tables beyond what the one before did. Raises what they cannot serve."""
    last = _last_to_start(rows)
    if last is None:
        return Changes()
    waits = any(have_other_triggers(it, fingerprint) for it in _since_timers(rows))
    latenesses = waiting_latenesses(rows)
    # A later stage alone has read nothing.
    read = _last_to_start([row for row in rows if row.has_read]) or last
    otherwise = changes_between(read.spec_fingerprint, fingerprint).read_otherwise
    if last.spec_fingerprint == fingerprint:
        return Changes(new_triggers=waits, latenesses=latenesses, read_otherwise=otherwise)
    # Also of batches that others took the place of: what they published may stand.
    ended = [windows_of(row.spec_fingerprint) for row in rows if row.finished_at_us is not None]
    known = frozenset[str]().union(*ended)
    found = changes_between(last.spec_fingerprint, fingerprint, known=known)
    if found.problems:
        rebuild = (
            "Compute all anew with `sash run … --rebuild`, give the pipeline a new `name`, or undo the change"
        )
        raise CorrectTheSpec(
            "the store", tuple(f"made by another spec: {it}. {rebuild}" for it in found.problems)
        )
    return replaced(found, new_triggers=waits, latenesses=latenesses, read_otherwise=otherwise)


def _last_to_start(rows: Sequence[LedgerRow]) -> LedgerRow | None:
    return max([row for row in rows if row.status == "published"], key=_started_us, default=None)


def ran_with_other_windows(rows: Sequence[LedgerRow], fingerprint: str) -> bool:
    """Whether the last batch to run had other windows, or let events of them be late otherwise."""
    last = _last_to_start(rows)
    return last is not None and have_other_windows(last.spec_fingerprint, fingerprint)


def waiting_latenesses(rows: Sequence[LedgerRow]) -> tuple[tuple[str, int], ...]:
    """How late events could be, in microseconds, of windows whose late news may wait since."""
    return tuple(sorted(pair for it in _since_timers(rows) for pair in latenesses_of(it).items()))


def _since_timers(rows: Sequence[LedgerRow]) -> list[str]:
    """The state fingerprints of what has run since all timers were looked at.

    A restatement looks at none: until a batch in turn has, news waits under the triggers before it.
    """
    since_us = max(map(_started_us, _in_turn(rows)), default=0)
    return [
        row.spec_fingerprint
        for row in rows
        if row.finished_at_us is not None and _started_us(row) >= since_us
    ]


def _started_us(row: LedgerRow) -> int:
    return row.started_at_us or 0


def _refuse_while_busy(batch: Interval, pending: LedgerRow | None) -> None:
    if pending is not None and pending.batch != batch:
        done = ", or wait until it is done" if pending.status == "running" else ""
        raise WaitForTheBatch(
            f"batch {batch} cannot start: batch {pending.batch} is unfinished (its status is "
            f"{pending.status}). Run that one again, or abandon it{done}"
        )


def _refuse_overlap(batch: Interval, overlapping: Sequence[Interval], *, replace: bool) -> None:
    partly = [other for other in overlapping if not batch.covers(other)]
    if partly:
        raise ChooseAnotherBatch(
            f"batch {batch} overlaps batch {partly[0]} partly, which has run. Choose one that has the "
            "same bounds, covers it whole, "
            "or does not meet it"
        )
    if overlapping and not replace:
        is_one = len(overlapping) == 1
        covered = "an older one," if is_one else f"{len(overlapping)} older ones, the first"
        place, those = ("its", "that one") if is_one else ("their", "those")
        raise ChooseAnotherBatch(
            f"batch {batch} covers {covered} {min(overlapping)}. To put it in {place} place say --replace, "
            f"or fill in `replace` in Airflow; or run {those} again"
        )


def _order(row: LedgerRow) -> tuple[int, int]:
    # Of several revisions of a batch the newest tells what is in force.
    return row.batch.end_us, row.revision
