"""Rules between the objects of a spec: names that meet, and what is legal but unwise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal
from urllib.parse import quote

from pipelines.intervals import common_length
from pipelines.spec.durations import show_duration
from pipelines.spec.fields import Fields
from pipelines.spec.model import Cumulate, Global, Pipeline, Sliding
from pipelines.spec.reserved import (
    EVENT_ID_COLUMNS,
    GRIDS,
    ILLEGAL,
    LATE_EVENT_COLUMNS,
    RESULT_COLUMNS,
)
from pipelines.spec.yaml import Located

Problem = tuple[int, str]
Named = tuple[str, int]
"""A name and its line."""
ALLOWED = "allowed is a name without blanks and .,;{}()=`, and without _ at its beginning"
PLAIN = re.compile(r"(?=.*[^\W\d_])\w[\w-]*")
"""Without a letter a name may be a date, which is not compared as a text."""
LONGEST_NAME = 200
"""That of a pipeline: of a group of tasks in Airflow, which has 250 letters for the id of a task."""
MOST_STEPS = 10_000
TINY, NEAR = 1 / 200, 5
"""A frame below this part of the longest window is tiny, if every size and step is so many times longer: 7 s
beside 1 h gives frames of one second.
"""


def frame_us(pipeline: Pipeline, *, time: Literal["event", "arrival"] = "event") -> int:
    """The length of a frame: what stored frames have already, else the greatest common divisor of all sizes,
    steps and offsets of the windows that share them. Zero where none do.
    """
    kept = dict(pipeline.frame_lengths).get("aligned" if time == "event" else "arrival")
    lengths = [
        length_us
        for window in pipeline.windows
        if isinstance(window.shape, Sliding | Cumulate) and window.time == time
        for length_us in (window.shape.size_us, window.shape.step_us, window.shape.offset_us)
    ]
    return kept if kept is not None and lengths else common_length(lengths)


def name_problems(document: Fields) -> Iterator[Problem]:
    """What is wrong with names, each with its line. They are looked at as they stand in the document, so that
    none is passed over for something else that is wrong with it.
    """
    keys, aggregates = _listed(document.items.get("key")), _entries(document.items.get("aggregates"))
    yield from _column_names(keys, "key")
    yield from _column_names(aggregates, "aggregates")
    yield from _twice(keys, aggregates)
    yield from _part_names(keys, aggregates)
    yield from _plain_names(_entries(document.items.get("sources")), "sources")
    windows = _entries(document.items.get("windows"))
    yield from _plain_names(windows, "windows")
    yield from _names_of_grids(windows)
    for where, source in _sources(document):
        yield from _selected_names(_entries(source.get("select")), f"{where}.select")
        yield from _id_names(source.get("event_id"), where)


def _listed(located: Located | None) -> list[Named]:
    items = located.value if located is not None and isinstance(located.value, tuple) else ()
    return [(item.value, item.line) for item in items if isinstance(item.value, str)]


def _entries(located: Located | None) -> list[Named]:
    found = located.value if located is not None and isinstance(located.value, Mapping) else {}
    return [(name, entry.line) for name, entry in found.items()]


def _sources(document: Fields) -> Iterator[tuple[str, Mapping[str, Located]]]:
    """The sources, each by the name of its section: what they share stands there once."""
    several = document.items.get("sources")
    sections = {"source": document.items.get("source")}
    if several is not None and isinstance(several.value, Mapping):
        sections |= {f"sources.{name}": source for name, source in several.value.items()}
    for where, source in sections.items():
        if source is not None and isinstance(source.value, Mapping):
            yield where, source.value


def _column_names(named: list[Named], section: str) -> Iterator[Problem]:
    # A key is a column that is read, too.
    own = RESULT_COLUMNS | LATE_EVENT_COLUMNS if section == "key" else RESULT_COLUMNS
    for name, line in named:
        if name.lower() in own:
            yield line, f"{section}: `{name}` is the name of one of Sash's own columns; choose another"
        elif _is_illegal(name):
            yield (
                line,
                f"{section}: `{name}` cannot be a column of a table; {ALLOWED}",
            )
        elif "__" in name and section == "aggregates":
            yield (
                line,
                f"{section}: `{name}` has two underscores in a row, which part an aggregate from its parts; "
                "rename it",
            )


def _is_illegal(name: str) -> bool:
    # To Spark a star alone is all columns.
    return name in ("", "*") or name.startswith("_") or any(character in ILLEGAL for character in name)


def _twice(keys: list[Named], aggregates: list[Named]) -> Iterator[Problem]:
    known: set[str] = set()
    for section, named in (("key", keys), ("aggregates", aggregates)):
        for name, line in named:
            if name.lower() in known:
                yield line, f"{section}: the name `{name}` stands for two columns; rename one"
            known.add(name.lower())


def _part_names(keys: list[Named], aggregates: list[Named]) -> Iterator[Problem]:
    """Parts stand beside the key as `<aggregate>__<part>`."""
    for name, line in keys:
        for aggregate, _ in aggregates:
            if name.lower().startswith(f"{aggregate.lower()}__"):
                yield (
                    line,
                    f"key: `{name}` is named like a part of the aggregate `{aggregate}`; rename one",
                )


def _plain_names(named: list[Named], section: str) -> Iterator[Problem]:
    """Names that are values in tables and folders in a store, ids in Airflow, words on a command line."""
    first: dict[str, str] = {}
    for name, line in named:
        if len(quote(name)) > LONGEST_NAME:
            found = f"the name `{name[:20]}…` of {len(name)} letters"
            yield (
                line,
                f"{section}: found {found}; allowed are {LONGEST_NAME}, of which one outside of ASCII "
                "counts six or more, as in the name of a folder",
            )
        known = first.setdefault(name.lower(), name)
        if known != name:
            yield (
                line,
                f"{section}: found `{known}` and `{name}`; allowed are names that differ in more than case",
            )
        if not (PLAIN.fullmatch(name) or name.isidentifier()):
            yield (
                line,
                f"{section}: found the name `{name}`; allowed are letters, one at least, digits, _ and -, "
                "which cannot be first",
            )


def _names_of_grids(windows: list[Named]) -> Iterator[Problem]:
    for name, line in windows:
        if name.lower() in GRIDS:
            yield line, f"windows: `{name}` is what frames shared by windows are called; choose another"


def _selected_names(selected: list[Named], section: str) -> Iterator[Problem]:
    """What late events are kept beside cannot be selected, and a name stands for one column."""
    first: dict[str, str] = {}
    for name, line in selected:
        known = first.setdefault(name.lower(), name)
        if known != name:
            yield line, f"{section}: found `{known}` and `{name}`; allowed is a name once, in whatever case"
        if name.lower() in LATE_EVENT_COLUMNS:
            yield line, f"{section}: `{name}` is the name of one of Sash's own columns; choose another"
        elif _is_illegal(name):
            yield (
                line,
                f"{section}: `{name}` cannot be a column of a table; {ALLOWED}",
            )


def _id_names(event_id: Located | None, where: str) -> Iterator[Problem]:
    """Ids are remembered beside columns of Sash's own."""
    entries = event_id.value if event_id is not None and isinstance(event_id.value, Mapping) else {}
    for name, line in _listed(entries.get("of")):
        if name.lower() in EVENT_ID_COLUMNS:
            told = f"`{name}` is named like a column of event_ids; give it another name in `select`"
            yield line, f"{where}.event_id: {told}"


