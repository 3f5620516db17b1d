"""Events → partial frames, where the data is: one source, one batch, on its own.

In come the fated events of one source and batch, out go one state per key and frame, and the newest times
per substream. Promised: a state holds each accepted event of its frame once, and the raw rows are gone
through once.
"""

from pipelines.accumulate.frames import accumulate, newest_per_substream, partial_frames, tally_states
from pipelines.accumulate.placing import is_one_grid
from pipelines.accumulate.replacing import (
    DIFFERS,
    FRAME,
    PROTO,
    at_places,
    changed_places,
    marked,
    with_vanished,
)
from pipelines.accumulate.sessions import partial_sessions

__all__ = [
    "DIFFERS",
    "FRAME",
    "PROTO",
    "accumulate",
    "at_places",
    "changed_places",
    "is_one_grid",
    "marked",
    "newest_per_substream",
    "partial_frames",
    "partial_sessions",
    "tally_states",
    "with_vanished",
]
