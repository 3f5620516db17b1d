"""The tables as they once were, from Delta's own history."""

from __future__ import annotations

from collections.abc import Sequence

from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import TableNotFoundError

from pipelines.errors import CorrectTheCall
from pipelines.store import small
from pipelines.store.fence import Fence
from pipelines.store.tables import Folder

MILLISECOND_US = 1_000


def restore(store: Folder, table: str, *, at_us: int, fences: Sequence[Fence]) -> None:
    """Let a table be as it was at an instant, and let nobody write in the lanes who was there before.

    A table that there is not stays away. Raises `CorrectTheCall` where its history begins later.
    """

    def commit() -> None:
        try:
            opened = small.open_table(store, table)
        except TableNotFoundError:
            return
        marks = CommitProperties(
            app_transactions=[Transaction(fence.lane, fence.attempt) for fence in fences],
            max_commit_retries=0,
        )
        version = _version_at(opened, table, at_us=at_us)
        if version < opened.version():
            opened.restore(version, commit_properties=marks)
        else:
            write_deltalake(opened, small.to_arrow(opened, []), mode="append", commit_properties=marks)

    small.retried(commit, table)


def _version_at(opened: DeltaTable, table: str, *, at_us: int) -> int:
    """The newest version that had been committed at an instant; of a table that was made since the first, in
    which it was empty.
    """
    history = opened.history()
    versions = [int(entry["version"]) for entry in history if entry["timestamp"] * MILLISECOND_US <= at_us]
    if any(int(entry["version"]) == 0 for entry in history):
        versions.append(0)
    if not versions:
        raise CorrectTheCall(
            f"table `{table}`: its history begins after the batch did, so it cannot be "
            "undone; run the batch again instead"
        )
    return max(versions)
