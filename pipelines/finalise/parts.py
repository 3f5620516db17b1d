"""The columns of a state as a strategy sees them, and what a strategy has to say of one.

A strategy works over the change points of one block: the window starts at which a frame enters or leaves.
Wherever it is asked, frames that left are gone and frames to come are not there yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from operator import add, sub
from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, IntegralType

from pipelines.aggregates import Part
from pipelines.aggregates.operation import Over, to_group
from pipelines.aggregates.states import nullable

ENTERS = "_enters"
"""Whether a frame enters at a change point, or leaves there."""

START = "window_start_us"

MOST_DIGITS = 38
SPARE_DIGITS = 10
"""What a decimal needs free, so that a running total in any order fits: as many as Spark's own sum adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePart:
    """One column of a state: how it combines, merges and deducts, and its type in the frames."""

    column: str
    part: Part
    kind: DataType

    @property
    def adds_up(self) -> bool:
        """Whether the states are plain numbers of an exact type, with room for a running total."""
        if self.part.merge is not add or self.part.deduct is not sub:
            return False
        if isinstance(self.kind, DecimalType):
            return self.kind.precision <= MOST_DIGITS - 1 - SPARE_DIGITS
        return isinstance(self.kind, IntegralType)

    @property
    def deducts(self) -> bool:
        """Whether what left a window can be taken away again without a trace."""
        if isinstance(self.kind, DecimalType) and self.part.merge is add:
            return self.adds_up
        return self.part.deducts(self.kind)

    def state(self, column: Column) -> Column:
        """A column as a state of the part: in its type, which what is computed may be wider than."""
        return column.cast(nullable(self.kind))

    def combine(self, states: Column, over: Over = to_group) -> Column:
        """States as one."""
        return self.state(self.part.combine(states, over))

    def join(self, states: Column) -> Column:
        """An array of states as one, where `combine` would collect them into one."""
        return self.state(self.part.combine(F.lit(None), lambda collected: states))

    def merge(self, one: Column, other: Column) -> Column:
        """Two states as one, where null is the state of nothing."""
        kind, merge = self.kind, self.part.merge
        if isinstance(kind, DecimalType) and merge is add and kind.precision == MOST_DIGITS:
            both = _added(one, other, scale=kind.scale)
        else:
            both = merge(one, other)
        return self.state(F.when(one.isNull(), other).when(other.isNull(), one).otherwise(both))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The change points of a block that an aggregate function can be applied over.

    `so_far` in ascending order with the present one, `block` all of them; `to_come` after the present one.
    `ascending` and `descending` are for functions of the place in an order.
    """

    so_far: Over
    block: Over
    to_come: Over
    ascending: Over
    descending: Over


class Running(Protocol):
    """A part over the change points of its block.

    First columns are made that look ahead, then such that look back; of these and of the state in the row
    come the state before the first change point, asked in the first row only, and that from each on.
    """

    def looking_ahead(self, reach: Reach) -> list[Column]: ...

    def looking_back(self, reach: Reach) -> list[Column]: ...

    def before(self) -> Column: ...

    def after(self) -> Column: ...


def _added(one: Column, other: Column, *, scale: int) -> Column:
    """Two decimals of all digits there are: of 39 digits, as Spark adds them, it would round the last away.

    Where both have a digit to spare they are added without it, else as whole numbers, which it never rounds.
    """
    digits = MOST_DIGITS - 1
    roomy, nines = DecimalType(digits, scale), Decimal((0, (9,) * digits, -scale))
    # `abs` and `-` would make a decimal of so many digits another one.
    least, most = F.lit(nines.copy_negate()), F.lit(nines)
    one_whole, other_whole = (
        F.replace(it.cast("string"), F.lit("."), F.lit("")).cast(DecimalType(MOST_DIGITS, 0))
        for it in (one, other)
    )
    whole = F.concat((one_whole + other_whole).cast("string"), F.lit(f"E-{scale}"))
    return F.when(
        one.between(least, most) & other.between(least, most), one.cast(roomy) + other.cast(roomy)
    ).otherwise(whole.cast(DecimalType(MOST_DIGITS, scale)))


def exists(states: Mapping[str, Column]) -> Column:
    """Whether a window exists: by its number of events, or because it was touched; never by a value."""
    has_events = states["event_count"] > 0
    return has_events | (states["_touched"] > 0) if "_touched" in states else has_events
