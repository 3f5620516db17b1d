"""Windows of every shape in plain loops: which an instant is in, and which sessions instants make."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

Bounds = tuple[int, int]


def tumbled(instant: int, size: int, shift: int = 0) -> list[Bounds]:
    """The one window of that size over the instant, shifted."""
    start = shift + (instant - shift) // size * size
    return [(start, start + size)]


def slid(instant: int, size: int, step: int, *, shift: int = 0) -> list[Bounds]:
    """All windows of that size that start at a multiple of the step, shifted, and hold the instant."""
    start = shift + (instant - shift) // step * step
    held = []
    while instant < start + size:
        held.append((start, start + size))
        start -= step
    return held


def cumulated(instant: int, size: int, step: int) -> list[Bounds]:
    """The growing windows over the instant that share a start."""
    start = instant // size * size
    ends = range(start + step, start + size + 1, step)
    return [(start, end) for end in ends if end > instant]


def sessions(
    instants: Iterable[int], gap: int, *, splits: bool = False, longest: int | None = None
) -> list[Bounds]:
    """The sessions of one key, in time order."""
    found: list[list[int]] = []
    for instant in sorted(set(instants)):
        if found and joins(found[-1], instant, gap=gap, splits=splits, longest=longest):
            found[-1].append(instant)
        else:
            found.append([instant])
    return [(held[0], held[-1] + gap) for held in found]


def joins(held: list[int], instant: int, *, gap: int, splits: bool, longest: int | None) -> bool:
    """Whether an instant belongs to the session before it."""
    away = instant - held[-1]
    if away > gap or (splits and away == gap):
        return False
    return longest is None or instant + gap - held[0] < longest


def counted_sessions(instants: Iterable[int], gap: int, *, most: int) -> list[Bounds]:
    """The sessions of one key with so many events at most; those of one instant stay together."""
    found: list[list[int]] = []
    for instant, alike in groupby(sorted(instants)):
        events = list(alike)
        if found and instant - found[-1][-1] <= gap and len(found[-1]) + len(events) <= most:
            found[-1] += events
        else:
            found.append(events)
    return [(held[0], held[-1] + gap) for held in found]
