"""What the language of specs has and this version does not compute. Nothing of it is ignored.

It is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.spec.fields import Fields
from pipelines.spec.model import Pipeline, Retention

Problem = tuple[int, str]


def not_built_yet(pipeline: Pipeline, document: Fields) -> Iterator[Problem]:
    """A problem for everything in the pipeline that does not compute yet."""
    for source in pipeline.sources:
        if source.event_id is not None:
            yield (
                _line(document, "sources", name=source.name),
                f"source `{source.name}`: event_id is not built yet",
            )
    if pipeline.retention != Retention():
        yield _line(document, "retention", name=""), "retention: is not built yet; everything is kept"


def _line(document: Fields, section: str, *, name: str) -> int:
    located = document.items.get(section) or document.items.get("source")
    if located is None:
        return document.line
    inner = located.value.get(name) if isinstance(located.value, dict) else None
    return located.line if inner is None else int(inner.line)
