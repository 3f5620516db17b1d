"""Window functions of users: found by `module:attribute`, and applied to events.

A window function is a value with `assign(event) → intervals`: `event` is a mapping of the event's columns,
with its instant as `event_us`; an interval is a pair of microseconds, its start and its end.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping
from typing import Protocol

from pyspark import cloudpickle
from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from pipelines.errors import CorrectTheSpec
from pipelines.intervals import EARLIEST_US, LATEST_US

Interval = tuple[int, int]
BOUNDS_TYPE = "array<struct<start_us: bigint, end_us: bigint>>"


class WindowFunction(Protocol):
    """What a custom window has to be."""

    def assign(self, event: Mapping[str, object]) -> Iterable[Interval]:
        """The intervals that an event is in."""


def window_function(attribute: str) -> WindowFunction:
    """The window function of that name. Raises `CorrectTheSpec` where there is none, or one that merges."""
    module, _, path = attribute.partition(":")
    try:
        found = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:
        raise _refused(attribute, f"{type(error).__name__}: {error}") from error
    if not callable(getattr(found, "assign", None)):
        raise _refused(attribute, "it has no function `assign(event)`; give it one")
    if callable(getattr(found, "merge", None)):
        raise _refused(attribute, "windows that merge are not built yet; only `assign` is")
    function: WindowFunction = found
    return function


def assigned(attribute: str, event: Column) -> Column:
    """The intervals that the function assigns to an event, a struct of its columns."""
    function = window_function(attribute)
    # Workers are given the function itself: they need not find its module.
    module = sys.modules[attribute.partition(":")[0]]
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # Spark's copy has no types

    @F.udf(returnType=BOUNDS_TYPE)
    def assign(row: Row | None) -> list[tuple[int, int]]:
        if row is None:
            return []
        return [_checked(int(start), int(end)) for start, end in function.assign(row.asDict())]

    return assign(event)


def _checked(start_us: int, end_us: int) -> Interval:
    if EARLIEST_US <= start_us < end_us <= LATEST_US:
        return start_us, end_us
    raise ValueError(
        f"a window function assigned [{start_us}, {end_us}); allowed is a start before its end, "
        "both in microseconds of the years 1 to 9999"
    )


def _refused(attribute: str, why: str) -> CorrectTheSpec:
    return CorrectTheSpec("windows", (f"custom `{attribute}`: {why}",))
