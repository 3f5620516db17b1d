"""The table `runs` as it stood when it was opened, and what a commit changes of it.

Each batch makes several commits, and the ledger grows by a row a batch. While it has few rows they are
written anew as one file, in the order in which they came; of many a commit writes its own, until the files
are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltalake import DeltaTable

from pipelines.store import small
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.remembered import rows_of
from pipelines.store.sql import is_batch
from pipelines.store.tables import Folder

MANY_ROWS = 1_000
"""To write so many takes thirty milliseconds, a commit of a row ten."""
MOST_FILES = 64
"""To open one takes a reader a millisecond; to write a row anew takes thirty microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """The ledger as it stood. Writing to it raises `CommitFailedError` if anything was written since."""

    opened: DeltaTable
    rows: list[LedgerRow]

    def put(self, *rows: LedgerRow) -> None:
        """Write rows, each in the place of the one of the same batch and revision."""
        self._replace(rows, rows)

    def take_out(self, *rows: LedgerRow) -> None:
        """Take rows out."""
        self._replace(rows, ())

    def _replace(self, old: Sequence[LedgerRow], new: Sequence[LedgerRow]) -> None:
        # Files tell what they hold in milliseconds: of far years not well enough for what has a part of one.
        is_told = not any((row.batch.start_us % 1000) or (row.batch.end_us % 1000) for row in old)
        is_long = len(self.rows) >= MANY_ROWS
        if is_long and is_told and max(len(old), len(self.opened.file_uris())) < MOST_FILES:
            of_old = [f"({is_batch(row.batch)} AND revision = {row.revision})" for row in old]
            small.overwrite(self.opened, [row.values() for row in new], where=" OR ".join(of_old))
            return
        gone = {(row.batch, row.revision) for row in old}
        kept = [row for row in self.rows if (row.batch, row.revision) not in gone]
        small.overwrite(self.opened, [row.values() for row in (*kept, *new)])


def open_runs(store: Folder) -> Runs:
    """The ledger as it now stands."""
    opened = small.open_table(store, "runs")
    return Runs(opened=opened, rows=rows_of(opened))
