"""The strategy `deduct`: a window's state is what its block began with, and what entered, without what left.

Two steps a result whatever the size, for exact types only. A long is added up in two halves, which cannot
overflow; only a window whose true total does not fit fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType

from pipelines.aggregates.sums import ROWS
from pipelines.finalise.parts import ENTERS, MOST_DIGITS, Reach, Running, StatePart

HALF_BITS = 32
LOW_HALF = (1 << HALF_BITS) - 1


def deducted(part: StatePart) -> Running:
    """How a part is deducted: by sums with a sign where its states are numbers, else by its own `deduct`."""
    return Added(part) if part.adds_up else Deducted(part)


@dataclass(frozen=True, slots=True)
class Added:
    """Numbers: one sum over the block for its beginning, one running sum in which what leaves is negative."""

    part: StatePart

    def looking_back(self, reach: Reach) -> list[Column]:
        enters, columns = F.col(ENTERS), []
        for name, addend in self._addends().items():
            at_first = reach.block(F.sum(F.when(~enters, addend)))
            change = reach.so_far(F.sum(F.when(enters, addend).otherwise(-addend)))
            columns += [
                self._total(at_first).alias(f"{name}_first"),
                self._total(change).alias(f"{name}_change"),
            ]
        return columns

    def looking_ahead(self, reach: Reach) -> list[Column]:
        return []

    def before(self) -> Column:
        return self._whole({name: F.col(f"{name}_first") for name in self._addends()})

    def after(self) -> Column:
        return self._whole(
            {name: F.col(f"{name}_first") + F.col(f"{name}_change") for name in self._addends()}
        )

    def _addends(self) -> dict[str, Column]:
        state, name = F.col(self.part.column), f"_{self.part.column}"
        if not self._in_halves():
            return {name: state}
        long = state.cast("bigint")
        return {
            f"{name}_high": F.shiftright(long, HALF_BITS),
            f"{name}_low": long.bitwiseAND(F.lit(LOW_HALF)),
        }

    def _in_halves(self) -> bool:
        return not isinstance(self.part.kind, DecimalType) and self.part.part != ROWS

    def _total(self, sum_of: Column) -> Column:
        total = F.coalesce(sum_of, F.lit(0))
        if isinstance(self.part.kind, DecimalType):
            return total.cast(DecimalType(MOST_DIGITS - 1, self.part.kind.scale))
        return total

    def _whole(self, totals: dict[str, Column]) -> Column:
        if not self._in_halves():
            return next(iter(totals.values())).cast(self.part.kind)
        high, low = totals.values()
        carried = high + F.shiftright(low, HALF_BITS)
        # The product is what fails, and only where the total does not fit into a long.
        whole = carried * F.lit(1 << HALF_BITS) + low.bitwiseAND(F.lit(LOW_HALF))
        return whole.cast(self.part.kind)


@dataclass(frozen=True, slots=True)
class Deducted:
    """Any other exact type: its own `deduct` takes what left from what the block began with."""

    part: StatePart

    def looking_back(self, reach: Reach) -> list[Column]:
        state, enters, combine = F.col(self.part.column), F.col(ENTERS), self.part.combine
        return [
            combine(F.when(~enters, state), reach.block).alias(self._named("first")),
            combine(F.when(~enters, state), reach.so_far).alias(self._named("left")),
            combine(F.when(enters, state), reach.so_far).alias(self._named("entered")),
        ]

    def looking_ahead(self, reach: Reach) -> list[Column]:
        return []

    def before(self) -> Column:
        return F.col(self._named("first"))

    def after(self) -> Column:
        first, left = F.col(self._named("first")), F.col(self._named("left"))
        deduct = self.part.part.deduct
        if deduct is None:
            raise TypeError(f"`{self.part.column}` has no deduct")
        stayed = F.when(left.isNull(), first).otherwise(deduct(first, left))
        return self.part.merge(self.part.state(stayed), F.col(self._named("entered")))

    def _named(self, what: str) -> str:
        return f"_{self.part.column}_{what}"
