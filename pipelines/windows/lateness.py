"""When windows close, and how many of an event's windows have closed before it came.

A window is due when the watermark reaches its end, closed when it reaches its end and its allowed
lateness. The final watermark, `LATEST_US`, closes every window, also one that ends after the last instant
that can be written.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.intervals import LATEST_US, floor_to
from pipelines.spec.model import Cumulate, Shape, Sliding, Window
from pipelines.windows.merging import touching
from pipelines.windows.sliding import Covered, covered_by


def grace_us(shape: Shape) -> int:
    """How far a watermark has to be past an end to have reached it.

    One microsecond for sessions that merge when they touch: an event exactly at the end may still join.
    """
    return 1 if touching(shape) == "merge" else 0


def whole_after_us(shape: Shape, kept_us: int) -> int:
    """Up to which end windows of a shape begin before an instant from which on all is kept."""
    match shape:
        case Sliding(size_us=size_us):
            # One that starts there is whole.
            return kept_us + size_us - 1
        case Cumulate(size_us=size_us, offset_us=offset_us):
            return offset_us - floor_to(offset_us - kept_us, size_us)
        case _:
            return kept_us


def judging_us(window: Window, watermark_us: int | None) -> int | None:
    """The watermark that closes windows of the definition, given that of event time.

    By arrival time nothing is late, until all is closed.
    """
    is_reached = window.time == "event" or (watermark_us is not None and watermark_us >= LATEST_US)
    return watermark_us if is_reached else None


def held_missed(held: Column, window: Window, *, watermark_us: int | None) -> Column:
    """How many of the windows in an array of `start_us, end_us` had closed at that watermark."""
    return (F.size(held) - F.size(held_kept(held, window, watermark_us=watermark_us))).cast("bigint")


def held_kept(held: Column, window: Window, *, watermark_us: int | None) -> Column:
    """Those of the windows in an array of `start_us, end_us` that had not closed at that watermark."""
    if watermark_us is None:
        return held
    if watermark_us >= LATEST_US:
        return F.slice(held, 1, 0)
    last_closed_us = watermark_us - window.allowed_lateness_us - grace_us(window.shape)
    return F.filter(held, lambda it: it["end_us"] > F.lit(last_closed_us))


def closes_us(end_us: Column, allowed_lateness_us: int) -> Column:
    """The watermark that closes a window: its end and its allowed lateness, at most the final one."""
    return F.least(end_us + F.lit(allowed_lateness_us), F.lit(LATEST_US))


def windows_missed(instant_us: Column, window: Window, *, watermark_us: int | None) -> Column:
    """How many of a definition's sliding windows over an instant had closed at that watermark. Without a
    watermark, none.
    """
    if watermark_us is None:
        return F.lit(0).cast("bigint")
    if watermark_us >= LATEST_US:
        return _covered(instant_us, window)[1].count
    # Near 1970 a literal would be of 32 bits, and so would what is taken away from it.
    return closed_over(instant_us, window, watermark_us=F.lit(watermark_us).cast("bigint"))


def closed_over(instant_us: Column, window: Window, *, watermark_us: Column) -> Column:
    """The same where the watermark is a column, not the final one."""
    sliding, covered = _covered(instant_us, window)
    last_closed_us = watermark_us - F.lit(window.allowed_lateness_us + sliding.size_us).cast("bigint")
    steps = F.call_function("div", last_closed_us - covered.first_us, F.lit(sliding.step_us)) + 1
    closed = F.when(last_closed_us >= covered.first_us, F.least(steps, covered.count)).otherwise(F.lit(0))
    # An event at or after the watermark misses nothing: most events leave here, before the divisions.
    return F.when(instant_us >= watermark_us, F.lit(0)).otherwise(closed).cast("bigint")


def windows_kept(instant_us: Column, window: Window, *, watermark_us: int | None) -> Column:
    """How many of a definition's sliding windows over an instant had not closed at that watermark."""
    _, covered = _covered(instant_us, window)
    return covered.count - windows_missed(instant_us, window, watermark_us=watermark_us)


def _covered(instant_us: Column, window: Window) -> tuple[Sliding, Covered]:
    if not isinstance(window.shape, Sliding):
        raise TypeError(f"found {window.shape}; allowed is a sliding window")
    return window.shape, covered_by(instant_us, window.shape, from_us=window.from_us)
