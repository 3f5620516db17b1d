"""The rows of the ledger, each read once: what was read of a file holds, for files of Delta never change.

Whoever runs a batch asks the ledger some twenty times, and it grows by a row a batch.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from deltalake import DeltaTable

from pipelines.store.instants import in_microseconds
from pipelines.store.ledger_rows import LedgerRow

_known: dict[str, Mapping[str, list[LedgerRow]]] = {}
"""By table, the rows of each of its files as it was last read."""


def rows_of(runs: DeltaTable) -> list[LedgerRow]:
    """The rows of a ledger as it was opened."""
    known, stored = _known.get(runs.table_uri, {}), runs.to_pyarrow_dataset()
    files: dict[str, list[LedgerRow]] = {}
    for file in stored.get_fragments():
        read = known.get(file.path)
        files[file.path] = _rows(file.to_table(schema=stored.schema)) if read is None else read
    _known[runs.table_uri] = files
    return [row for rows in files.values() for row in rows]


def _rows(stored: pa.Table) -> list[LedgerRow]:
    return [LedgerRow.of(row) for row in in_microseconds(stored).to_pylist(maps_as_pydicts="strict")]
