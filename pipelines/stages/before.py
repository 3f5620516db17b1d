"""Tables as they were before a run, whose first attempt has written down their versions.

What a run writes may depend on what stood before it, and an attempt that was cut off, or had other data, may
have changed that since.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from pipelines.stages.site import Work
from pipelines.store.attempts import first_of
from pipelines.store.history import undo
from pipelines.store.ledger import still_mine


def stood_before(work: Work, table: str) -> DataFrame | None:
    """The table's rows before the run; `None` where nobody wrote down its version."""
    first = first_of(work.tables, work.batch, revision=work.run.revision)
    version = None if first is None else first.counts.get(table)
    return None if version is None else work.tables.read(table, version=version)


def put_back(work: Work, table: str) -> None:
    """Let the table be as it was before the run, if an earlier attempt at it has written there."""
    first = first_of(work.tables, work.batch, revision=work.run.revision)
    if first is None or table not in first.counts or work.run.is_first:
        return
    still_mine(work.tables, work.run)
    fence = work.run.fence(table)
    undo(work.tables, table, version=first.counts[table], since=first.attempt, fence=fence)
