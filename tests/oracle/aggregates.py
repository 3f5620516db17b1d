"""Parts and results of aggregates, each from all of its events at once."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal, localcontext

from tests.oracle.model import Aggregate, Event, Value

MEAN_DIGITS = 4
"""An average of decimals has four digits more than they have, as Spark's own."""


def parts_of(aggregate: Aggregate, events: Iterable[Event]) -> dict[str, Value]:
    """The columns of the aggregate's state, by their name in the tables."""
    values = values_of(aggregate, events)
    rows, total = len(values), sum(values) if aggregate.op in ("sum", "avg") else None
    match aggregate.op:
        case "count":
            return {f"{aggregate.name}__rows": rows}
        case "sum" | "avg":
            return {f"{aggregate.name}__total": total, f"{aggregate.name}__rows": rows}
        case "min":
            return {f"{aggregate.name}__extreme": min(values, default=None)}
        case "max":
            return {f"{aggregate.name}__extreme": max(values, default=None)}
    raise ValueError(f"the oracle knows no {aggregate.op}")


def result_of(aggregate: Aggregate, events: Iterable[Event]) -> Value:
    """The result; null over no values, except for a count."""
    values = values_of(aggregate, events)
    if aggregate.op == "count":
        return len(values)
    if not values:
        return None
    match aggregate.op:
        case "sum":
            return sum(values)
        case "avg":
            return mean_of(values)
        case "min":
            return min(values)
        case "max":
            return max(values)
    raise ValueError(f"the oracle knows no {aggregate.op}")


def values_of(aggregate: Aggregate, events: Iterable[Event]) -> list[Value]:
    """What counts: of the events for which `where` is true (null is not), the values that are not null."""
    values = []
    for event in events:
        if aggregate.where is not None and aggregate.where(event.values) is not True:
            continue
        value = 1 if aggregate.of is None else event.values[aggregate.of]
        if value is not None:
            values.append(value)
    return values


def mean_of(values: list[Value]) -> Value:
    total = sum(values)
    if not isinstance(total, Decimal):
        return total / len(values)
    digits = -min(value.as_tuple().exponent for value in values) + MEAN_DIGITS
    with localcontext(prec=60):
        return (total / len(values)).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
