"""Variance, deviation, skewness and kurtosis, from sums of powers of distances to a pivot near the mean.

States are joined about the pivot of all of them (shifted as in Pébay, "Formulas for robust, one-pass
parallel computation of covariances and arbitrary-order statistical moments", 2008). Values and states are
put in order first, so the same ones make the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from math import comb
from operator import add, mul

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates.arrays import once, ordered, record, total
from pipelines.aggregates.distances import near_mean, rest, squares_about_mean, whole
from pipelines.aggregates.operation import Given, Operation, Over, Part

POWERS = (1, 2, 3, 4)


def _value(given: Given) -> Column:
    return F.when(given.of.isNotNull(), record(whole=whole(given.of), rest=rest(given.of)))


def _distance(value: Column, pivot: Column) -> Column:
    return (value["whole"] - pivot) + value["rest"]


def _accumulate(values: Column) -> Column:
    return once(ordered(values), lambda items: F.when(F.size(items) > 0, _of_values(items)))


def _of_values(items: Column) -> Column:
    first = F.get(items, 0)
    pivot = near_mean(items, first["whole"] + first["rest"], distance=_distance, rows=lambda item: F.lit(1.0))

    def powers(about: Column) -> Column:
        sums = [total(items, _power_of_distance(about, power), kind="double") for power in POWERS]
        return _state(about, F.size(items).cast("bigint"), sums=sums)

    return once(pivot, powers)


def _power_of_distance(pivot: Column, power: int) -> Callable[[Column], Column]:
    return lambda value: _power(_distance(value, pivot), power)


def _combine(states: Column, over: Over) -> Column:
    return _joined(ordered(states, over))


def _merge(one: Column, other: Column) -> Column:
    return _joined(F.sort_array(F.array_compact(F.array(one, other))))


def _joined(states: Column) -> Column:
    # One alone stays as it is, to the bit: another pivot would round its sums anew.
    return once(states, lambda items: F.when(F.size(items) > 1, _of_states(items)).otherwise(F.get(items, 0)))


def _of_states(items: Column) -> Column:
    pivot = near_mean(
        items,
        F.get(items, 0)["pivot"],
        distance=lambda state, origin: state["rows"] * (state["pivot"] - origin) + state["s1"],
        rows=lambda state: state["rows"],
    )

    def shifted(about: Column) -> Column:
        sums = [total(items, _shifted_power(about, power), kind="double") for power in POWERS]
        return _state(about, total(items, lambda state: state["rows"]), sums=sums)

    return once(pivot, shifted)


def _shifted_power(pivot: Column, power: int) -> Callable[[Column], Column]:
    """A state's sum of a power of distances, moved to another pivot by the binomial theorem."""

    def of(state: Column) -> Column:
        shift = state["pivot"] - pivot
        terms = [
            F.lit(comb(power, k)) * _power(shift, power - k) * (state[f"s{k}"] if k else state["rows"])
            for k in range(power + 1)
        ]
        return reduce(add, terms)

    return of


def _power(value: Column, power: int) -> Column:
    return reduce(mul, [value] * power, F.lit(1.0))


def _state(pivot: Column, rows: Column, *, sums: list[Column]) -> Column:
    return record(pivot=pivot, rows=rows, **{f"s{power}": it for power, it in zip(POWERS, sums, strict=True)})


MOMENTS = Part(name="moments", accumulate=_accumulate, combine=_combine, merge=_merge, gathers=True)

Statistic = Callable[[Column, Column], Column]
"""From the rows and an array of the powers about the mean, the second first, to the result."""


def _central(state: Column) -> Column:
    """Sums of the second, third and fourth powers of distances to the mean."""
    rows, (s1, s2, s3, s4) = state["rows"], (state[f"s{power}"] for power in POWERS)
    mean = s1 / rows
    third = s3 - 3 * mean * s2 + 2 * rows * mean * mean * mean
    fourth = s4 - 4 * mean * s3 + 6 * mean * mean * s2 - 3 * rows * mean * mean * mean * mean
    return F.array(squares_about_mean(s2, s1, rows=rows), third, fourth)


def _operation(name: str, statistic: Statistic) -> Operation:
    def finish(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
        state = parts["moments"]
        found = once(_central(state), lambda central: statistic(state["rows"], central))
        return F.when(state["rows"] > 0, found)

    return Operation(name=name, parts=(MOMENTS,), finish=finish, value=_value)


def _of_sample(rows: Column, central: Column) -> Column:
    return F.when(rows > 1, central[0] / (rows - 1))


def _of_population(rows: Column, central: Column) -> Column:
    return central[0] / rows


def _skewness(rows: Column, central: Column) -> Column:
    # Asked of the product, for that of tiny spreads is zero before they are.
    cubed = central[0] * central[0] * central[0]
    return F.when(cubed != 0, F.sqrt(rows) * central[1] / F.sqrt(cubed))


def _kurtosis(rows: Column, central: Column) -> Column:
    squared = central[0] * central[0]
    return F.when(squared != 0, rows * central[2] / squared - 3.0)


VARIANCE = _operation("variance", _of_sample)
VARIANCE_POP = _operation("variance_pop", _of_population)
STDDEV = _operation("stddev", lambda rows, central: F.sqrt(_of_sample(rows, central)))
STDDEV_POP = _operation("stddev_pop", lambda rows, central: F.sqrt(_of_population(rows, central)))
SKEWNESS = _operation("skewness", _skewness)
KURTOSIS = _operation("kurtosis", _kurtosis)