def warnings(pipeline: Pipeline) -> tuple[str, ...]:
    """What is legal and probably not meant."""
    return tuple(_warnings(pipeline))


def _warnings(pipeline: Pipeline) -> Iterator[str]:
    yield from _tiny_frames(pipeline, time="event")
    yield from _tiny_frames(pipeline, time="arrival")
    for name, shape in ((window.name, window.shape) for window in pipeline.windows):
        if isinstance(shape, Sliding | Cumulate) and shape.size_us > MOST_STEPS * shape.step_us:
            steps = shape.size_us // shape.step_us
            yield f"window `{name}` takes {steps:,} steps a size: every event is in as many windows"
        if isinstance(shape, Sliding) and shape.step_us > shape.size_us:
            yield f"window `{name}` has a step longer than its size: events between windows are in none"
    if any(isinstance(window.shape, Global) for window in pipeline.windows):
        for aggregate in pipeline.aggregates:
            if aggregate.op == "collect_list":
                yield f"aggregate `{aggregate.name}` collects every event of all time in a global window"


def _tiny_frames(pipeline: Pipeline, *, time: Literal["event", "arrival"]) -> Iterator[str]:
    shapes = [window.shape for window in pipeline.windows if window.time == time]
    lengths_us = [
        length_us
        for shape in shapes
        if isinstance(shape, Sliding | Cumulate)
        for length_us in (shape.size_us, shape.step_us)
    ]
    if not lengths_us:
        return
    length_us = frame_us(pipeline, time=time)
    # A frame about as long as some step or size is what was asked for.
    if length_us < TINY * max(lengths_us) and length_us * NEAR < min(lengths_us):
        yield (
            f"frames are {show_duration(length_us)} long, tiny beside the shortest size or step of "
            f"{show_duration(min(lengths_us))}: sizes, steps and offsets share no longer divisor"
        )
