"""Which parts hold the same in every state."""

from __future__ import annotations

from pipelines.aggregates.sharing import shared
from pipelines.spec import Aggregate


def test_sum_and_avg_of_the_same_share_their_parts_and_a_bare_count_is_the_number_of_events() -> None:
    aggregates = [
        Aggregate(name="bids", op="count", of="*"),
        Aggregate(name="paid", op="sum", of="price"),
        Aggregate(name="mean", op="avg", of="price"),
    ]
    assert shared(aggregates) == {
        "bids__rows": "event_count",
        "mean__total": "paid__total",
        "mean__rows": "paid__rows",
    }


def test_what_counts_other_rows_or_other_values_shares_nothing() -> None:
    aggregates = [
        Aggregate(name="bids", op="count", where="price > 5"),
        Aggregate(name="paid", op="sum", of="price"),
        Aggregate(name="tax", op="sum", of="price / 5"),
        Aggregate(name="dear", op="sum", of="price", where="price > 5"),
        Aggregate(name="least", op="min", of="price"),
        Aggregate(name="most", op="max", of="price"),
        Aggregate(name="three", op="top", of="price", options=(("n", 3),)),
        Aggregate(name="four", op="top", of="price", options=(("n", 4),)),
    ]
    assert shared(aggregates) == {}
