"""Tells of every commit into a store in the order in which they are made, and at once: by Linux's inotify.

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
from typing import Self

# Of `inotify.h`: something came, by being made or by a new name; and what came is a folder.
CREATED, MOVED_TO = 0x100, 0x80
EVENT = struct.Struct("iIII")
MOST_BYTES = 1 << 16
COMMIT = re.compile(r"\d{20}\.json")
LOG = "_delta_log"
DEPTH = 3
"""Below a store: a pipeline, a table, its log."""


class Watch:
    """What is committed from now on: `tables` are those committed to, one for each commit, in order."""

    def __init__(self, store: Path) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.queue = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.folders: dict[int, Path] = {}
        self.seen: set[Path] = set()
        self.tables: list[str] = []
        self.store = store
        store.mkdir(parents=True, exist_ok=True)
        self._look_at(store)
        self.tables.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.queue)

    def sees(self, number: int, *, seconds: float, table: str | None = None) -> bool:
        """Whether so many commits were made, to one table or to any; waits for them for a while."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.count(table) >= number:
                return True
            if select.select([self.queue], [], [], left)[0]:
                self.catch_up()
        return False

    def count(self, table: str | None) -> int:
        return len(self.tables) if table is None else self.tables.count(table)

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
        if path.parent.name == LOG:
            if COMMIT.fullmatch(path.name) and path not in self.seen:
                self.seen.add(path)
                self.tables.append(path.parts[-3])
        elif self._is_of_logs(path):
            self._look_at(path)

    def _look_at(self, folder: Path) -> None:
        """What came into a new folder before it was looked at came too."""
        which = self.libc.inotify_add_watch(self.queue, os.fsencode(folder), CREATED | MOVED_TO)
        self.folders[which] = folder
        for path in sorted(folder.iterdir()):
            self._came(path)

    def _is_of_logs(self, path: Path) -> bool:
        depth = len(path.relative_to(self.store).parts)
        return (depth < DEPTH or (depth == DEPTH and path.name == LOG)) and path.is_dir()
