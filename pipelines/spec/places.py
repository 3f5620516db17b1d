"""The lines of a spec that problems are about which only its data can tell.

Such a problem begins with its place, like "source `main`: aggregate `paid`".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipelines.errors import CorrectTheSpec
from pipelines.spec.model import Pipeline
from pipelines.spec.yaml import Located, read_yaml

OF_A_SOURCE = ("where", "event_time", "arrival_time", "substream")
NOWHERE = 1 << 31
LINE = re.compile(r"line (\d+): ")


def with_lines(problems: Iterable[str], pipeline: Pipeline) -> tuple[str, ...]:
    """The problems in the order of the lines that they are about, each with its line; last those that are
    about no line of the spec. One that has its line already keeps it.
    """
    told = tuple(dict.fromkeys(problems))
    try:
        # Keys that stand twice are among the problems already.
        document = read_yaml(pipeline.path, refuse=lambda line, problem: None)
    except CorrectTheSpec:
        # It is gone, or was changed since it was loaded.
        return told
    places = dict(_places(pipeline, document))
    found = sorted(((_line(one, document, places=places), one) for one in told), key=lambda it: it[0])
    return tuple(one if line == NOWHERE or LINE.match(one) else f"line {line}: {one}" for line, one in found)


def _line(problem: str, document: Located, *, places: Mapping[str, tuple[str, ...]]) -> int:
    told = LINE.match(problem)
    if told is not None:
        return int(told[1])
    begins = max((it for it in places if problem.startswith(it)), key=len, default=None)
    if begins is None:
        return NOWHERE
    top, *rest = places[begins]
    way = _way(document, (top, *rest))
    if top == "sources" and len(way) < 1 + len(rest):
        # What all sources have stands beside them.
        inherited = _way(document, ("source", *rest[1:]))
        way = inherited if len(inherited) == len(rest) else way
    return way[-1].line if way else document.line


def _way(document: Located, names: Sequence[str]) -> list[Located]:
    """What lies on the way from the top of the document, as far as it goes."""
    at, found = document, list[Located]()
    for name in names:
        if not isinstance(at.value, Mapping) or name not in at.value:
            break
        at = at.value[name]
        found.append(at)
    return found


def _places(pipeline: Pipeline, document: Located) -> Iterator[tuple[str, tuple[str, ...]]]:
    """How problems begin, and the way from the top of the document to what they are about."""
    yield "expectations: ", ("expectations",)
    yield from _of_all(pipeline, mark="")
    has_many = isinstance(document.value, Mapping) and "sources" in document.value
    for source in pipeline.sources:
        mark, at = f"source `{source.name}`", ("sources", source.name) if has_many else ("source",)
        yield mark, at
        yield from _of_all(pipeline, mark=f"{mark}: ")
        yield f"{mark}: event_id `", (*at, "event_id")
        for name in OF_A_SOURCE:
            yield f"{mark}: {name}:", (*at, name)
        for name, _ in source.select:
            yield f"{mark}: select `{name}`", (*at, "select", name)


def _of_all(pipeline: Pipeline, *, mark: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield f"{mark}key `", ("key",)
    for aggregate in pipeline.aggregates:
        yield f"{mark}aggregate `{aggregate.name}`", ("aggregates", aggregate.name)
    for window in pipeline.windows:
        yield f"{mark}window `{window.name}`", ("windows", window.name)
