"""Tells of every commit into a store, or of every data file, in the order in which they are made, and at
once: by Linux's inotify.

Who looks at the folder every millisecond sees some only when the next one is there too.
"""

from __future__ import annotations

import ctypes
import os
import re
import select
import struct
import time
from pathlib import Path
from typing import Literal, Self

# Of `inotify.h`: something came, by being made or by a new name; and what came is a folder.
CREATED, MOVED_TO = 0x100, 0x80
EVENT = struct.Struct("iIII")
MOST_BYTES = 1 << 16
LOG = "_delta_log"
TABLE = 2
"""How deep a table lies below a store: in a pipeline's folder. Its log and its data lie below that."""

What = Literal["commit", "data file"]

NAMES: dict[What, re.Pattern[str]] = {
    "commit": re.compile(r"\d{20}\.json"),
    "data file": re.compile(r"[^.].*\.parquet"),
}


class Watch:
    """What is written from now on: the `writes`, in order."""

    def __init__(self, store: Path, what: What = "commit") -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.queue = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.folders: dict[int, Path] = {}
        self.seen: set[Path] = set()
        self.writes: list[Path] = []
        self.store = store
        self.what: What = what
        store.mkdir(parents=True, exist_ok=True)
        self._look_at(store)
        self.writes.clear()

    @property
    def tables(self) -> list[str]:
        """Those written to, one for each write, in order."""
        return [table_of(path, self.store) for path in self.writes]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.queue)

    def sees(self, number: int, *, seconds: float, table: str | None = None) -> bool:
        """Whether there were so many writes, to one table or to any; waits for them for a while."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.count(table) >= number:
                return True
            if select.select([self.queue], [], [], left)[0]:
                self.catch_up()
        return False

    def count(self, table: str | None) -> int:
        return len(self.writes) if table is None else self.tables.count(table)

    def catch_up(self) -> None:
        """Take in what has happened."""
        try:
            told = os.read(self.queue, MOST_BYTES)
        except BlockingIOError:
            return
        at = 0
        while at < len(told):
            which, _, _, length = EVENT.unpack_from(told, at)
            at += EVENT.size
            name = told[at : at + length].rstrip(b"\0").decode()
            at += length
            self._came(self.folders[which] / name)

    def _came(self, path: Path) -> None:
        way = path.relative_to(self.store).parts
        is_apart = (LOG in way[TABLE:]) != (self.what == "commit")
        if len(way) > TABLE and is_apart:
            return
        if len(way) > TABLE and NAMES[self.what].fullmatch(path.name):
            if path not in self.seen:
                self.seen.add(path)
                self.writes.append(path)
        elif path.is_dir():
            self._look_at(path)

    def _look_at(self, folder: Path) -> None:
        """What came into a new folder before it was looked at came too."""
        which = self.libc.inotify_add_watch(self.queue, os.fsencode(folder), CREATED | MOVED_TO)
        self.folders[which] = folder
        for path in sorted(folder.iterdir()):
            self._came(path)


def table_of(path: Path, store: Path) -> str:
    """The table of a file somewhere in a store."""
    return path.relative_to(store).parts[TABLE - 1]
