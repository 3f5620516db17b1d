"""What tells two specs apart: what their tables hold, and the specs as a whole."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace

from pipelines.spec.check import frame_us
from pipelines.spec.model import Pipeline

DIGITS = 16


def state_fingerprint(pipeline: Pipeline) -> str:
    """The same for two specs whose tables hold the same: key, aggregates, frames and windows.

    Where data lies, how late it may be, what is expected of it and when it runs may change without
    changing this.
    """
    shapes = sorted((window.name, window.time, repr(window.shape)) for window in pipeline.windows)
    aggregates = sorted(repr(aggregate) for aggregate in pipeline.aggregates)
    return _hash(repr((pipeline.key, aggregates, frame_us(pipeline), shapes)))


def fingerprint(pipeline: Pipeline) -> str:
    """The same for two specs that say the same, wherever they lie and in whatever order their mappings
    stand.
    """
    ordered = replace(
        pipeline,
        sources=tuple(sorted(pipeline.sources, key=lambda source: source.name)),
        aggregates=tuple(sorted(pipeline.aggregates, key=lambda aggregate: aggregate.name)),
        windows=tuple(sorted(pipeline.windows, key=lambda window: window.name)),
    )
    said = {
        name: value for name, value in asdict(ordered).items() if name not in ("home", "path", "expectations")
    }
    return _hash(repr(sorted(said.items())))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
