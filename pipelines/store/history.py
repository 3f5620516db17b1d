"""The tables as they once were, from Delta's own history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import TableNotFoundError

from pipelines.store import small
from pipelines.store.fence import Fence
from pipelines.store.tables import PARTITIONED_BY, Folder

OF_THE_LEDGER = ("runs", "attempts")
"""Tables that say themselves what holds, and are never what they once were."""


def versions(store: Folder) -> Mapping[str, int]:
    """The versions that the tables now have, of those that are there."""
    others = [table for table in PARTITIONED_BY if table not in OF_THE_LEDGER]
    found = {table: _opened(store, table) for table in others}
    return {table: opened.version() for table, opened in found.items() if opened is not None}


def restore(
    store: Folder,
    table: str,
    *,
    version: int,
    fences: Sequence[Fence],
    still_mine: Callable[[], None] = small.certainly,
) -> None:
    """Let a table be as it was at a version, and let nobody write in the lanes who was there before; unless
    `still_mine` raises: whoever slept may find that others have gone on with the batch.

    A table that there is not stays away.
    """

    def commit() -> None:
        opened = _opened(store, table)
        if opened is None:
            return
        # Asked between reading and writing: if others write after this, the commit fails.
        still_mine()
        marks = CommitProperties(
            app_transactions=[Transaction(fence.lane, fence.attempt) for fence in fences],
            max_commit_retries=0,
        )
        if version < opened.version():
            opened.restore(version, commit_properties=marks)
        else:
            write_deltalake(opened, small.to_arrow(opened, []), mode="append", commit_properties=marks)

    small.retried(commit, table)


def undo(store: Folder, table: str, *, version: int, since: int, fence: Fence) -> None:
    """Let a table be as it was at a version, if an attempt from number `since` on has written in the lane.

    It is left open to this one alone, and to those after it, whose rows stay.
    """

    def commit() -> None:
        opened = small.open_table(store, table)
        written = opened.transaction_version(fence.lane)
        # In one commit with the look: what an older one writes meanwhile is looked at.
        shut = small.marked(fence.of_older())
        if written is not None and since <= written < fence.attempt and opened.version() > version:
            opened.restore(version, commit_properties=shut)
        elif written is None or written < fence.of_older().attempt:
            write_deltalake(opened, small.to_arrow(opened, []), mode="append", commit_properties=shut)

    small.retried(commit, table)


def _opened(store: Folder, table: str) -> DeltaTable | None:
    try:
        return small.open_table(store, table)
    except TableNotFoundError:
        return None
