"""Partial frames → frames, partial sessions → sessions: states that belong together, over all sources and
batches, become one.

In come partials, of which some are touched by the batch, out go the frames and sessions that these make.
Promised: nothing is added to what an earlier attempt left, so combining again gives the same; a frame
whose events are all gone comes out empty.
"""

from pipelines.combine.frames import TOUCHED, combine, has_coarser, is_coarser
from pipelines.combine.sessions import (
    Standing,
    among_kept,
    areas,
    combine_sessions,
    open_after_us,
    reach_of,
    reopened,
    standing,
)

__all__ = [
    "TOUCHED",
    "Standing",
    "among_kept",
    "areas",
    "combine",
    "combine_sessions",
    "has_coarser",
    "is_coarser",
    "open_after_us",
    "reach_of",
    "reopened",
    "standing",
]
