"""What a window is: which windows hold an instant, and when each is due and closed.

In come instants or frames as columns of microseconds, out go the bounds of windows; no table is touched.
Promised: floors are true floors, and every instant of a frame lies in the same windows.
"""

from pipelines.windows.custom import Proto, window_function
from pipelines.windows.gone import Gone, GoneSessions
from pipelines.windows.grids import ALIGNED, ARRIVAL, COARSER, Grid, grid_of, grids_of
from pipelines.windows.held import held, length_us, since
from pipelines.windows.lateness import (
    closed_over,
    closes_us,
    grace_us,
    held_kept,
    held_missed,
    judging_us,
    whole_after_us,
    windows_kept,
    windows_missed,
)
from pipelines.windows.merging import cuts_freely, is_bounded, keeps_apart, merges, session_windows
from pipelines.windows.sessions import (
    ISLAND,
    ISLAND_END,
    by_window,
    is_apart,
    is_in_order,
    with_cuts,
    with_islands,
)
from pipelines.windows.sliding import Covered, covered_by, starts_of

__all__ = [
    "ALIGNED",
    "ARRIVAL",
    "COARSER",
    "ISLAND",
    "ISLAND_END",
    "Covered",
    "Gone",
    "GoneSessions",
    "Grid",
    "Proto",
    "by_window",
    "closed_over",
    "closes_us",
    "covered_by",
    "cuts_freely",
    "grace_us",
    "grid_of",
    "grids_of",
    "held",
    "held_kept",
    "held_missed",
    "is_apart",
    "is_bounded",
    "is_in_order",
    "judging_us",
    "keeps_apart",
    "length_us",
    "merges",
    "session_windows",
    "since",
    "starts_of",
    "whole_after_us",
    "window_function",
    "windows_kept",
    "windows_missed",
    "with_cuts",
    "with_islands",
]
