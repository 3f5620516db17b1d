"""For which coarser frames the table `frames` is whole: it says so itself, in a property.

The ledger could not tell. What stages of a batch did that then stopped, was given up or changed nothing is in
the table, and no published row says so.
"""

from __future__ import annotations

from pipelines.spec import Pipeline
from pipelines.stages.site import Work
from pipelines.store import small
from pipelines.store.ledger import still_mine
from pipelines.windows import grids_of

PROPERTY = "sash.coarserFrames"
UNSETTLED = "?"
"""While they are replaced, also by none."""


def are_new(work: Work) -> bool:
    """Whether the coarser frames of the spec are others than those that are kept."""
    return small.property_of(work.tables, "frames", name=PROPERTY) != _wanted(work.pipeline)


def say_none(work: Work) -> None:
    """Say, before they are replaced, that no coarser frames are whole."""
    _say(work, UNSETTLED)


def say_whole(work: Work) -> None:
    """Say, once they are there, that those of the spec are whole."""
    _say(work, _wanted(work.pipeline))


def _wanted(pipeline: Pipeline) -> str:
    return ",".join(sorted(grid.coarser for grid in grids_of(pipeline) if grid.coarser is not None))


def _say(work: Work, what: str) -> None:
    def mine() -> None:
        still_mine(work.tables, work.run)

    small.set_property(work.tables, "frames", name=PROPERTY, value=what, still_mine=mine)
