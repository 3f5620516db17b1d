"""Prefix–suffix for states that no aggregate function of Spark's combines: structs of several sums, the `n`
largest, sets, lists, counts of values.

Over the rows of a window Spark could only collect such states anew at each change point, and join them. So
the change points of a block are gathered once, in order, and folded along it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates.arrays import once
from pipelines.finalise.change_points import BLOCK, POINT, RANK
from pipelines.finalise.folds import Fold
from pipelines.finalise.parts import ENTERS, Reach, StatePart
from pipelines.finalise.prefix_suffix import PrefixSuffix


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
    folds = [Fold(part, is_leaving) for part in parts for is_leaving in (False, True)]

    def folded(items: Column) -> Column:
        made = F.struct(*[fold.along(items).alias(fold.column) for fold in folds])
        return once(made, lambda found: F.transform(items, row_of(found, items)))

    def row_of(found: Column, items: Column) -> Callable[[Column, Column], Column]:
        def row(item: Column, at: Column) -> Column:
            return F.struct(
                *[item[name].alias(name) for name in said],
                (F.size(items) - at).alias(RANK),
                *[fold.until(found[fold.column], items, at=at).alias(fold.column) for fold in folds],
            )

        return row

    rows = gathered.select(*key, BLOCK, F.inline(once(in_order, folded)))
    return rows.select(*key, BLOCK, *said, RANK, *[fold.state().alias(fold.column) for fold in folds])


def _by_place(one: Column, other: Column) -> Column:
    """Places are compared, not whole points, for there are states without an order."""
    return (
        F.when(one[POINT] != other[POINT], F.when(one[POINT] < other[POINT], -1).otherwise(1))
        .when(one[ENTERS] != other[ENTERS], F.when(other[ENTERS], -1).otherwise(1))
        .otherwise(0)
    )
