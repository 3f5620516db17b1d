"""Every operation and every window of the contract is read."""

from __future__ import annotations

import pytest

from pipelines.spec import PerElement
from pipelines.spec.operations import OPTIONS
from tests.spec.conftest import Read

COUNT, WINDOW, KEY, AT = "rides: count", "{tumbling: 1 hour}", "key: [city]", "event_time: at"
ARGUMENTS = {"by": "at", "n": "3", "k": "3", "q": "[0.5, 0.99]", "of": "fare"}


@pytest.mark.parametrize("op", OPTIONS)
def test_every_operation_is_read(op: str, read: Read) -> None:
    of = "mine:attribute" if op == "custom" else "fare"
    options = "".join(f", {option}: {ARGUMENTS[option]}" for option in OPTIONS[op])
    (aggregate,) = read((COUNT, f"rides: {{{op}: '{of}'{options}, where: fare > 0}}")).aggregates
    assert (aggregate.op, aggregate.of, aggregate.where) == (op, of, "fare > 0")
    assert tuple(name for name, _ in aggregate.options) == OPTIONS[op]


@pytest.mark.parametrize(
    "window",
    [
        "{tumbling: 1 hour, offset: 5 minutes, panes: {early: none, late: each batch, mode: accumulating}}",
        "{sliding: 1 hour, step: 7 minutes, time: event}",
        "{sliding: 10 minutes, step: 1 hour}",
        "{cumulate: 1 day, step: 1 hour, from: 2024-01-01T06:00+01:00}",
        "{tumbling: 1 hour, unaligned: false}",
        "{tumbling: 1 hour, unaligned: true}",
        "{tumbling: 1 hour, unaligned: 'hash(city)'}",
        "{cumulate: 1 day, step: 1 hour}",
        "{session: 30 minutes, touching: split, max: 1 day}",
        "{tumbling: length}",
        "{global: true}",
        "{custom: 'mine:windows'}",
        "{tumbling: 1 hour, time: arrival}",
        "{tumbling: 1 hour, panes: {early: {every: 10 minutes}, late: {rows: 10}, mode: retracting}}",
        "{global: true, panes: {early: each batch, mode: discarding}}",
    ],
)
def test_a_window_that_is_built_is_read(window: str, read: Read) -> None:
    assert len(read((WINDOW, window)).windows) == 1


@pytest.mark.parametrize("column", ["length", "p", "PT", "hour", "p1m_size", "P5years", "ride-length"])
def test_a_window_as_long_as_its_event_says_is_read_whatever_its_column_is_called(
    column: str, read: Read
) -> None:
    (window,) = read((WINDOW, f"{{tumbling: {column}}}")).windows
    assert window.shape == PerElement(column=column, offset_us=0)
