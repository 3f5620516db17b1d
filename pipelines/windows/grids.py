"""The grids of a pipeline: on which frames each of its windows stands.

Windows of fixed length share the grid `aligned`, or `arrival` where their time is the arrival time, and a
frame there is as long as the greatest common divisor of all their lengths. Every other window has frames
of its own, on a grid of its name: its frames are its windows already, or, for sessions, bins that no gap
divides. Beside a grid that windows share, whole frames of a coarser length may be kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipelines.spec.check import frame_us
from pipelines.spec.coarser import coarser_us
from pipelines.spec.durations import show_duration
from pipelines.spec.model import Cumulate, Pipeline, Session, Sliding, Window
from pipelines.windows.merging import merges

ALIGNED, ARRIVAL = "aligned", "arrival"
COARSER = "/"
"""Stands in the name of a grid of coarser frames, and of no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Frames, and the windows that are made of them.

    `frame_us` is the length that all its frames have; `None` where each frame has its own. `coarser_us` is
    that of the coarser frames kept beside them, if any are.
    """

    name: str
    windows: tuple[Window, ...]
    frame_us: int | None = None
    coarser_us: int | None = None

    @property
    def coarser(self) -> str | None:
        """The name that the grid of its coarser frames has in the tables."""
        return None if self.coarser_us is None else f"{self.name}{COARSER}{show_duration(self.coarser_us)}"

    @property
    def bin_us(self) -> int | None:
        """The length of the bins that its events are counted in, frames or what no gap divides; `None` where
        each event says its own.
        """
        shape = self.windows[0].shape
        if not isinstance(shape, Session):
            return self.frame_us
        # Of a bounded session every instant counts.
        return shape.gap_us if shape.max_us is None else 1

    @property
    def by_arrival(self) -> bool:
        """Whether its time is the arrival time."""
        return self.windows[0].time == "arrival"

    @property
    def of_sessions(self) -> bool:
        """Whether its frames are joined to sessions."""
        return merges(self.windows[0].shape)


def grids_of(pipeline: Pipeline) -> tuple[Grid, ...]:
    """The grids of a pipeline: those that windows share, then those of one window each."""
    return (*_shared(pipeline), *_own(pipeline))


def grid_of(pipeline: Pipeline, window: str) -> Grid:
    """The grid that a window definition stands on."""
    return next(grid for grid in grids_of(pipeline) if window in [one.name for one in grid.windows])


def _shared(pipeline: Pipeline) -> list[Grid]:
    grids = []
    times: tuple[tuple[str, Literal["event", "arrival"]], ...] = ((ALIGNED, "event"), (ARRIVAL, "arrival"))
    for name, time in times:
        windows = tuple(it for it in pipeline.windows if _is_aligned(it) and it.time == time)
        if windows:
            fine_us, coarse_us = frame_us(pipeline, time=time), coarser_us(pipeline, time=time)
            grids.append(Grid(name=name, windows=windows, frame_us=fine_us, coarser_us=coarse_us))
    return grids


def _own(pipeline: Pipeline) -> list[Grid]:
    return [Grid(name=it.name, windows=(it,)) for it in pipeline.windows if not _is_aligned(it)]


def _is_aligned(window: Window) -> bool:
    return isinstance(window.shape, Sliding | Cumulate)
