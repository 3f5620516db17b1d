"""From raw rows to events, each with a fate.

In come the rows of one source and one batch, by any Spark reader, out go events with their time in
microseconds and a fate: accepted, late, duplicate or quarantined, and the newest times seen. Promised: each
row of the batch has exactly one fate, decided by what was known before the batch alone, and a broken row is
kept as it came.
"""

from pipelines.ingest.duplicates import counted_ids, known_ids, with_duplicates
from pipelines.ingest.events import ARRIVAL_US, EVENT_US, SUBSTREAM, to_events
from pipelines.ingest.fate import (
    FATE,
    fated,
    is_accepted,
    late_events,
    not_yet_quarantined,
    passes,
    quarantined_rows,
)
from pipelines.ingest.files import has_files, local_bytes
from pipelines.ingest.read import read_rows
from pipelines.ingest.rules import RowRule
from pipelines.ingest.tally import CONTENT, content, tally
from pipelines.ingest.verify import verify

__all__ = [
    "ARRIVAL_US",
    "CONTENT",
    "EVENT_US",
    "FATE",
    "SUBSTREAM",
    "RowRule",
    "content",
    "counted_ids",
    "fated",
    "has_files",
    "is_accepted",
    "known_ids",
    "late_events",
    "local_bytes",
    "not_yet_quarantined",
    "passes",
    "quarantined_rows",
    "read_rows",
    "tally",
    "to_events",
    "verify",
    "with_duplicates",
]
