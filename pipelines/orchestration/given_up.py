"""Whether the batch that a run has opened is still its own to work at. Imported by tasks when they run, never
at parse.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.orchestration.batches import Chosen, batch_in
from pipelines.store.attempts import Attempt
from pipelines.store.ledger_rows import OPENING, LedgerRow


def is_given_up(opened: Chosen, rows: Sequence[LedgerRow], *, begun: Sequence[Attempt]) -> bool:
    """Whether the batch has been given up since this run opened it, or somebody else has begun it anew.

    Another beginning may be this run's own: what ended without a change has no row, and a task that is
    cleared then begins the batch once more. Somebody else opens it, or begins all of its stages; of one that
    was published and is followed by another batch nobody knows any more who did.
    """
    mine = (batch_in(opened), int(str(opened["revision"])))
    started_us, attempt = opened.get("started_us"), int(str(opened.get("attempt") or 0))
    for row in (row for row in rows if (row.batch, row.revision) == mine):
        if row.status == "abandoned":
            return True
        since = [it for it in begun if it.what == "begun" and it.attempt > attempt and it.is_of(*mine)]
        is_theirs = any(it.stage in (OPENING, None) for it in since) or (not since and not row.is_unfinished)
        if started_us not in (None, row.started_at_us) and is_theirs:
            return True
    return False
