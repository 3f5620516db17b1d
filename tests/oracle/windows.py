"""Which windows hold an instant, and what a watermark has reached."""

from __future__ import annotations

import math

from tests.oracle.model import LATEST, Pipeline, Window

Bounds = tuple[int, int]


def windows_of(instant: int, window: Window) -> list[Bounds]:
    """All bounds of the definition that hold the instant, the earliest first."""
    held = []
    start = window.offset + (instant - window.offset) // window.step * window.step
    while instant < start + window.size:
        if window.begins is None or start >= window.begins:
            held.append((start, start + window.size))
        start -= window.step
    return held[::-1]


def frame_of(instant: int, pipeline: Pipeline) -> Bounds:
    """The frame of an instant, as long as the greatest common divisor of all sizes, steps and offsets."""
    length = 0
    for window in pipeline.windows:
        length = math.gcd(length, window.size, window.step, window.offset)
    start = instant // length * length
    return start, start + length


def has_reached(watermark: int | None, instant: int) -> bool:
    """Whether no event before the instant is expected any more. The last watermark has reached everything."""
    return watermark is not None and (watermark >= instant or watermark == LATEST)


def is_due(bounds: Bounds, watermark: int | None) -> bool:
    return has_reached(watermark, bounds[1])


def is_closed(bounds: Bounds, window: Window, watermark: int | None) -> bool:
    return has_reached(watermark, bounds[1] + window.lateness)


def missed_and_kept(instant: int, window: Window, watermark: int | None) -> tuple[int, int]:
    """How many of an event's windows were closed when it came, and how many were not."""
    held = windows_of(instant, window)
    missed = sum(1 for bounds in held if is_closed(bounds, window, watermark))
    return missed, len(held) - missed
