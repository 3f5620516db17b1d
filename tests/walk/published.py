"""Tables with windows in them, read by delta-rs: instants are microseconds."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from pipelines.intervals import EARLIEST_US, LATEST_US


def rows_of(table: Path) -> list[dict]:
    """The rows with `start` and `end` beside them; the window of all time has bounds there too."""
    return [
        {
            **row,
            "start": EARLIEST_US if row["window_start"] is None else row["window_start"],
            "end": LATEST_US if row["window_end"] is None else row["window_end"],
        }
        for row in in_microseconds(table)
    ]


def in_microseconds(table: Path) -> list[dict]:
    """The rows of any table; of one that was never written, none."""
    if not table.exists():
        return []
    whole = DeltaTable(table).to_pyarrow_table()
    for place, of in enumerate(whole.schema):
        if str(of.type).startswith("timestamp"):
            whole = whole.set_column(place, of.name, whole.column(place).cast("int64"))
    return list(whole.to_pylist())
