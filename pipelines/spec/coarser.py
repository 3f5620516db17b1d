"""How long coarser frames are: whole frames of a greater length, kept beside those of a grid on which windows
hold very many.

What lies in every window that a batch is about is read in coarser frames, the rest in fine ones.
"""

from __future__ import annotations

import math
from typing import Literal

from pipelines.spec.check import frame_us
from pipelines.spec.model import Pipeline, Sliding

MANY = 500
"""Frames a window from which on coarser ones pay: what is read falls from n to about 3 √n."""
SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000
LENGTHS_US = (
    *(number * SECOND for number in (1, 2, 5, 10, 15, 30)),
    *(number * MINUTE for number in (1, 2, 5, 10, 15, 30)),
    *(number * HOUR for number in (1, 2, 3, 6, 12, 24)),
)
"""Lengths as people count time, each a divisor of the day, by which tables are cut."""


def coarser_us(pipeline: Pipeline, *, time: Literal["event", "arrival"] = "event") -> int | None:
    """The length of the coarser frames, in microseconds; `None` where no window holds so many frames.

    A window of size S over frames of length f is read as up to S/c coarser frames of length c and about
    2c/f fine ones, which is least for c = √(S·f/2).
    """
    fine_us = frame_us(pipeline, time=time)
    sizes = [
        window.shape.size_us
        for window in pipeline.windows
        if isinstance(window.shape, Sliding) and window.time == time
    ]
    longest_us = max(sizes, default=0)
    if not fine_us or longest_us < MANY * fine_us:
        return None
    best_us = math.sqrt(longest_us * fine_us / 2)
    fitting = [it for it in LENGTHS_US if it > fine_us and it % fine_us == 0 and 2 * it <= longest_us]
    return min(fitting, key=lambda it: abs(math.log(it / best_us)), default=None)
