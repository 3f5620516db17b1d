"""What a spec says of frames, windows and time, in words."""

from __future__ import annotations

from typing import assert_never

from pipelines.cli.explain_plans import plans
from pipelines.cli.written import Value, table
from pipelines.spec import Pipeline, frame_us, show_duration
from pipelines.spec.model import EachBatch, Every, Rows, Sliding, Source, Trigger, Window


def frames(pipeline: Pipeline) -> str:
    """How long a frame is, and which lengths it divides."""
    lengths = [[window.name, _lengths(shape)] for window, shape in _sliding(pipeline)]
    return (
        f"{show_duration(frame_us(pipeline))} long: the greatest common divisor of\n"
        f"{table(('window', 'lengths'), lengths)}\n"
        "one table of frames, with the grid `aligned`, serves all of them"
    )


def windows(pipeline: Pipeline) -> str:
    """Of each window its shape, and what it costs to put it together."""
    length_us = frame_us(pipeline)
    listed = [_shape(window, shape, length_us=length_us) for window, shape in _sliding(pipeline)]
    headers = ("window", "shape", "windows a frame is in", "frames a window has")
    return f"{table(headers, listed)}\n\n{plans(pipeline)}"


def time_rules(pipeline: Pipeline) -> str:
    """How watermarks come about, and what they do to events and windows."""
    sources = [[source.name, *_watermark(source)] for source in pipeline.sources]
    headers = ("source", "one watermark for", "watermark", "stops holding back", "out of range")
    closings = [[window.name, *_closing(window)] for window in pipeline.windows]
    return "\n".join(
        [
            table(headers, sources),
            "the pipeline's watermark is the smallest of them, and never goes back",
            "a batch is judged by the watermark before it; the new one holds from its publishing on",
            "",
            table(("window", "due", "closed", "early panes", "late panes", "mode"), closings),
            "an event is late when every window that would hold it is closed",
        ]
    )


def _sliding(pipeline: Pipeline) -> list[tuple[Window, Sliding]]:
    return [(window, window.shape) for window in pipeline.windows if isinstance(window.shape, Sliding)]


def _lengths(shape: Sliding) -> str:
    lengths = [f"size {show_duration(shape.size_us)}"]
    if shape.step_us != shape.size_us:
        lengths.append(f"step {show_duration(shape.step_us)}")
    if shape.offset_us:
        lengths.append(f"offset {show_duration(shape.offset_us)}")
    return ", ".join(lengths)


def _shape(window: Window, shape: Sliding, *, length_us: int) -> list[Value]:
    kind = "tumbling" if shape.step_us == shape.size_us else "sliding"
    fewest, more = divmod(shape.size_us, shape.step_us)
    memberships = f"{fewest:,}" if not more else f"{fewest:,} or {fewest + 1:,}"
    return [window.name, f"{kind}: {_lengths(shape)}", memberships, f"{shape.size_us // length_us:,}"]


def _watermark(source: Source) -> list[Value]:
    newest = "the newest event time seen"
    if source.max_disorder_us:
        newest += f" − {show_duration(source.max_disorder_us)}"
    idle = (
        "never" if source.idle_after_us is None else f"{show_duration(source.idle_after_us)} without arrivals"
    )
    ahead = "years 1 to 9999 are in"
    if source.max_ahead_us is not None:
        ahead = f"over {show_duration(source.max_ahead_us)} ahead of its arrival"
    return [f"each `{source.substream}`" if source.substream else "all of it", newest, idle, ahead]


def _closing(window: Window) -> list[Value]:
    lateness_us = window.allowed_lateness_us
    closed = "when due" if lateness_us == 0 else f"when it is {show_duration(lateness_us)} past the end"
    panes = window.panes
    early = "none" if panes.early is None else _trigger(panes.early)
    return ["when the watermark reaches its end", closed, early, _trigger(panes.late), panes.mode]


def _trigger(trigger: Trigger) -> str:
    match trigger:
        case EachBatch():
            return "each batch with news"
        case Every():
            return f"every {show_duration(trigger.every_us)} with news"
        case Rows():
            return f"every {trigger.rows:,} rows of news"
        case _:
            assert_never(trigger)
