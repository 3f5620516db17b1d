"""Covariance, correlation and slope, from sums of products of distances to two pivots near the means.

`{covariance: y, by: x}`: pairs of which one is null do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates.arrays import once, ordered, record, total
from pipelines.aggregates.distances import about_mean, near_mean, rest, squares_about_mean, whole
from pipelines.aggregates.operation import Given, Operation, Over, Part

AXES = ("x", "y")
PRODUCTS = ("xx", "xy", "yy")


def _value(given: Given) -> Column:
    x, y = F.lit(None) if given.by is None else given.by, given.of
    pair = record(x=record(whole=whole(x), rest=rest(x)), y=record(whole=whole(y), rest=rest(y)))
    return F.when(x.isNotNull() & y.isNotNull(), pair)


def _distance(value: Column, pivot: Column) -> Column:
    return (value["whole"] - pivot) + value["rest"]


def _accumulate(values: Column) -> Column:
    return once(ordered(values), lambda items: F.when(F.size(items) > 0, _of_values(items)))


def _of_values(items: Column) -> Column:
    def pivot(axis: str) -> Column:
        first = F.get(items, 0)[axis]
        return near_mean(
            items,
            first["whole"] + first["rest"],
            distance=lambda item, origin: _distance(item[axis], origin),
            rows=lambda item: F.lit(1.0),
        )

    def sums(pivots: Column) -> Column:
        def single(axis: str) -> Column:
            return total(items, lambda item: _distance(item[axis], pivots[axis]), kind="double")

        def double(one: str, other: str) -> Column:
            return total(
                items,
                lambda item: _distance(item[one], pivots[one]) * _distance(item[other], pivots[other]),
                kind="double",
            )

        return _state(pivots, F.size(items).cast("bigint"), single=single, double=double)

    return once(record(x=pivot("x"), y=pivot("y")), sums)


def _combine(states: Column, over: Over) -> Column:
    return _joined(ordered(states, over))


def _merge(one: Column, other: Column) -> Column:
    return _joined(F.sort_array(F.array_compact(F.array(one, other))))


def _joined(states: Column) -> Column:
    # One alone stays as it is, to the bit: another pivot would round its sums anew.
    return once(states, lambda items: F.when(F.size(items) > 1, _of_states(items)).otherwise(F.get(items, 0)))


def _of_states(items: Column) -> Column:
    def pivot(axis: str) -> Column:
        return near_mean(
            items,
            F.get(items, 0)[axis],
            distance=lambda state, origin: state["rows"] * (state[axis] - origin) + state[f"s{axis}"],
            rows=lambda state: state["rows"],
        )

    def sums(pivots: Column) -> Column:
        def single(axis: str) -> Column:
            return total(
                items,
                lambda state: state[f"s{axis}"] + state["rows"] * (state[axis] - pivots[axis]),
                kind="double",
            )

        def double(one: str, other: str) -> Column:
            return total(
                items, lambda state: _shifted_product(state, pivots, axes=(one, other)), kind="double"
            )

        rows = total(items, lambda state: state["rows"])
        return _state(pivots, rows, single=single, double=double)

    return once(record(x=pivot("x"), y=pivot("y")), sums)


def _shifted_product(state: Column, pivots: Column, *, axes: tuple[str, str]) -> Column:
    one, other = axes
    shift, other_shift = state[one] - pivots[one], state[other] - pivots[other]
    sums = shift * state[f"s{other}"] + other_shift * state[f"s{one}"]
    return state[f"s{one}{other}"] + sums + state["rows"] * shift * other_shift


def _state(
    pivots: Column, rows: Column, *, single: Callable[[str], Column], double: Callable[[str, str], Column]
) -> Column:
    singles = {f"s{axis}": single(axis) for axis in AXES}
    doubles = {f"s{axes}": double(*axes) for axes in PRODUCTS}
    return record(x=pivots["x"], y=pivots["y"], rows=rows, **singles, **doubles)


COMOMENTS = Part(name="comoments", accumulate=_accumulate, combine=_combine, merge=_merge, gathers=True)

Statistic = Callable[[Column, Column], Column]
"""From the rows and the sums of `xx`, `xy`, `yy` about the means to the result."""


def _central(state: Column) -> Column:
    return record(
        xx=squares_about_mean(state["sxx"], state["sx"], rows=state["rows"]),
        xy=about_mean(state["sxy"], (state["sx"], state["sy"]), rows=state["rows"]),
        yy=squares_about_mean(state["syy"], state["sy"], rows=state["rows"]),
    )


def _operation(name: str, statistic: Statistic) -> Operation:
    def finish(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
        state = parts["comoments"]
        found = once(_central(state), lambda central: statistic(state["rows"], central))
        return F.when(state["rows"] > 0, found)

    return Operation(name=name, parts=(COMOMENTS,), finish=finish, value=_value)


def _covariance(rows: Column, central: Column) -> Column:
    return F.when(rows > 1, central["xy"] / (rows - 1))


def _correlation(rows: Column, central: Column) -> Column:
    both_vary = (central["xx"] != 0) & (central["yy"] != 0)
    # What is no number cannot be called constant beside another side that is.
    varies = (rows > 1) & (both_vary | F.isnan(central["xx"]) | F.isnan(central["yy"]))
    return F.when(varies, central["xy"] / (F.sqrt(central["xx"]) * F.sqrt(central["yy"])))


def _slope(rows: Column, central: Column) -> Column:
    return F.when(central["xx"] != 0, central["xy"] / central["xx"])


COVARIANCE = _operation("covariance", _covariance)
CORRELATION = _operation("correlation", _correlation)
LINEAR_TREND = _operation("linear_trend", _slope)
