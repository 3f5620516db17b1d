"""Expectations as Great Expectations reads them.

Each carries its place among those that were handed over, since answers come in an order of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.checks.expectation import REMARKS, Expectation, thaw

Details = dict[str, object]

POSITION = "position"
SEVERITY = {"stop": "critical", "warn": "warning", "quarantine": "info"}
"""What Great Expectations calls the weight of a failure, unless the suite says its own."""


def configurations(expectations: Sequence[Expectation]) -> list[Details]:
    """The expectations as Great Expectations reads them, each with its place in `meta`."""
    return [_configuration(expectation, position) for position, expectation in enumerate(expectations)]


def _configuration(expectation: Expectation, position: int) -> Details:
    given = {name: thaw(value) for name, value in expectation.arguments if value is not None}
    remarks = {name: given.pop(name) for name in REMARKS if name in given}
    meta = remarks.get("meta")
    return {
        "type": expectation.name,
        "kwargs": given,
        "severity": SEVERITY[expectation.on_failure],
        **remarks,
        "meta": {**(meta if isinstance(meta, dict) else {}), POSITION: position},
    }
