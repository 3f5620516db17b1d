"""The oracle's aggregates over few values."""

from __future__ import annotations

from decimal import Decimal
from math import inf, nan

import pytest

from tests.oracle import Aggregate, Event
from tests.oracle.aggregates import parts_of, result_of
from tests.oracle.model import Value


def events(*values: Value) -> list[Event]:
    return [Event(id=number, event_us=0, values={"v": value}) for number, value in enumerate(values)]


def timed(*pairs: tuple[int, Value]) -> list[Event]:
    return [Event(id=number, event_us=at, values={"v": it}) for number, (at, it) in enumerate(pairs)]


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
        ("distinct", (4, None, 4, -2), 2),
        ("distinct", (None,), 0),
        ("collect_set", (4, None, 4, -2), [-2, 4]),
        ("histogram", (4, None, 4, -2), [(-2, 1), (4, 2)]),
        ("histogram", (), []),
        ("bit_and", (6, None, 3), 2),
        ("bit_or", (6, None, 3), 7),
        ("bit_xor", (6, 6, None), 0),
        ("bit_xor", (None,), None),
        ("any", (True, None, False), True),
        ("all", (True, None, False), False),
        ("all", (None,), None),
    ],
)
def test_nulls_are_skipped(op: str, values: tuple[Value, ...], result: Value) -> None:
    assert result_of(Aggregate(name="it", op=op, of="v"), events(*values)) == result


@pytest.mark.parametrize(
    ("op", "result"), [("first", 3), ("last", 8), ("collect_list", [3, 5, 4, 7, 8])], ids=str
)
def test_what_goes_by_time_breaks_ties_by_value(op: str, result: Value) -> None:
    given = timed((1, 5), (9, 8), (1, 3), (9, 7), (2, None), (4, 4), (0, None))
    assert result_of(Aggregate(name="it", op=op, of="v"), given) == result


@pytest.mark.parametrize(("op", "result"), [("min_by", None), ("max_by", 9)])
def test_what_picks_may_not_be_null_and_what_is_picked_may(op: str, result: Value) -> None:
    rows = [{"v": 1, "x": 5}, {"v": None, "x": 5}, {"v": 4, "x": None}, {"v": 9, "x": 6}, {"v": 2, "x": 6}]
    given = [Event(id=number, event_us=0, values=row) for number, row in enumerate(rows)]
    assert result_of(Aggregate(name="it", op=op, of="v", options={"by": "x"}), given) == result


def test_as_many_extremes_as_asked_for_and_as_there_are() -> None:
    top = Aggregate(name="it", op="top", of="v", options={"n": 2})
    assert [result_of(top, events(*values)) for values in ((1, 3, None, 3), (1,), ())] == [[3, 3], [1], []]


def test_rows_count_whatever_they_hold() -> None:
    assert result_of(Aggregate(name="rows", op="count"), events(None, None)) == 2


def test_only_a_true_condition_lets_an_event_count() -> None:
    above = Aggregate(
        name="it", op="sum", of="v", where=lambda row: None if row["v"] is None else row["v"] > 1
    )
    assert result_of(above, events(None, 1, 2, 3)) == 5
    assert parts_of(above, events(None, 1, 2, 3)) == {"it__total": 5, "it__rows": 2}


@pytest.mark.parametrize(
    ("op", "values", "result"),
    [
        ("max", (nan, inf, 1.0), nan),
        ("max", (1.0, nan, inf), nan),
        ("min", (nan, inf, None), inf),
        ("min", (nan, nan), nan),
        ("sum", (inf, 1.0, -inf), nan),
        ("avg", (inf, 1.0), inf),
    ],
)
def test_nan_is_one_value_above_all_others(op: str, values: tuple[Value, ...], result: float) -> None:
    found = result_of(Aggregate(name="it", op=op, of="v"), events(*values))
    assert [found] == [result]
