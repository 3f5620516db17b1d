"""Paths that stand for the files of a batch: `{from:%Y-%m-%d}` and `{to:%H}` in them.

`{from:…}` takes every value that its format has over the half-open batch, in steps of the finest directive of
the path; `{to:…}` is the batch's end. All else, globs too, stays as it is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from datetime import MAXYEAR, UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from pipelines.errors import CorrectTheCall
from pipelines.intervals import LATEST_US, Interval, floor_to, from_us, to_us
from pipelines.spec.durations import UNITS_US
from pipelines.spec.model import Pipeline
from pipelines.spec.secret_values import hide

PLACEHOLDER = re.compile(r"\{(from|to)(?::([^{}]*))?\}")
LIKE_PLACEHOLDER = re.compile(r"\{[^{}]*%[^{}]*\}")
UNCLOSED = re.compile(r"\{(?:from|to):[^{}/]*(?=[/{]|$)")
NOT_IN_STORES = re.compile(r"[\[\]\\^|\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}")
IN_GLOBS = re.compile(r"[\[{*?\\]")
DIRECTIVE = re.compile(r"%(-?.?)", re.DOTALL)
DAY, HOUR, MINUTE, SECOND = (UNITS_US[unit] for unit in ("day", "hour", "minute", "second"))
STEPS_US = {
    **dict.fromkeys(("Y", "y", "m", "d", "j", "F", "G", "V", "u"), DAY),
    "H": HOUR,
    **dict.fromkeys(("M", "R"), MINUTE),
    **dict.fromkeys(("S", "T"), SECOND),
}
"""What can be written of an instant, and how often it changes. Digits only: names have a language."""
DATES = ({"F"}, {"Y", "m", "d"}, {"Y", "j"}, {"G", "V", "u"})
"""What tells a date from all others."""
CYCLES_US = {**dict.fromkeys(("H", "R", "T"), DAY), "M": HOUR, "S": MINUTE}
"""What is written of the time of day, and after how long it begins anew."""

FORMATS = {
    "F": "{0.year:04}-{0.month:02}-{0.day:02}",
    "R": "{0.hour:02}:{0.minute:02}",
    "T": "{0.hour:02}:{0.minute:02}:{0.second:02}",
    "Y": "{0.year:04}",
    "m": "{0.month:02}",
    "d": "{0.day:02}",
    "H": "{0.hour:02}",
    "M": "{0.minute:02}",
    "S": "{0.second:02}",
}
YEAR = 12
"""Months."""
MOST_PATHS = 10_000
MOST_BYTES = 255
"""Of a file's name, on the disks of Linux and of macOS."""
URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
REMOTE_STORES = ("abfs", "abfss", "adl", "az", "azure", "gs", "hdfs", "s3", "s3a")
"""What delta-rs knows of the means by which Hadoop, and so Spark, reaches a store."""


def refuse_too_many_paths(pipeline: Pipeline, batch: Interval) -> None:
    """Raise `CorrectTheCall` where a path of the pipeline has more values over a batch than can be read."""
    for source in pipeline.sources:
        expand_paths(source.path or "", batch)


def expand_paths(path: str, batch: Interval) -> tuple[str, ...]:
    """The paths that a path stands for over a batch, in order of time, each once.

    Raises `CorrectTheCall` where they are too many to be read at once.
    """
    filled = _fill(path, "to", instant=from_us(min(batch.end_us, LATEST_US)))
    found: dict[str, None] = {}
    for at_us in _instants(filled, batch):
        found[_fill(filled, "from", instant=from_us(at_us))] = None
        if len(found) > MOST_PATHS:
            raise CorrectTheCall(
                f"`{path}`: found more than {MOST_PATHS:,} values of it in batch {batch}; "
                "take a smaller batch, or a coarser format with a glob behind it"
            )
    return tuple(found)


def glob_of(path: str) -> str:
    """The glob of all that a path can stand for, whatever the batch: digits where it has a time.

    A path without a time is its own.
    """

    def any_value(directive: re.Match[str]) -> str:
        if directive[1].startswith("-"):
            return "[0-9]*"
        return re.sub(r"\d", "[0-9]", _value(from_us(0), directive[1]))

    return PLACEHOLDER.sub(lambda place: DIRECTIVE.sub(any_value, place[2] or ""), path)


