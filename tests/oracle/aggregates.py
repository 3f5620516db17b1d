"""Parts and results of aggregates, each from all of its events at once."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import reduce
from math import isnan, nan
from operator import and_, or_, xor

from tests.oracle.model import Aggregate, Event, Value

MEAN_DIGITS = 4
"""An average of decimals has four digits more than they have, as Spark's own."""


Pair = tuple[Value, Value]
"""A value behind its event time, or behind what picks it."""

THE_RESULT = {
    **dict.fromkeys(("min", "max"), "extreme"),
    **dict.fromkeys(("top", "bottom"), "extremes"),
    **dict.fromkeys(("any", "all"), "truth"),
    **dict.fromkeys(("bit_and", "bit_or"), "bits"),
    "collect_set": "values",
}
"""What the only part is called whose state is the result."""


def parts_of(aggregate: Aggregate, events: Iterable[Event]) -> dict[str, Value]:
    """The columns of the aggregate's state, by their name in the tables."""
    state = state_of(aggregate, pairs_of(aggregate, events))
    return {f"{aggregate.name}__{part}": held for part, held in state.items()}


def state_of(aggregate: Aggregate, given: list[Pair]) -> dict[str, Value]:
    """The parts of a state by their own names."""
    values, result = [value for _, value in given], of_pairs(aggregate, given)
    match aggregate.op:
        case "count":
            state = {"rows": len(values)}
        case "sum" | "avg":
            state = {"total": with_one_nan(sum(values)), "rows": len(values)}
        case "bit_xor":
            state = {"bits": reduce(xor, values, 0), "rows": len(values)}
        case "distinct":
            state = {"values": sorted(set(values))}
        case "histogram" | "approx_top_k":
            state = {"counts": [{"value": it, "count": values.count(it)} for it in sorted(set(values))]}
        case "collect_list":
            state = {"items": [{"instant_us": at, "value": value} for at, value in sorted(given)]}
        case "first" | "last" | "min_by" | "max_by":
            at = picked(aggregate, given)
            by = "by" if aggregate.op.endswith("by") else "instant_us"
            state = {"picked": at and {by: at[0], "value": at[1]}}
        case _:
            state = {THE_RESULT[aggregate.op]: result}
    return state


def result_of(aggregate: Aggregate, events: Iterable[Event]) -> Value:
    """The result; null over no values, except for what counts or collects."""
    return of_pairs(aggregate, pairs_of(aggregate, events))


def of_pairs(aggregate: Aggregate, given: list[Pair]) -> Value:
    values = [value for _, value in given]
    several = sorted({value for value in values if value is not None})
    match aggregate.op:
        case "count":
            result = len(values)
        case "distinct":
            result = len(several)
        case "collect_set":
            result = several
        case "collect_list":
            result = [value for _, value in sorted(given)]
        case "histogram":
            result = [(value, values.count(value)) for value in several]
        case "top" | "bottom":
            result = sorted(values, reverse=aggregate.op == "top")[: aggregate.options["n"]]
        case "approx_top_k":
            counts = sorted((-values.count(value), value) for value in several)
            result = [{"item": value, "count": -less} for less, value in counts[: aggregate.options["k"]]]
        case "first" | "last" | "min_by" | "max_by":
            result = picked(aggregate, given)[1] if given else None
        case _:
            result = with_one_nan(OF_SOME[aggregate.op](values)) if given else None
    return result


def picked(aggregate: Aggregate, given: list[Pair]) -> Pair | None:
    """The first or last pair; among equals the smallest or largest value, where null is the smallest."""
    picks = min if aggregate.op in ("first", "min_by") else max
    return picks(given, key=lambda it: (it[0], it[1] is not None, it[1] or 0), default=None)


def pairs_of(aggregate: Aggregate, events: Iterable[Event]) -> list[Pair]:
    """What counts: of the events for which `where` is true (null is not), the values that are not null.

    Each behind its event time or, where the aggregate has one, behind `by`, and then that is what may not
    be null.
    """
    by = aggregate.options.get("by")
    given = []
    for event in events:
        if aggregate.where is not None and aggregate.where(event.values) is not True:
            continue
        value = 1 if aggregate.of is None else event.values[aggregate.of]
        if by is not None and event.values[by] is not None:
            given.append((event.values[by], value))
        elif by is None and value is not None:
            given.append((event.event_us, value))
    return given


def mean_of(values: list[Value]) -> Value:
    total = sum(values)
    if not isinstance(total, Decimal):
        return total / len(values)
    digits = -min(value.as_tuple().exponent for value in values) + MEAN_DIGITS
    with localcontext(prec=60):
        return (total / len(values)).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)


def with_one_nan(value: Value) -> Value:
    """The one NaN in the place of any, so that a result equals itself when it is computed again."""
    return nan if is_nan(value) else value


def is_nan(value: Value) -> bool:
    return isinstance(value, float) and isnan(value)


def place_of(value: Value) -> tuple[bool, Value]:
    """NaN comes after all other numbers, infinity too, as in Spark."""
    return (True, 0) if is_nan(value) else (False, value)


OF_SOME = {
    "sum": sum,
    "avg": mean_of,
    "min": lambda values: min(values, key=place_of),
    "max": lambda values: max(values, key=place_of),
    "any": any,
    "all": all,
    "bit_and": lambda values: reduce(and_, values),
    "bit_or": lambda values: reduce(or_, values),
    "bit_xor": lambda values: reduce(xor, values),
}
"""Results over at least one value."""
