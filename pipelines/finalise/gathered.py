"""Prefix–suffix for states that no aggregate function of Spark's combines, and that do not grow with what is
in them: structs of several sums, the `n` largest.

Over the rows of a window Spark could only collect such states anew at each change point, and fold them. So
the change points of a block are gathered once, in order, and folded along it: each state once either way,
and three combines a result for them too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates.arrays import once
from pipelines.aggregates.states import nullable
from pipelines.finalise.change_points import BLOCK, POINT, RANK
from pipelines.finalise.parts import ENTERS, Reach, StatePart
from pipelines.finalise.prefix_suffix import PrefixSuffix, prefix_of, suffix_of


@dataclass(frozen=True, slots=True)
class Gathered(PrefixSuffix):
    """A part whose prefixes and suffixes are there already."""

    def looking_back(self, reach: Reach) -> list[Column]:
        return []

    def looking_ahead(self, reach: Reach) -> list[Column]:
        return []


def with_folds(points: DataFrame, parts: Sequence[StatePart], *, key: Sequence[str]) -> DataFrame:
    """The change points with the prefix and the suffix of each part, and their `RANK` in the block from its
    end, so that all that looks along the block sees them in one order.
    """
    said = [name for name in points.columns if name not in (*key, BLOCK)]
    gathered = points.groupBy(*key, BLOCK).agg(F.collect_list(F.struct(*said)).alias("_points"))
    in_order = F.array_sort("_points", _by_place)

    def folded(items: Column) -> Column:
        folds = [it for part in parts for it in (_prefixes(items, part), _suffixes(items, part))]
        return once(F.struct(*folds), lambda found: F.transform(items, _with(found, items)))

    def _with(found: Column, items: Column) -> Callable[[Column, Column], Column]:
        def row(item: Column, at: Column) -> Column:
            behind = F.size(items) - at
            return F.struct(
                *[item[name].alias(name) for name in said],
                behind.alias(RANK),
                *[F.get(found[prefix_of(part)], at + 1).alias(prefix_of(part)) for part in parts],
                *[F.get(found[suffix_of(part)], behind - 1).alias(suffix_of(part)) for part in parts],
            )

        return row

    return gathered.select(*key, BLOCK, F.inline(once(in_order, folded)))


def _by_place(one: Column, other: Column) -> Column:
    """Places are compared, not whole points, for there are states without an order."""
    return (
        F.when(one[POINT] != other[POINT], F.when(one[POINT] < other[POINT], -1).otherwise(1))
        .when(one[ENTERS] != other[ENTERS], F.when(other[ENTERS], -1).otherwise(1))
        .otherwise(0)
    )


def _prefixes(items: Column, part: StatePart) -> Column:
    """What entered before each point, and after the last."""
    return _fold(items, part, of=lambda item: F.when(item[ENTERS], item[part.column])).alias(prefix_of(part))


def _suffixes(items: Column, part: StatePart) -> Column:
    """What leaves after each point, from the last one to the first, and what leaves at all."""
    leaving = _fold(F.reverse(items), part, of=lambda item: F.when(~item[ENTERS], item[part.column]))
    return leaving.alias(suffix_of(part))


def _fold(items: Column, part: StatePart, *, of: Callable[[Column], Column]) -> Column:
    """The states of an array merged one after the other: of none, of the first, … of all."""
    nothing = F.array(F.lit(None).cast(nullable(part.kind)))

    def longer(so_far: Column, item: Column) -> Column:
        return F.array_append(so_far, part.merge(F.element_at(so_far, -1), of(item)))

    return F.aggregate(items, nothing, longer)
