"""What tells two specs apart whose tables hold something else."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from pipelines.spec.changes import IDS, LATE, LATENESS, PANES, READ, SUBSTREAM
from pipelines.spec.check import frame_us
from pipelines.spec.model import Cumulate, EachBatch, Pipeline, Sliding, Source, Window

DIGITS = 16
READ_BY = ("select", "where", "event_time", "arrival_time")


def state_fingerprint(pipeline: Pipeline) -> str:
    """The same for two specs whose tables hold the same: key, aggregates, frames and windows.

    Where data lies, what is expected of it and when it runs may change without changing this; triggers and
    modes are told, for news may wait under the old ones, and how late events may be, which a batch keeps to
    from its first stage to its last; and the SQL that rows are read by and substreams told apart by, for
    somebody is told when it changed, and what older batches knew of other substreams counts no more. It is
    told in parts, so that `changes_between` can say what changed: `#core=…;@grid=length;window=grid.shape`.
    """
    aggregates = sorted(repr(aggregate) for aggregate in pipeline.aggregates)
    lengths = {"aligned": frame_us(pipeline), "arrival": frame_us(pipeline, time="arrival")}
    ids = {it.name: _hash(repr(it.event_id.of)) for it in pipeline.sources if it.event_id}
    entries = {
        "#core": _hash(repr((pipeline.key, aggregates))),
        **{f"{PANES}{it.name}": _hash(repr(it.panes)) for it in pipeline.windows},
        LATENESS: _hash(repr(sorted((it.name, it.allowed_lateness_us) for it in pipeline.windows))),
        **{
            f"{LATE}{it.name}": str(it.allowed_lateness_us)
            for it in pipeline.windows
            if it.panes.late != EachBatch()
        },
        **{f"{IDS}{name}": of for name, of in ids.items()},
        **{f"{SUBSTREAM}{it.name}": _hash(repr(it.substream)) for it in pipeline.sources},
        **{
            f"{READ}{source.name}.{what}": _hash(repr(getattr(source, what)))
            for source in map(_in_order, pipeline.sources)
            for what in READ_BY
        },
        **{f"@{grid}": str(length_us) for grid, length_us in lengths.items() if length_us},
        **{window.name: f"{_grid(window)}.{_shape(window)}" for window in pipeline.windows},
    }
    return ";".join(f"{name}={entries[name]}" for name in sorted(entries))


def _in_order(source: Source) -> Source:
    return replace(source, select=tuple(sorted(source.select)))


def _shape(window: Window) -> str:
    if window.from_us is not None:
        return _hash(repr((window.shape, window.time, window.from_us)))
    return _hash(repr(window.shape if window.time == "event" else (window.shape, window.time)))


def _grid(window: Window) -> str:
    if not isinstance(window.shape, Sliding | Cumulate):
        return "own"
    return "arrival" if window.time == "arrival" else "aligned"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
