"""Rules between the objects of a spec: names that meet, and what is legal but unwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pipelines.intervals import common_length
from pipelines.spec.durations import show_duration
from pipelines.spec.fields import Fields
from pipelines.spec.model import Cumulate, Global, Pipeline, Sliding
from pipelines.spec.reserved import GRIDS, ILLEGAL, LATE_EVENT_COLUMNS, RESULT_COLUMNS

Problem = tuple[int, str]
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


def problems_between(pipeline: Pipeline, document: Fields) -> Iterator[Problem]:
    """The problems that no single section can see, each with its line."""
    yield from _name_problems(pipeline, document)
    yield from _window_names(pipeline, document)
    yield from _part_names(pipeline, document)
    yield from _selected_names(pipeline, document)
    columns = [*pipeline.key, *[aggregate.name for aggregate in pipeline.aggregates]]
    lowered = [name.lower() for name in columns]
    for name in sorted({name for name in columns if lowered.count(name.lower()) > 1}):
        section = "aggregates" if name in [aggregate.name for aggregate in pipeline.aggregates] else "key"
        yield (
            _line(document, section, name=name),
            f"{section}: the name `{name}` stands for two columns; rename one",
        )


def _name_problems(pipeline: Pipeline, document: Fields) -> Iterator[Problem]:
    named = [("key", name) for name in pipeline.key]
    named += [("aggregates", aggregate.name) for aggregate in pipeline.aggregates]
    for section, name in named:
        line = _line(document, section, name=name)
        if name.lower() in RESULT_COLUMNS:
            yield line, f"{section}: `{name}` is the name of one of Sash's own columns; choose another"
        elif not name or name.startswith("_") or any(character in ILLEGAL for character in name):
            yield (
                line,
                f"{section}: `{name}` cannot be a column of a table; allowed are letters, digits and _",
            )
        elif "__" in name and section == "aggregates":
            yield (
                line,
                f"{section}: `{name}` has two underscores in a row, which part an aggregate from its parts",
            )


def _window_names(pipeline: Pipeline, document: Fields) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for window in pipeline.windows:
        name, line = window.name, _line(document, "windows", name=window.name)
        known = first.setdefault(name.lower(), name)
        if known != name:
            yield (
                line,
                f"windows: found `{known}` and `{name}`; allowed are names that differ in more than case",
            )
        if name.lower() in GRIDS:
            yield line, f"windows: `{name}` is what frames shared by windows are called; choose another"
        if not name.isidentifier():
            yield line, f"windows: found the name `{name}`; allowed are letters, digits and _"


def _part_names(pipeline: Pipeline, document: Fields) -> Iterator[Problem]:
    """Parts stand beside the key as `<aggregate>__<part>`."""
    for aggregate in pipeline.aggregates:
        for name in pipeline.key:
            if name.lower().startswith(f"{aggregate.name.lower()}__"):
                line = _line(document, "key", name=name)
                yield (
                    line,
                    f"key: `{name}` is named like a part of the aggregate `{aggregate.name}`; rename one",
                )


def _selected_names(pipeline: Pipeline, document: Fields) -> Iterator[Problem]:
    """What late events are kept beside cannot be selected, and a name stands for one column."""
    for source in pipeline.sources:
        section = "sources" if source.name in _names(document, "sources") else "source"
        line = _line(document, section, name=source.name)
        first: dict[str, str] = {}
        for name, _ in source.select:
            known = first.setdefault(name.lower(), name)
            if known != name:
                yield line, f"select: found `{known}` and `{name}`; allowed is a name once, in whatever case"
            if name.lower() in LATE_EVENT_COLUMNS:
                yield line, f"select: `{name}` is the name of one of Sash's own columns; choose another"
            elif not name or name.startswith("_") or any(character in ILLEGAL for character in name):
                yield (
                    line,
                    f"select: `{name}` cannot be a column of a table; allowed are letters, digits and _",
                )


def _names(document: Fields, section: str) -> frozenset[str]:
    located = document.items.get(section)
    named = located.value if located is not None and isinstance(located.value, dict) else {}
    return frozenset(named)


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


def _line(document: Fields, section: str, *, name: str) -> int:
    located = document.items.get(section)
    if located is None:
        return document.line
    if isinstance(located.value, dict) and name in located.value:
        return int(located.value[name].line)
    return located.line
