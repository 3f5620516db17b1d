"""Frames → sliding windows by plain loops: what every strategy has to give."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

State = tuple[object, ...]
Frame = tuple[str | None, int, State]
Window = tuple[str | None, int, State]


@dataclass(frozen=True, slots=True)
class Shape:
    """A window definition beside the length of its frames."""

    size_us: int
    step_us: int
    offset_us: int
    frame_us: int


def windows_by_loops(frames: Sequence[Frame], shape: Shape, merges: Sequence[Callable]) -> list[Window]:
    """All windows that have events or were touched; the counts of both begin a state."""
    found: dict[tuple[str | None, int], list[State]] = {}
    for key, frame_us, state in frames:
        start_us = frame_us - (frame_us - shape.offset_us) % shape.step_us
        while start_us + shape.size_us > frame_us:
            found.setdefault((key, start_us), []).append(state)
            start_us -= shape.step_us
    whole = [(key, start_us, _merged(states, merges)) for (key, start_us), states in found.items()]
    return [window for window in whole if window[2][0] > 0 or window[2][1] > 0]


def growing_by_loops(
    frames: Sequence[Frame], shape: Shape, merges: Sequence[Callable]
) -> list[tuple[str | None, int, int, State]]:
    """The same of windows that share a start and end one step after the other: key, start, end, state."""
    found: dict[tuple[str | None, int, int], list[State]] = {}
    for key, frame_us, state in frames:
        start_us = frame_us - (frame_us - shape.offset_us) % shape.size_us
        for end_us in range(start_us + shape.step_us, start_us + shape.size_us + 1, shape.step_us):
            if end_us > frame_us:
                found.setdefault((key, start_us, end_us), []).append(state)
    whole = [(*window, _merged(states, merges)) for window, states in found.items()]
    return [window for window in whole if window[3][0] > 0 or window[3][1] > 0]


def frames_by_chance(seed: int, shape: Shape, *, keys: int = 6, most: int = 40) -> list[Frame]:
    """Keys from dense to sparse, times around 1970, gaps, repeated frames, and marks."""
    chance = random.Random(seed)
    frames: list[Frame] = []
    for number in range(keys):
        key = f"key {number}" if number else None
        reach = chance.choice([3, 30, 300])
        for _ in range(chance.randrange(1, most)):
            frame_us = chance.randrange(-reach, reach) * shape.frame_us
            frames.append((key, frame_us, _state(chance)))
            if chance.random() < 0.2:
                frames.append((key, frame_us, chance.choice([_state(chance), MARK])))
        if chance.random() < 0.5:
            frames.append((key, chance.randrange(-reach, reach) * shape.frame_us, MARK))
    return frames


MARK: State = (0, 1, None, None, None, None, None, None)


def _state(chance: random.Random) -> State:
    value = chance.choice([chance.randrange(-9, 10), chance.randrange(-(1 << 40), 1 << 40)])
    return (
        chance.randrange(1, 4),
        0,
        value,
        Decimal(chance.randrange(-999, 999)) / 100,
        float(chance.randrange(-9, 10)),
        chance.choice([None, chance.randrange(-9, 10)]),
        chance.choice([None, "a", "b", "ab"]),
        chance.randrange(0, 64),
    )


def _merged(states: Iterable[State], merges: Sequence[Callable]) -> State:
    columns = zip(*states, strict=True)
    return tuple(_of(merge, values) for merge, values in zip(merges, columns, strict=True))


def _of(merge: Callable, values: Sequence[object]) -> object:
    known = [value for value in values if value is not None]
    return reduce(merge, known) if known else None
