"""The states that the change points of a block bring, folded along it: those that enter from its beginning,
those that leave from its end.

States that do not grow are folded one by one, and all that comes of it is kept. Of states that grow a row
cannot hold one for each point: they are folded in strides, as many as a stride has points, and what is asked
for at a point joins the strides before it with the points of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.aggregates.arrays import once
from pipelines.aggregates.states import nullable
from pipelines.finalise.parts import ENTERS, StatePart
from pipelines.finalise.prefix_suffix import prefix_of, suffix_of


@dataclass(frozen=True, slots=True)
class Fold:
    """One part of the state, and which way it is folded."""

    part: StatePart
    is_leaving: bool

    @property
    def column(self) -> str:
        return suffix_of(self.part) if self.is_leaving else prefix_of(self.part)

    def along(self, points: Column) -> Column:
        """What is worked out once of an array of points, in order."""
        in_turn = F.reverse(points) if self.is_leaving else points
        states = F.transform(in_turn, self._brought)
        return once(states, self._in_strides if self.part.part.grows else self._one_by_one)

    def until(self, along: Column, points: Column, *, at: Column) -> Column:
        """What is kept for the point at an index: what entered with it, or what is to leave after it."""
        count = F.size(points) - at - 1 if self.is_leaving else at + 1
        if not self.part.part.grows:
            return F.get(along, count)
        strides = F.floor(count / _stride(points)).cast("int")
        behind = strides * _stride(points)
        own = F.slice(along["states"], behind + 1, count - behind)
        return F.array_compact(F.array_append(own, F.get(along["strides"], strides)))

    def state(self) -> Column:
        """The state of what was kept."""
        kept = F.col(self.column)
        return self.part.join(kept) if self.part.part.grows else kept

    def _brought(self, point: Column) -> Column:
        counts = ~point[ENTERS] if self.is_leaving else point[ENTERS]
        return F.when(counts, point[self.part.column])

    def _one_by_one(self, states: Column) -> Column:
        """The state of none, of the first, … of all."""

        def longer(so_far: Column, state: Column) -> Column:
            return F.array_append(so_far, self.part.merge(F.element_at(so_far, -1), state))

        return F.aggregate(states, self._nothing(), longer)

    def _in_strides(self, states: Column) -> Column:
        """The states themselves, and the state of no stride, of the first, … of all of them."""
        stride = _stride(states)

        def longer(so_far: Column, begin: Column) -> Column:
            own = self.part.join(F.array_compact(F.slice(states, begin + 1, stride)))
            return F.array_append(so_far, self.part.merge(F.element_at(so_far, -1), own))

        begins = F.sequence(F.lit(0), F.size(states) - 1, stride)
        return F.struct(states.alias("states"), F.aggregate(begins, self._nothing(), longer).alias("strides"))

    def _nothing(self) -> Column:
        return F.array(F.lit(None).cast(nullable(self.part.kind)))


def _stride(points: Column) -> Column:
    """As many points as there are strides, so that neither joining nor holding them is dear."""
    return F.ceil(F.sqrt(F.size(points))).cast("int")
