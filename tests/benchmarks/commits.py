"""What Delta's commits took, by the clocks of files: from the last file of data to the entry of the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Commit(NamedTuple):
    """A commit that added files: when its entry was there (seconds since 1970), and the seconds it took."""

    at: float
    seconds: float


def commits(store: Path) -> list[Commit]:
    """All commits of a store's tables that added files which are still there."""
    found = []
    for entry in store.rglob("_delta_log/*.json"):
        at = entry.stat().st_mtime
        folder = entry.parent.parent
        added = [line["add"]["path"] for line in _lines(entry) if "add" in line]
        written = [(folder / path).stat().st_mtime for path in added if (folder / path).exists()]
        if written:
            found.append(Commit(at=at, seconds=at - max(written)))
    return found


def _lines(entry: Path) -> list[dict[str, dict[str, str]]]:
    return [json.loads(line) for line in entry.read_text().splitlines()]