def shares_files(path: str | None, batch: Interval, *, batches: Collection[Interval]) -> bool:
    """Whether a batch reads by a path what one of others reads by it too.

    Of what has no path, or no place for time in it, all read all.
    """
    if path is None or not PLACEHOLDER.search(path):
        return bool(batches)
    mine = _paths(path, batch)
    return any(not mine.isdisjoint(_paths(path, other)) for other in batches)


def span_of(path: str, batch: Interval) -> Interval | None:
    """What the files of a batch are of, where their path tells the date of each: the batch, grown to whole
    steps of the path. `None` where it does not.
    """
    places = list(PLACEHOLDER.finditer(path))
    names = {name.removeprefix("-") for it in places for name in DIRECTIVE.findall(it[2] or "")} - {"%"}
    if any(it[1] == "to" for it in places) or not any(names >= date for date in DATES):
        return None
    step_us = min(STEPS_US[name] for name in names)
    return Interval(floor_to(batch.start_us, step_us), -floor_to(-batch.end_us, step_us))


def _paths(path: str, batch: Interval) -> frozenset[str]:
    """The paths of a batch; none where they are too many, for then it has been read by another path."""
    try:
        return frozenset(expand_paths(path, batch))
    except CorrectTheCall:
        return frozenset()


def is_uri(path: str) -> bool:
    """Whether a path says by what means it is reached: `s3a://…`, `file:/…`."""
    return URI.match(path) is not None


def store_at(named: str, start: Path) -> str:
    """The address of a store: a URI as it is, a folder as an absolute path, which begins at `start`. Raises
    `CorrectTheCall` where there can be no such store, or delta-rs can name no table in it.
    """
    if named.startswith("file:/"):
        named = "/" + unquote(named.removeprefix("file:").lstrip("/"))
    uri = URI.match(named)
    if uri is not None:
        if uri[1].lower() not in REMOTE_STORES:
            allowed = f"allowed is a folder, or a URI of {', '.join(REMOTE_STORES)}"
            raise CorrectTheCall(f"store {hide(named, ())!r}: found `{uri[1]}:`; {allowed}")
        if not named[uri.end() :].strip("/"):
            raise CorrectTheCall(f"store {named!r}: found nothing behind `{uri[1]}:`; wanted is a name")
        return named.rstrip("/")
    try:
        return _store_in((start / Path(named).expanduser()).resolve())
    except (OSError, RuntimeError) as error:
        # No such user, a folder that may not be entered, a name that is too long.
        why = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        raise CorrectTheCall(f"store {named!r}: {why}; allowed is a folder, new or old") from error


def _store_in(folder: Path) -> str:
    found = NOT_IN_STORES.search(str(folder))
    if found is not None:
        allowed = "allowed is a path without any of [ ] \\ ^ |, control characters and escapes like %20"
        raise CorrectTheCall(f"store {str(folder)!r}: found {found[0]!r}; {allowed}")
    file = next((it for it in (folder, *folder.parents) if it.is_file()), None)
    if file is not None:
        raise CorrectTheCall(f"store {str(folder)!r}: {file} is a file; allowed is a folder, new or old")
    return str(folder)


def home_problem(home: Path, paths: Collection[str]) -> str | None:
    """What is wrong with the home of a spec as the start of relative paths: Spark reads them as globs."""
    begins_there = any(path and not path.startswith("/") and not is_uri(path) for path in paths)
    found = IN_GLOBS.search(str(home)) if begins_there else None
    if found is None:
        return None
    return (
        f"relative paths start at {home}, and Spark takes `{found[0]}` for a part of a glob: call the folder "
        "otherwise, name another as SASH_HOME, or make the paths absolute"
    )


def path_problems(path: str) -> Iterator[str]:
    """What is wrong with the placeholders of a path, or else with the names that they make."""
    problems = [*_placeholder_problems(path)]
    yield from problems or (*_colons(path), *_names(path))


def _names(path: str) -> Iterator[str]:
    """A disk has no place for some names, and Python no glob for the whole of it."""
    if path.startswith("/") and not posixpath.normpath(path).strip("/"):
        yield f"`{path}` is the whole disk; allowed is a file, or a folder on it"
    named = PLACEHOLDER.sub(lambda place: _written(from_us(0), place[2]), path)
    if not is_uri(path) and any(len(name.encode()) > MOST_BYTES for name in named.split("/")):
        most = f"the {MOST_BYTES} bytes that a disk has for one"
        yield f"`{path[:40]}…` has a name in it that is longer than {most}; shorten it"


