"""Gives an unfinished batch up: the tables become what they were before it began.

One batch runs at a time, so all that was written since is of this one, and Delta's own history undoes it:
each table goes back to the version that it had when the first attempt began. Killed in the middle, the
batch is still unfinished: it may be abandoned again, or run.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.checks import STAGES
from pipelines.errors import CorrectTheCall, WaitForTheBatch
from pipelines.intervals import Interval
from pipelines.spec import Pipeline
from pipelines.stages.adding_up import LAW
from pipelines.stages.preparing import refuse_unnumbered
from pipelines.store.attempts import first_of, read, say_versions
from pipelines.store.fence import BY_SOURCE, lane_of
from pipelines.store.history import restore, versions
from pipelines.store.known_sources import known_sources
from pipelines.store.ledger import Asked, abandon_run, open_run, read_rows, still_mine
from pipelines.store.ledger_rows import LedgerRow, unfinished
from pipelines.store.opening import Opening, opening_of
from pipelines.store.progress import void_attempts
from pipelines.store.retention import gone_from, say_gone
from pipelines.store.tables import Folder

WHOLE = ("frames", "sessions", "panes", "windows")


def abandon_batch(store: Folder, pipeline: Pipeline, *, batch: Interval) -> LedgerRow:
    """Undo what the unfinished batch has written, and say so in the ledger; returns the row that it had.

    Whoever is still at work for it can write nothing more. Raises `CorrectTheCall` if it is not unfinished,
    `WaitForTheBatch` where somebody has gone on with it meanwhile.
    """
    pending = unfinished(read_rows(store))
    if pending is None or pending.batch != batch:
        raise _not_unfinished(batch, pending)
    refuse_unnumbered(store, pipeline.name)
    fingerprint = pending.spec_fingerprint

    def opens(rows: list[LedgerRow]) -> Opening:
        now = unfinished(rows)
        if now is None or (now.batch, now.started_at_us) != (batch, pending.started_at_us):
            raise _ended_since(batch)
        return opening_of(rows, batch, fingerprint=fingerprint, replace=True)

    before = _versions_before(store, pending)
    run = open_run(store, opens, fingerprint=fingerprint, asked=Asked())
    gone = gone_from(store)
    for table, lanes in lanes_of(store, pipeline).items():
        restore(
            store,
            table,
            # One that came with the batch was empty at first.
            version=before.get(table, 0),
            fences=[run.fence(lane) for lane in lanes],
            still_mine=lambda: still_mine(store, run),
        )
        if table == "frames" and gone is not None:
            # Upkeep may have said so since, and an older version does not.
            say_gone(store, gone, still_mine=lambda: still_mine(store, run))
    void_attempts(store, run)
    still_mine(store, run)
    # First, for without the versions it could not be given up again.
    abandon_run(store, run)
    say_versions(store, None, of=run.begun)
    return pending


def _not_unfinished(batch: Interval, pending: LedgerRow | None) -> CorrectTheCall:
    found = "no batch is" if pending is None else f"the unfinished one is {pending.batch}"
    return CorrectTheCall(
        f"batch {batch} cannot be abandoned, for it is not unfinished: {found}. `sash status` tells how "
        "batches stand; one that is published is corrected by running it again"
    )


def _ended_since(batch: Interval) -> WaitForTheBatch:
    return WaitForTheBatch(
        f"batch {batch} has ended since, or was begun anew, and nothing is abandoned. `sash status` tells "
        "how it stands; if it is still to be given up, say it again",
        is_over=True,
    )


def _versions_before(store: Folder, pending: LedgerRow) -> Mapping[str, int]:
    """The versions of the tables before the batch began. Raises `CorrectTheCall` where nobody says."""
    first = first_of(store, pending.batch, revision=pending.revision)
    if first is not None:
        return first.counts
    of_run = [one for one in read(store) if one.is_of(pending.batch, pending.revision)]
    # What began before it was opened has been given up.
    if any(one.at_us >= (pending.started_at_us or 0) for one in of_run):
        raise CorrectTheCall(
            f"batch {pending.batch} cannot be abandoned: nobody has written down which versions its tables "
            "had before it began; run it again instead"
        )
    # It was opened, and nothing was begun.
    return versions(store)


def lanes_of(store: Folder, pipeline: Pipeline) -> dict[str, list[str]]:
    """All lanes that batches write in, by table, of the sources that the pipeline has and ever had."""
    sources = sorted(known_sources(store).union(source.name for source in pipeline.sources))
    by_source = {table: [lane_of(table, source) for source in sources] for table in BY_SOURCE}
    return {
        **{table: [table] for table in WHOLE},
        **by_source,
        "watermarks": ["watermarks", *by_source["watermarks"]],
        "checks": ["checks", f"checks/{LAW}", *[f"checks/{stage}" for stage in STAGES]],
    }
