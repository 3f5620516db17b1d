"""What a spec says of frames, windows and time, in words."""

from __future__ import annotations

from typing import assert_never

from pipelines.cli.explain_plans import plans
from pipelines.cli.written import Value, table
from pipelines.intervals import show_instant
from pipelines.spec import Pipeline, show_duration
from pipelines.spec.model import (
    Cumulate,
    Custom,
    EachBatch,
    Every,
    Global,
    PerElement,
    Rows,
    Session,
    Shape,
    Sliding,
    Source,
    Trigger,
    Unaligned,
    Window,
)
from pipelines.windows import Grid, grace_us, grid_of, grids_of


def frames(pipeline: Pipeline) -> str:
    """The grids of the pipeline, how long a frame is on each, and why."""
    listed = []
    for grid in grids_of(pipeline):
        listed.append([grid.name, *_grid(grid), ", ".join(it.name for it in grid.windows)])
        if grid.coarser is not None and grid.coarser_us is not None:
            listed.append([grid.coarser, show_duration(grid.coarser_us), *_coarser(grid)])
    headers = ("grid", "a frame is", "because", "windows on it")
    return f"{table(headers, listed)}\none pass over the events fills them all"


def windows(pipeline: Pipeline) -> str:
    """Of each window its shape, and what it costs to put it together."""
    listed = [[window.name, *_told(window, grid_of(pipeline, window.name))] for window in pipeline.windows]
    headers = ("window", "shape", "windows an event is in", "made of")
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


def _grid(grid: Grid) -> tuple[Value, Value]:
    """How long a frame is there, and why."""
    if grid.frame_us is not None:
        lengths = [length for window in grid.windows for length in _lengths(window.shape)]
        return show_duration(
            grid.frame_us
        ), f"the greatest common divisor of {', '.join(dict.fromkeys(lengths))}"
    if grid.of_sessions:
        return "a partial session", "events are in the table partial_sessions, which sessions are made of"
    return "a window", "its windows do not share bounds with others"


def _coarser(grid: Grid) -> tuple[Value, Value]:
    """Why a grid has coarser frames, and of which windows."""
    length_us = grid.coarser_us or 0
    sliding = [
        it for it in grid.windows if isinstance(it.shape, Sliding) and it.shape.size_us >= 2 * length_us
    ]
    longest = max(sliding, key=lambda it: _longest_us(it.shape))
    held = _longest_us(longest.shape) // (grid.frame_us or 1)
    why = f"`{longest.name}` holds {held:,} frames; the middle of a window is read in these"
    return why, ", ".join(it.name for it in sliding)


def _lengths(shape: Shape) -> list[str]:
    """The lengths that a frame has to divide."""
    if not isinstance(shape, Sliding | Cumulate):
        return []
    lengths = [f"size {show_duration(shape.size_us)}"]
    if shape.step_us != shape.size_us:
        lengths.append(f"step {show_duration(shape.step_us)}")
    if shape.offset_us:
        lengths.append(f"offset {show_duration(shape.offset_us)}")
    return lengths


def _told(window: Window, grid: Grid) -> tuple[str, str, str]:
    """What its shape is and where it begins, how many windows hold an event, and what one is made of."""
    shape, held, made = _shape(window.shape, grid)
    begins = "" if window.from_us is None else f", from {show_instant(window.from_us)}"
    return f"{shape}{begins}", held, made


def _shape(  # noqa: PLR0911  # one line a shape
    shape: Shape, grid: Grid
) -> tuple[str, str, str]:
    """What a window is, how many of them hold an event, and what one is made of."""
    told = ", ".join(_lengths(shape))
    frames = 0 if grid.frame_us is None else _longest_us(shape) // grid.frame_us
    made = f"{frames:,} frame{'' if frames == 1 else 's'}"
    match shape:
        case Sliding():
            fewest, more = divmod(shape.size_us, shape.step_us)
            held = f"{fewest:,}" if not more else f"{fewest:,} or {fewest + 1:,}"
            kind = "tumbling" if shape.step_us == shape.size_us else "sliding"
            return f"{kind}: {told}", held, made
        case Cumulate():
            steps = shape.size_us // shape.step_us
            return f"cumulate: {told}", f"1 to {steps:,}", f"up to {made}"
        case Session():
            bound = "" if shape.max_us is None else f", shorter than {show_duration(shape.max_us)}"
            kind = f"session: gap {show_duration(shape.gap_us)}{bound}, touching ones {shape.touching}"
            return kind, "1", "partial sessions that overlap"
        case Unaligned():
            shift = "the key's hash" if shape.shift is None else f"`{shape.shift}`"
            return f"tumbling: size {show_duration(shape.size_us)}, shifted by {shift}", "1", "1 frame"
        case PerElement():
            offset = f", offset {show_duration(shape.offset_us)}" if shape.offset_us else ""
            return f"tumbling: as long as `{shape.column}` says{offset}", "1", "1 frame"
        case Global():
            return "global", "1", "1 frame"
        case Custom():
            kind = "partial sessions, as its function merges them" if grid.of_sessions else "1 frame"
            return f"custom: {shape.attribute}", "as its function says", kind
        case _:
            assert_never(shape)


def _longest_us(shape: Shape) -> int:
    return shape.size_us if isinstance(shape, Sliding | Cumulate) else 0


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
    reached = "passes" if grace_us(window.shape) else "reaches"
    clock = "the end of a batch" if window.time == "arrival" else "the watermark"
    due = f"when {clock} {reached} its end"
    if isinstance(window.shape, Global):
        # Its end is no instant that a watermark comes to.
        due, closed = "with --final alone", "when due"
    return [due, closed, early, _trigger(panes.late), panes.mode]


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
