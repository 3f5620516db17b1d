"""The partial states of a batch, as far as a spec has windows for them."""

from __future__ import annotations

from pipelines.spec import Pipeline
from pipelines.store.sql import is_one_of
from pipelines.windows import grids_of

PARTIALS = {"partial_frames": "grid", "partial_sessions": "window"}
"""Tables of partial states, and the column that tells which windows a row is for."""


def is_asked_for(pipeline: Pipeline, table: str) -> str:
    """The predicate that a row of such a table is for a window that there is. What was made for others counts
    nowhere.
    """
    of_sessions = table == "partial_sessions"
    return is_one_of(PARTIALS[table], [it.name for it in grids_of(pipeline) if it.of_sessions == of_sessions])