def _colons(path: str) -> Iterator[str]:
    """Hadoop takes what is before a colon for a scheme, in whatever a glob goes through."""
    named = PLACEHOLDER.sub(lambda place: _written(from_us(0), place[2]), path)
    if ":" in named and not is_uri(path) and any(mark in named for mark in "*?[{"):
        yield (
            f"`{path}` has a glob beside names with a colon in them, through which Spark cannot look on a "
            "disk; allowed is a time without, like `{from:%H%M}` or `{from:%H-%M}`"
        )


def _placeholder_problems(path: str) -> Iterator[str]:
    rest = PLACEHOLDER.sub("", path)
    for begun in UNCLOSED.findall(rest):
        yield f"`{begun}` is not closed; write `{begun}}}`"
    for other in LIKE_PLACEHOLDER.findall(rest):
        yield f"`{other}` stands for no time; allowed is one like `{{from:%Y-%m-%d}}` or `{{to:%H}}`"
    for placeholder in PLACEHOLDER.finditer(path):
        written, template = placeholder[0], placeholder[2]
        if not template or "%" not in template:
            yield f"`{written}` has no format; allowed is one like `{{{placeholder[1]}:%Y-%m-%d}}`"
            continue
        for directive in DIRECTIVE.findall(template):
            if directive != "%" and directive.removeprefix("-") not in STEPS_US:
                known = ", ".join(f"%{name}" for name in STEPS_US)
                yield f"`{written}`: found `%{directive}`; allowed are {known} and %%"


def _instants(path: str, batch: Interval) -> Iterator[int]:
    """Instants of a batch at which a path has all its values, in order of time, however long the batch is.

    Times of day are gone through for a date that is written as none before it.
    """
    formats = [found[2] or "" for found in PLACEHOLDER.finditer(path) if found[1] == "from"]
    names = {name.removeprefix("-") for template in formats for name in DIRECTIVE.findall(template)} - {"%"}
    end_us = min(batch.end_us, LATEST_US + 1)
    times = names & CYCLES_US.keys()
    if not times:
        yield from _dates(names, batch.start_us, end_us=end_us)
        return
    step_us, cycle_us = min(STEPS_US[name] for name in times), max(CYCLES_US[name] for name in times)
    whole: set[str] = set()
    for day_us in range(floor_to(batch.start_us, DAY), end_us, DAY):
        date = _fill(path, "from", instant=from_us(day_us))
        if date not in whole:
            first_us = max(floor_to(batch.start_us, step_us), day_us)
            last_us = min(first_us + cycle_us, day_us + DAY, end_us)
            yield from range(first_us, last_us, step_us)
            if last_us == first_us + cycle_us:
                whole.add(date)


def _dates(names: Collection[str], start_us: int, *, end_us: int) -> Iterator[int]:
    """Where the days begin, or the months or years where the names tell no more, from `start_us` on."""
    if not {"Y", "y", "m"}.issuperset(names):
        yield from range(floor_to(start_us, DAY), end_us, DAY)
        return
    start, months = from_us(start_us), 1 if "m" in names else YEAR
    month = YEAR * start.year + (start.month - 1) * (months == 1)
    while month < YEAR * (MAXYEAR + 1):
        at_us = to_us(datetime(month // YEAR, month % YEAR + 1, 1, tzinfo=UTC))
        if at_us >= end_us:
            return
        yield at_us
        month += months


def _fill(path: str, which: str, *, instant: datetime) -> str:
    def filled(placeholder: re.Match[str]) -> str:
        return _written(instant, placeholder[2] or "") if placeholder[1] == which else placeholder[0]

    return PLACEHOLDER.sub(filled, path)


def _written(instant: datetime, template: str) -> str:
    """As `strftime`, the same on every platform and in every language."""
    return DIRECTIVE.sub(lambda directive: _value(instant, directive[1]), template)


def _value(instant: datetime, directive: str) -> str:
    name = directive.removeprefix("-")
    if name == "%":
        return "%"
    if directive.startswith("-"):
        return _value(instant, name).lstrip("0") or "0"
    year, week, weekday = instant.isocalendar()
    others = {
        "y": f"{instant.year % 100:02}",
        "j": f"{instant.timetuple().tm_yday:03}",
        "G": f"{year:04}",
        "V": f"{week:02}",
        "u": f"{weekday}",
    }
    return others[name] if name in others else FORMATS[name].format(instant)
