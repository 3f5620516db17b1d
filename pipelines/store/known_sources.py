"""The sources of all specs that there were: what may have been written, and by whom it may be no more."""

from __future__ import annotations

import json
from collections.abc import Collection

from deltalake import DeltaTable

from pipelines.store import small
from pipelines.store.fence import BY_SOURCE, Fence, lane_of
from pipelines.store.tables import Folder

SOURCES = "sash.sources"
"""The property of `attempts` that tells their names."""


def know_sources(store: Folder, names: Collection[str]) -> None:
    """Remember the names of sources before anything is written for them: whoever sleeps then can be shut out
    also where the spec has other names since.
    """

    def commit() -> None:
        opened = small.open_table(store, "attempts")
        known = _sources(opened)
        if not known.issuperset(names):
            told = json.dumps(sorted(known.union(names)))
            opened.alter.set_table_properties(
                {SOURCES: told}, raise_if_not_exists=False, commit_properties=small.ONCE
            )

    small.retried(commit, "attempts")


def known_sources(store: Folder) -> frozenset[str]:
    """The names of all sources for which something may have been written, under whatever spec."""
    return _sources(small.open_table(store, "attempts"))


def shut_out(store: Folder, *, until: int) -> None:
    """Let no attempt up to this number write for a source: one under another spec would take away the rows of
    those that its spec does not have.
    """
    for source in sorted(known_sources(store)):
        for table in BY_SOURCE:
            if small.is_there(store, table):
                # An attempt may put its rows in the place of its own, but not append twice.
                number = until + 1 if table == "watermarks" else until
                small.say_written(store, table, fence=Fence(lane=lane_of(table, source), attempt=number))


def _sources(opened: DeltaTable) -> frozenset[str]:
    return frozenset(json.loads(opened.metadata().configuration.get(SOURCES) or "[]"))
