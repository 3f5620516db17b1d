"""The ledger: which batch runs, who may write for it, and what came of it.

There is one unfinished batch at most. To open a batch is one commit on `runs` against the version that
was read, so of two that try at once one gets it; every attempt then takes a number above all before, and
fences its writes with it. Having taken it, it writes `runs` once more as they are: whoever ends the batch
asks who is the newest between reading `runs` and writing them, and so cannot miss it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pipelines.errors import RunAgain, WaitForTheBatch
from pipelines.intervals import Interval, to_us
from pipelines.spec import sources_of
from pipelines.store import attempts, small
from pipelines.store.attempts import Attempt
from pipelines.store.fence import Fence
from pipelines.store.known_sources import know_sources, shut_out
from pipelines.store.ledger_rows import OPENING, LedgerRow, Status, is_of_another_spec, unfinished
from pipelines.store.opening import Opening
from pipelines.store.runs import open_runs
from pipelines.store.tables import Folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One attempt at one batch: what `opening` found in the ledger, the number that this attempt writes
    under, and the state fingerprint of its spec.

    `is_first` tells that nothing of what it will write can have been written before.
    """

    opening: Opening
    begun: Attempt
    is_first: bool
    fingerprint: str

    @property
    def batch(self) -> Interval:
        return self.opening.batch

    @property
    def revision(self) -> int:
        return self.opening.revision

    def fence(self, lane: str) -> Fence:
        return Fence(lane=lane, attempt=self.begun.attempt, is_first=self.is_first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be done at a batch: one stage, of one source, or all; and what was asked for beside it,
    flags as 1 and instants in microseconds. `None`: what was asked for before holds.
    """

    stage: str | None = None
    source: str | None = None
    wishes: Mapping[str, int] | None = None


def read_rows(store: Folder) -> list[LedgerRow]:
    """All rows of the ledger."""
    return open_runs(store).rows


def open_run(
    store: Folder,
    opens: Callable[[list[LedgerRow]], Opening],
    *,
    fingerprint: str,
    asked: Asked,
) -> Run:
    """Open a batch or take it over, as `opens` decides on the ledger's rows, and take a number for this
    attempt at it. What was done at the batch under another spec does not count.
    """

    def commit() -> tuple[Opening, bool, int]:
        runs = open_runs(store)
        older = attempts.highest(store)
        opening, of_another_spec = opens(runs.rows), is_of_another_spec(runs.rows, fingerprint)
        # Runs are told apart by when they began, also where the clocks of two machines differ.
        newest_us = max((row.started_at_us or 0 for row in runs.rows), default=0)
        started_at_us = opening.started_at_us or max(now_us(), newest_us + 1)
        if opening.status != "running" or of_another_spec:
            runs.put(opening.row(fingerprint=fingerprint, started_at_us=started_at_us))
        return replace(opening, started_at_us=started_at_us), of_another_spec, older

    know_sources(store, sources_of(fingerprint))
    until, known = attempts.highest(store), read_rows(store)
    if is_of_another_spec(known, fingerprint):
        opens(known)  # raises where it may not be
        # Before the ledger says that the batch is of this spec, lest nobody does it after.
        attempts.void(store, kept=attempts.BEGUN_AND_NOTED, until=until)
    opening, of_another_spec, older = small.retried(commit, "runs")
    if of_another_spec:
        shut_out(store, until=older)
    # Those are over: of an older batch, or of this one before it was given up, unless it goes on.
    numbered, is_repeated = _numbered(store, opening, asked=asked, over=0 if opening.status else older)
    if of_another_spec:
        # Whoever was at work may have finished something since.
        attempts.void(store, kept=attempts.BEGUN_AND_NOTED, until=numbered.attempt - 1)
    has_run = opening.before is not None or bool(opening.covered)
    is_first = not has_run and not is_repeated
    return Run(opening=opening, begun=numbered, is_first=is_first, fingerprint=fingerprint)


def _numbered(store: Folder, opening: Opening, *, asked: Asked, over: int) -> tuple[Attempt, bool]:
    """An attempt at a batch that is open, as `attempts.begin` tells it."""
    begun = Attempt.begun(
        opening.batch, opening.revision, stage=asked.stage, source=asked.source, at_us=now_us()
    )
    found = attempts.begin(
        store,
        begun,
        still_open=lambda: _refuse_ended(read_rows(store), opening),
        over=over,
        wishes=asked.wishes,
    )
    small.retried(lambda: _say_again(store, opening), "runs")
    return found


def _say_again(store: Folder, opening: Opening) -> None:
    """Say once more that the batch is running, so that nobody ends it who has not seen the new number."""
    runs = open_runs(store)
    runs.put(replace(_refuse_ended(runs.rows, opening), status="running"))


def _refuse_ended(rows: list[LedgerRow], opening: Opening) -> LedgerRow:
    """The row of the batch, which somebody else may have marked as failed; raises where it has ended."""
    mine = (opening.batch, opening.revision, opening.started_at_us)
    left = [it for it in rows if it.is_unfinished and (it.batch, it.revision, it.started_at_us) == mine]
    if not left:
        raise WaitForTheBatch(
            f"batch {opening.batch}: another attempt has ended it since this one opened it, and this one "
            "has changed nothing. Look at that one; there is nothing to do here",
            is_over=True,
        )
    return left[0]


def still_mine(store: Folder, run: Run) -> None:
    """Raise `WaitForTheBatch` if a newer attempt has taken over what this one does."""
    if attempts.is_taken_over(store, run.begun):
        raise _is_over(run)


def still_of_this_spec(store: Folder, run: Run) -> None:
    """Raise `RunAgain` if others go on with the batch under another spec than this attempt's."""
    pending = unfinished(read_rows(store))
    if pending is not None and _is_of(pending, run) and pending.spec_fingerprint != run.fingerprint:
        raise RunAgain(
            f"batch {run.batch}: the spec was changed while this attempt, number {run.begun.attempt}, was at "
            "work, and others have gone on under the new one: what it did does not count. Run it again"
        )


def _still_newest(store: Folder, run: Run) -> None:
    """Raise `WaitForTheBatch` also where a stage before this one is done anew."""
    still_mine(store, run)
    if attempts.has_newer(store, run.begun):
        raise _is_over(run)


def _is_over(run: Run) -> WaitForTheBatch:
    return WaitForTheBatch(
        f"batch {run.batch}: a newer attempt has taken over, or it has been given up; this attempt, number "
        f"{run.begun.attempt}, has stopped and changed nothing since. `sash status` tells how the batch "
        "stands; if it is unfinished and nobody is at it, run it again",
        is_over=True,
    )


def close_run(store: Folder, run: Run, *, row: LedgerRow) -> None:
    """Write the final row of a run; the batches that it covers no longer count then.

    Somebody may have taken it for dead, and said that it failed. Raises `WaitForTheBatch` where it has been
    given up, or published by another attempt.
    """

    def commit() -> None:
        runs = open_runs(store)
        if not any(one.is_unfinished and _is_of(one, run) for one in runs.rows):
            raise _is_over(run)
        # All may have been emptied, and the batch or a stage of it begun anew, while this one slept.
        _still_newest(store, run)
        covered = [replace(one, status="abandoned") for one in runs.rows if one.batch in run.opening.covered]
        runs.put(_finished_last(row, runs.rows), *covered)

    small.retried(commit, "runs")


def _finished_last(row: LedgerRow, rows: list[LedgerRow]) -> LedgerRow:
    """The row of a run, which finishes after all others: who asks for what has finished since the newest that
    they know misses none, also where the clocks of two machines differ.
    """
    newest_us = max((one.finished_at_us or 0 for one in rows), default=0)
    return replace(row, finished_at_us=max(row.finished_at_us or 0, row.started_at_us or 0, newest_us + 1))


def mark(store: Folder, run: Run, *, status: Status) -> None:
    """Say that the run has stopped or failed, unless another attempt goes on with it."""
    _say(store, run, status=status, may=lambda: not attempts.is_taken_over(store, run.begun))


def leave(store: Folder, batch: Interval, *, revision: int, opened: int | None) -> bool:
    """Say that a batch failed whose workers were killed; returns whether it stood as running.

    One that somebody has gone on with since the attempt `opened` is let be: it was opened again, or nothing
    was begun after somebody began all of its stages.
    """

    def is_left() -> bool:
        of_run = [one for one in attempts.read(store) if one.is_of(batch, revision) and one.what == "begun"]
        openings = [one.attempt for one in of_run if one.stage == OPENING]
        since = max(openings, default=0) if opened is None else opened
        later = [one for one in of_run if one.attempt > since]
        is_elsewhere = bool(later) and later[-1].stage is None
        return bool(of_run) and not is_elsewhere and not any(one.stage == OPENING for one in later)

    def commit() -> bool:
        runs = open_runs(store)
        if not is_left():
            return False
        left = [it for it in runs.rows if (it.batch, it.revision, it.status) == (batch, revision, "running")]
        if left:
            runs.put(*[replace(row, status="failed") for row in left])
        return bool(left)

    return small.retried(commit, "runs")


def abandon_run(store: Folder, run: Run) -> None:
    """Say that a batch that is open has been given up, unless somebody goes on with it."""

    def may() -> bool:
        still_mine(store, run)
        return True

    _say(store, run, status="abandoned", may=may)


def forget(store: Folder, run: Run) -> None:
    """Take back the row of a run that changed nothing, and what its attempts say; the next of its number
    begins where the tables are.
    """
    before = run.opening.before
    _take_back(store, run, stands=None if before is None else before.revision)


def withdraw(store: Folder, run: Run) -> None:
    """Take back the row of an attempt that has opened the batch and may do nothing at it."""
    _take_back(store, run, stands=None)


def _take_back(store: Folder, run: Run, *, stands: int | None) -> None:

    def commit() -> None:
        runs = open_runs(store)
        mine = [one for one in runs.rows if one.is_unfinished and _is_of(one, run)]
        if not mine:
            raise _is_over(run)
        _still_newest(store, run)
        runs.take_out(*mine)

    small.retried(commit, "runs")
    attempts.forget(store, run.begun, stands=stands)


def now_us() -> int:
    """The clock, for the ledger's own timings and nothing else."""
    return to_us(datetime.now(UTC))


def _say(store: Folder, run: Run, *, status: Status, may: Callable[[], bool]) -> None:
    def commit() -> None:
        runs = open_runs(store)
        mine = [replace(one, status=status) for one in runs.rows if _is_open(one, run)]
        if may() and mine:
            runs.put(*mine)

    small.retried(commit, "runs")


def _is_of(row: LedgerRow, run: Run) -> bool:
    return (row.batch, row.revision) == (run.batch, run.revision)


def _is_open(row: LedgerRow, run: Run) -> bool:
    return _is_of(row, run) and row.status == "running"
