"""The oracle's aggregates over few values."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.oracle import Aggregate, Event
from tests.oracle.aggregates import parts_of, result_of
from tests.oracle.model import Value


def events(*values: Value) -> list[Event]:
    return [Event(id=number, event_us=0, values={"v": value}) for number, value in enumerate(values)]


@pytest.mark.parametrize(
    ("op", "values", "result"),
    [
        ("count", (), 0),
        ("count", (None, 0, 5), 2),
        ("sum", (None,), None),
        ("sum", (3, -3), 0),
        ("avg", (None, 1, 2), 1.5),
        ("avg", (Decimal("0.01"), Decimal("0.02"), Decimal("0.02")), Decimal("0.016667")),
        ("avg", (Decimal("-0.01"), Decimal("-0.02"), Decimal("-0.02")), Decimal("-0.016667")),
        ("min", (4, None, -2), -2),
        ("max", (None,), None),
        ("max", (4, None, -2), 4),
    ],
)
def test_nulls_are_skipped(op: str, values: tuple[Value, ...], result: Value) -> None:
    assert result_of(Aggregate(name="it", op=op, of="v"), events(*values)) == result


def test_rows_count_whatever_they_hold() -> None:
    assert result_of(Aggregate(name="rows", op="count"), events(None, None)) == 2


def test_only_a_true_condition_lets_an_event_count() -> None:
    above = Aggregate(
        name="it", op="sum", of="v", where=lambda row: None if row["v"] is None else row["v"] > 1
    )
    assert result_of(above, events(None, 1, 2, 3)) == 5
    assert parts_of(above, events(None, 1, 2, 3)) == {"it__total": 5, "it__rows": 2}
