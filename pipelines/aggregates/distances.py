"""Distances to a pivot near the mean, small and so exact, from which moments are made.

A mean that is one double is wrong by 1e-7 near 1e9, and a variance about it with it. Here the mean is a
pivot, one double, and what the sums of the distances to it say beside.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.aggregates.arrays import once, total

ROUNDING = 1e-13
"""Of the squared distances, what may be left of a square about the mean that is zero."""

Distance = Callable[[Column, Column], Column]
"""From an item and a pivot to the sum of the distances of the item's values to the pivot."""


def whole(value: Column) -> Column:
    """A number's digits before the point: exact for up to fifteen, also of decimals that no double equals."""
    return (value - value % F.lit(1)).cast("double")


def rest(value: Column) -> Column:
    """What follows the point."""
    return (value % F.lit(1)).cast("double")


def near_mean(
    items: Column, first: Column, *, distance: Distance, rows: Callable[[Column], Column]
) -> Column:
    """A double near the mean of all values of the items, given a value of the first of them."""

    def about(origin: Column) -> Column:
        distances = total(items, lambda item: distance(item, origin), kind="double")
        return origin + distances / total(items, rows, kind="double")

    return once(first, about)


def about_mean(squares: Column, sums: tuple[Column, Column], *, rows: Column) -> Column:
    """Squares or products of distances to pivots as ones to the means, given the sums of those distances."""
    return squares - sums[0] * sums[1] / rows


def squares_about_mean(squares: Column, distances: Column, *, rows: Column) -> Column:
    """Never below zero, zero where only rounding is left, and infinite where no double holds the squares."""
    found = about_mean(squares, (distances, distances), rows=rows)
    # NaN compares as the largest number there is, and has to stay.
    is_left = F.isnan(found) | (found > F.lit(ROUNDING) * squares)
    has_room = F.isnan(squares) | (squares < F.lit(float("inf")))
    return F.when(~has_room, squares).when(is_left, found).otherwise(F.lit(0.0))
