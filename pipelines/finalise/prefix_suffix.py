"""The strategy `prefix–suffix` (van Herk, Gil and Werman): a window is the end of one block and the beginning
of the next.

Blocks are as long as a window, so every window meets two of them at most. A frame is combined once into the
suffix of its block and once into its prefix, and a result merges the two: three combines whatever the size.
Nothing is ever taken away, and no block waits for another.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.finalise.parts import ENTERS, Reach, StatePart


@dataclass(frozen=True, slots=True)
class PrefixSuffix:
    """Any part at all: what entered so far of the next block, and what is still to leave of its own."""

    part: StatePart

    def looking_back(self, reach: Reach) -> list[Column]:
        entered = F.when(F.col(ENTERS), F.col(self.part.column))
        return [self.part.combine(entered, reach.so_far).alias(prefix_of(self.part))]

    def looking_ahead(self, reach: Reach) -> list[Column]:
        return [self.part.combine(self._leaving(), reach.to_come).alias(suffix_of(self.part))]

    def before(self) -> Column:
        return self.part.merge(self._suffix(), self._leaving())

    def after(self) -> Column:
        return self.part.merge(self._suffix(), F.col(prefix_of(self.part)))

    def _suffix(self) -> Column:
        return F.col(suffix_of(self.part))

    def _leaving(self) -> Column:
        return F.when(~F.col(ENTERS), F.col(self.part.column))


def prefix_of(part: StatePart) -> str:
    """The column of what entered so far, with the present change point."""
    return f"_{part.column}_prefix"


def suffix_of(part: StatePart) -> str:
    """The column of what is still to leave, after the present change point."""
    return f"_{part.column}_suffix"
