"""The aggregates that generated pipelines compute, each in the oracle's words and as SQL."""

from __future__ import annotations

from tests.oracle import Aggregate

Column = str


def is_positive(row) -> bool | None:
    return None if row["number"] is None else row["number"] > 0


def is_cheap(row) -> bool | None:
    return None if row["money"] is None else row["money"] < 1


CATALOGUE = (
    Aggregate(name="rows", op="count"),
    Aggregate(name="numbers", op="count", of="number"),
    Aggregate(name="total", op="sum", of="number"),
    Aggregate(name="mean", op="avg", of="number"),
    Aggregate(name="least", op="min", of="number"),
    Aggregate(name="cost", op="sum", of="money"),
    Aggregate(name="mean_cost", op="avg", of="money"),
    Aggregate(name="dearest", op="max", of="money"),
    Aggregate(name="length", op="sum", of="real"),
    Aggregate(name="longest", op="max", of="real"),
    Aggregate(name="wild", op="count", of="wild"),
    Aggregate(name="wild_total", op="sum", of="wild"),
    Aggregate(name="wild_mean", op="avg", of="wild"),
    Aggregate(name="wildest", op="max", of="wild"),
    Aggregate(name="least_wild", op="min", of="wild"),
    Aggregate(name="positive", op="count", where=is_positive),
    Aggregate(name="cheap_total", op="sum", of="number", where=is_cheap),
    Aggregate(name="earliest", op="first", of="number"),
    Aggregate(name="latest", op="last", of="money", where=is_positive),
    Aggregate(name="number_of_shortest", op="min_by", of="number", options={"by": "real"}),
    Aggregate(name="real_of_dearest", op="max_by", of="real", options={"by": "money"}),
    Aggregate(name="three_longest", op="top", of="real", options={"n": 3}),
    Aggregate(name="kinds", op="distinct", of="money"),
    Aggregate(name="spread", op="histogram", of="number"),
    Aggregate(name="all_numbers", op="collect_list", of="number"),
    Aggregate(name="parity", op="bit_xor", of="number"),
)

CONDITIONS = {is_positive: "number > 0", is_cheap: "money < 1"}


def expression_of(aggregate: Aggregate) -> Column:
    """What the aggregate is of, as SQL."""
    return "*" if aggregate.of is None else aggregate.of


def condition_of(aggregate: Aggregate) -> str | None:
    """The aggregate's condition as SQL."""
    return None if aggregate.where is None else CONDITIONS[aggregate.where]
