"""Expectations as Great Expectations reads them.

Each carries its place among those that were handed over, since answers come in an order of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from pyspark.sql.types import DataType, StructType, TimestampNTZType, TimestampType

from pipelines.checks.expectation import REMARKS, Expectation, thaw
from pipelines.intervals import from_us
from pipelines.spec import parse_instant

Details = dict[str, object]
BOUNDS = ("min_value", "max_value")
SET = "value_set"

POSITION = "position"
SEVERITY = {"stop": "critical", "warn": "warning", "quarantine": "info"}
"""What Great Expectations calls the weight of a failure, unless the suite says its own."""


def configurations(expectations: Sequence[Expectation], schema: StructType | None = None) -> list[Details]:
    """The expectations as Great Expectations reads them, each with its place in `meta`; with the `schema` of
    the rows, bounds and sets of instants are as PySpark gives them.
    """
    kinds = {field.name: field.dataType for field in schema or ()}
    return [
        _configuration(expectation, position, kind=kinds.get(expectation.column or ""))
        for position, expectation in enumerate(expectations)
    ]


def _configuration(expectation: Expectation, position: int, *, kind: DataType | None) -> Details:
    given = {name: thaw(value) for name, value in expectation.arguments if value is not None}
    given |= {name: _bound(given[name], kind) for name in BOUNDS if name in given}
    items = given.get(SET)
    if isinstance(items, list):
        given[SET] = [_bound(item, kind) if isinstance(item, date) else item for item in items]
    remarks = {name: given.pop(name) for name in REMARKS if name in given}
    meta = _written(remarks.get("meta"))
    return {
        "type": expectation.name,
        "kwargs": given,
        "severity": SEVERITY[expectation.on_failure],
        **remarks,
        "meta": {**(meta if isinstance(meta, dict) else {}), POSITION: position},
    }


def _written(value: object) -> object:
    """As JSON has it, which knows no dates."""
    match value:
        case dict():
            return {str(name): _written(it) for name, it in value.items()}
        case list():
            return [_written(it) for it in value]
        case date():
            return value.isoformat()
        case _:
            return value


def _bound(value: object, kind: DataType | None) -> object:
    """An instant as PySpark gives one of a column, and takes one for a literal, in a process that is in UTC:
    without a zone.
    """
    if not isinstance(kind, TimestampType | TimestampNTZType) or not isinstance(value, str | date):
        return value
    try:
        return from_us(parse_instant(str(value))).replace(tzinfo=None)
    except ValueError:
        return value
