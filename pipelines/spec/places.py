"""The lines of a spec that problems are about which only its data can tell.

Such a problem begins with its place, like "source `main`: aggregate `paid`".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pipelines.spec.model import Pipeline
from pipelines.spec.yaml import Located, read_yaml

OF_A_SOURCE = ("where", "event_time", "arrival_time", "substream")
NOWHERE = 1 << 31


def with_lines(problems: Iterable[str], pipeline: Pipeline) -> tuple[str, ...]:
    """The problems in the order of the lines that they are about, each with its line; last those that are
    about no line of the spec.
    """
    told = tuple(dict.fromkeys(problems))
    if not told or not pipeline.path.is_file():
        return told
    document = read_yaml(pipeline.path)
    places = dict(_places(pipeline, document))
    found = sorted(((_line(one, document, places=places), one) for one in told), key=lambda it: it[0])
    return tuple(one if line == NOWHERE else f"line {line}: {one}" for line, one in found)


def _line(problem: str, document: Located, *, places: Mapping[str, tuple[str, ...]]) -> int:
    begins = max((it for it in places if problem.startswith(it)), key=len, default=None)
    if begins is None:
        return NOWHERE
    at = document
    for name in places[begins]:
        if not isinstance(at.value, Mapping) or name not in at.value:
            break
        at = at.value[name]
    return at.line


def _places(pipeline: Pipeline, document: Located) -> Iterator[tuple[str, tuple[str, ...]]]:
    """How problems begin, and the way from the top of the document to what they are about."""
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
