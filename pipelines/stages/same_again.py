"""Whether a batch that runs again has the same rows, also those that count nowhere."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.stages.before import keeps_others
from pipelines.stages.site import Work
from pipelines.store import small
from pipelines.store.sql import is_batch, is_of_windows, on_days_of

FATES = ("ingested", "accepted", "late", "quarantined", "duplicates")


def has_rows_alike(work: Work, counts: Mapping[str, int | None]) -> bool:
    """Whether as many rows of the batch as when it last ran had each fate, and those that are kept are the
    same. To be asked once its sources are accumulated.
    """
    before = work.run.opening.before
    if before is None or any(getattr(before, name) != counts[name] for name in FATES):
        return False
    return not _keeps_others(work)


def _keeps_others(work: Work) -> bool:
    """Whether rows that count nowhere are others now: those in quarantine, ids that counted, and those that
    windows lost which were there before. What retention lets go of comes back when the batch runs again, and
    is not asked.
    """
    mine = f"{on_days_of(work.batch)} AND {is_batch(work.batch)}"
    # Ids also where none is declared any more: whoever declares them again looks for them.
    asked = [it for it in ("quarantine", "event_ids") if small.is_there(work.tables, it)]
    if any(keeps_others(work, table, where=mine) for table in asked):
        return True
    opening, kept_us = work.run.opening, work.pipeline.retention.late_events_us
    newest_us = work.batch.end_us if opening.newest_end_us is None else opening.newest_end_us
    if kept_us is not None and work.batch.end_us <= newest_us - kept_us:
        return False
    is_of_new = is_of_windows(opening.changes.new_windows)
    return keeps_others(work, "late_events", where=f"{mine} AND NOT {is_of_new}")
