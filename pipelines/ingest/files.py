"""What lies at a source's paths, as far as this machine can tell without Spark.

Of remote paths, and of such as Python would take otherwise, only Spark tells, when it reads.
"""

from __future__ import annotations

import re
from pathlib import Path

from pipelines.errors import CorrectTheSpec
from pipelines.ingest.globs import find, is_hidden, telling
from pipelines.intervals import Interval
from pipelines.spec import Source, expand_paths, glob_of, is_uri

OF_FILES = ("avro", "binaryfile", "csv", "json", "orc", "parquet", "text", "xml")
"""Formats of which Spark reads the files of a folder; what others make of one only they know."""
RECURSIVE = "recursiveFileLookup"
GLOB_SIGNS = re.compile(r"[\[\]{}*?\\]")


def has_files(source: Source, *, batch: Interval, home: Path) -> bool:
    """Whether the source has something to be read for the batch, as far as this machine can tell."""
    if source.path is None:
        return True
    paths, goes_down = expand_paths(source.path, batch), goes_down_in(source)
    return any(is_there(absolute(path, home), goes_down=goes_down) for path in paths)


@telling()
def any_path(source: Source, home: Path) -> str:
    """A path that holds the source's files of some batch: enough to learn its schema.

    Of those on this machine's disk it is the newest by name, for to list them all takes as long as there is
    history.
    """
    pattern = absolute(glob_of(str(source.path)), home)
    if only_spark_tells(pattern):
        return pattern
    newest_first = sorted(find(pattern), reverse=True)
    goes_down = goes_down_in(source)
    holding = next((path for path in newest_first if _holds_a_file(path, goes_down=goes_down)), None)
    if holding is not None:
        return as_asked(source, holding)
    for path in newest_first:
        refuse_deeper(source, str(path))
    has_times = glob_of(str(source.path)) != source.path
    remedies = ", correct `path`, or declare `schema`, so that no file means no rows"
    raise CorrectTheSpec(
        f"source `{source.name}`",
        (
            f"there is no file at {absolute(str(source.path), home)} for any batch; put one there"
            f"{remedies if has_times else ' or correct `path`'}",
        ),
    )


def local_bytes(source: Source, *, batch: Interval, home: Path, most: int) -> int | None:
    """How many bytes the files have that the batch reads, counted until they are more than `most`.

    `None` where they are not on this machine's disk, where only Spark knows which they are, and where one
    goes away meanwhile.
    """
    if source.path is None:
        return None
    paths = [absolute(path, home) for path in expand_paths(source.path, batch)]
    if any(map(only_spark_tells, paths)):
        return None
    total = 0
    try:
        for found in (it for path in paths for it in find(path)):
            for file in found.rglob("*") if found.is_dir() else (found,):
                total += 0 if is_hidden(file.name) else file.stat().st_size
                if total > most:
                    return total
    except OSError:
        return None
    return total


@telling()
def is_there(path: str, *, goes_down: bool) -> bool:
    """Whether a local path or glob finds a file. Of others Spark tells when reading.

    `goes_down`: files in folders below are read too, whatever these are called.
    """
    return only_spark_tells(path) or any(_holds_a_file(it, goes_down=goes_down) for it in find(path))


def goes_down_in(source: Source) -> bool:
    """Whether files in folders below are read too, whatever these are called."""
    told = {name.lower(): value.lower() for name, value in source.options}
    # A base path makes columns of the folders above.
    asked = told.get(RECURSIVE.lower()) == "true" or "basepath" in told
    return asked or source.format not in OF_FILES


def is_out_of_reach(source: Source, home: Path) -> bool:
    """Whether all files that its path could mean lie in folders into which Spark does not look."""
    pattern = absolute(glob_of(str(source.path)), home)
    reached = is_there(pattern, goes_down=goes_down_in(source))
    return not reached and is_there(pattern, goes_down=True)


def refuse_colon(source: Source, path: str) -> None:
    """Raise `CorrectTheSpec` where a path is a file that Spark cannot open: on a disk it looks for one with
    its sums beside it, and takes what is before a colon for a scheme.
    """
    if not only_spark_tells(path) and ":" in Path(path).name and Path(path).is_file():
        raise CorrectTheSpec(
            f"source `{source.name}`",
            (f"the file {path} has a colon in its name, which Spark cannot open; call it otherwise",),
        )


def refuse_deeper(source: Source, path: str) -> None:
    """Raise `CorrectTheSpec` where there are files at a path, all in folders where Spark does not look."""
    if is_there(path, goes_down=True):
        raise CorrectTheSpec(
            f"source `{source.name}`",
            (
                f"the files at {path} lie in folders below it, where Spark looks only if these are called "
                f"like `day=2024-01-31`; say so in `path`, like `{source.path}/*`, or in `options`: "
                f"{{{RECURSIVE}: true}}",
            ),
        )


@telling()
def exists(path: str) -> bool:
    """Whether there is a local folder, be it empty."""
    return not only_spark_tells(path) and bool(find(path))


def only_spark_tells(path: str) -> bool:
    """Whether a path is remote, or has something in it that Python takes otherwise: braces, a doubled star, a
    backslash, or a class of letters that are not meant.
    """
    return is_uri(path) or any(mark in path for mark in ("{", "**", "\\", "[^"))


def _holds_a_file(path: Path, within: tuple[Path, ...] = (), *, goes_down: bool) -> bool:
    """Whether there is one that Spark would read, be it below in folders that stand for a column. A table of
    Delta's needs none.
    """
    if not path.is_dir():
        return path.is_file() and not is_hidden(path.name)
    if (path / "_delta_log").is_dir():
        return True
    # A link may lead back to where it lies.
    folder = path.resolve()
    below = [it for it in (path.iterdir() if folder not in within else ()) if not is_hidden(it.name)]
    goes_down = goes_down or (within != () and "=" in path.name)
    if (goes_down or not within) and any(it.is_file() for it in below):
        return True
    return any(_holds_a_file(it, (*within, folder), goes_down=goes_down) for it in below if it.is_dir())


def as_asked(source: Source, found: Path) -> str:
    """What was found as Spark is asked for it: of files it takes every path for a glob."""
    return GLOB_SIGNS.sub(r"\\\g<0>", str(found)) if source.format in OF_FILES else str(found)


def absolute(path: str, home: Path) -> str:
    """A path as the spec means it: one that is relative begins at the home of the spec."""
    return path if is_uri(path) or path.startswith("/") else str(home / path)
