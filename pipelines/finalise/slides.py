"""How long windows are and how they slide, as columns: numbers where all rows are of one definition, else
looked up by the definition that a row is given to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.intervals import Interval
from pipelines.spec import Cumulate, Sliding

DEFINITION = "_definition"
"""The place of a row's definition among those that are put together in one pass, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slides:
    """The shapes of definitions, and where windows of each start that are asked for; none of these: anywhere,
    of all of them.
    """

    shapes: tuple[Sliding | Cumulate, ...]
    starts: tuple[Interval, ...] = ()

    @property
    def size_us(self) -> Column:
        """How long a window is."""
        return looked_up([it.size_us for it in self.shapes])

    @property
    def step_us(self) -> Column:
        """From one start to the next."""
        return looked_up([it.step_us for it in self.shapes])

    @property
    def offset_us(self) -> Column:
        """A start of a window."""
        return looked_up([it.offset_us for it in self.shapes])

    @property
    def first_us(self) -> Column:
        """From which instant on starts are asked for."""
        return looked_up([it.start_us for it in self.starts])

    @property
    def end_us(self) -> Column:
        """Before which instant starts are asked for."""
        return looked_up([it.end_us for it in self.starts])

    def have_steps_within(self, frame_us: int) -> bool:
        """Whether no two frames of that length enter or leave at one start."""
        return all(it.step_us <= frame_us for it in self.shapes)

    def start_from(self, instant_us: Column) -> Column:
        """The first start of a window at or after an instant."""
        return instant_us + F.pmod(self.offset_us - instant_us, self.step_us)

    def start_of(self, block_us: Column) -> Column:
        """The first start of a window in a block."""
        if all(it.size_us % it.step_us == 0 for it in self.shapes):
            return block_us
        return self.start_from(block_us)


def looked_up(values: Sequence[int] | Sequence[str]) -> Column:
    """The value of a row's definition; a literal where all have the same."""
    literals = [F.lit(it) if isinstance(it, str) else F.lit(it).cast("bigint") for it in values]
    if len({*values}) == 1:
        return literals[0]
    return F.element_at(F.array(*literals), F.col(DEFINITION))


def is_reached(frame_us: Column, starts: Interval, *, size_us: int) -> Column:
    """Whether a frame may lie in a window of a size that starts in an interval."""
    return (frame_us >= F.lit(starts.start_us)) & (frame_us < F.lit(starts.end_us - 1 + size_us))


def floored(instant_us: Column, length_us: Column, *, offset_us: Column) -> Column:
    """The last instant `≡ offset (mod length)` at or before a column of instants."""
    return instant_us - F.pmod(instant_us - offset_us, length_us)
