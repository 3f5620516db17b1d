"""What a path or a glob finds on this machine's disk, told apart from where nobody can look.

Python's own globs pass over a folder that may not be entered, and over a link that leads nowhere: of what
lies there it would be said that it is no rows.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from pipelines.errors import RunAgain

NOTHING = (FileNotFoundError, NotADirectoryError)
"""What the disk says where there is nothing of the name."""
COPYING = "._COPYING_"
"""How Hadoop ends the name of a file of which only a part has come."""


def find(pattern: str) -> list[Path]:
    """All that there is at a local path or glob, in no order. Raises `OSError` where that cannot be told: of
    whatever a glob finds too, but for folders that a disk keeps for itself.
    """
    found, is_of_glob = [Path("/")], False
    for name in Path(pattern).parts[1:]:
        is_glob = any(mark in name for mark in "*?[")
        below = _matching if is_glob else _named
        found = [it for folder in found for it in _looked(below, folder, name=name, may_be_closed=is_of_glob)]
        is_of_glob = is_glob
    return found


@contextmanager
def telling() -> Iterator[None]:
    """What the disk refuses, as `RunAgain`, with what to do."""
    try:
        yield
    except OSError as error:
        raise RunAgain(
            f"{error.filename} cannot be looked into: {error.strerror}; let the user that runs Sash read it, "
            "mount what it leads to, or leave it out of `path`, and run again: what is there would pass for "
            "no rows"
        ) from error


def is_hidden(name: str) -> bool:
    """Whether Spark passes over what is called so, like `_temporary`, where another job is still writing."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith(COPYING)


def _looked(
    below: Callable[[Path, str], list[Path]], folder: Path, *, name: str, may_be_closed: bool
) -> list[Path]:
    """What is below a folder. Nobody means one that a disk, or somebody else, keeps for its own purposes."""
    try:
        return below(folder, name)
    except PermissionError:
        if may_be_closed and (is_hidden(folder.name) or folder.name == "lost+found"):
            return []
        raise


def _named(folder: Path, name: str) -> list[Path]:
    path = folder / name
    try:
        is_link = stat.S_ISLNK(path.lstat().st_mode)
    except NOTHING:
        return []
    return [_led(path) if is_link else path]


def _matching(folder: Path, name: str) -> list[Path]:
    try:
        # Only links are looked at one by one: of a folder of a year that takes seconds on a slow disk.
        with os.scandir(folder) as below:
            found = [it for it in below if fnmatchcase(it.name, name)]
    except NOTHING:
        return []
    paths = [(folder / it.name, it.is_symlink() and not is_hidden(it.name)) for it in found]
    return [_led(path) if is_link else path for path, is_link in paths]


def _led(link: Path) -> Path:
    """The link, which leads to something. Raises `FileNotFoundError` where it leads nowhere."""
    if not link.exists():
        led = f"it leads to {link.readlink()}, where there is nothing"
        raise FileNotFoundError(errno.ENOENT, led, str(link))
    return link
