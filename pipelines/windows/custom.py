"""Window functions of users: found by `module:attribute`, and applied to events.

A window function is a value with `assign(event) → intervals`: `event` is a mapping of the event's columns
with its time under `event_us`, an interval a pair of microseconds `(start, end)`. Where windows of it grow
together it also has `merge(intervals) → groups`: it is given `(start, end, event_count)` in ascending
order, and gives lists of those that belong together.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.errors import CorrectTheSpec

Interval = tuple[int, int]
Counted = tuple[int, int, int]
BOUNDS_TYPE = "array<struct<start_us: bigint, end_us: bigint>>"


class WindowFunction(Protocol):
    """What a custom window has to be."""

    def assign(self, event: Mapping[str, object]) -> Iterable[Interval]:
        """The intervals that an event is in."""


class MergingFunction(WindowFunction, Protocol):
    """One whose windows grow together."""

    def merge(self, intervals: Sequence[Counted]) -> Iterable[Sequence[Counted]]:
        """Groups of the intervals of one key, each of which becomes one window."""


def window_function(attribute: str) -> WindowFunction:
    """The window function of that name. Raises `CorrectTheSpec` where there is none."""
    module, _, name = attribute.partition(":")
    try:
        found = importlib.import_module(module)
        for step in name.split("."):
            found = getattr(found, step)
    except (ImportError, AttributeError) as error:
        problem = (
            f"custom window `{attribute}`: {error}; allowed is `module:attribute` that Python can import"
        )
        raise CorrectTheSpec("windows", (problem,)) from error
    if not callable(getattr(found, "assign", None)):
        problem = f"custom window `{attribute}` has no function `assign(event)`; give it one"
        raise CorrectTheSpec("windows", (problem,))
    function: WindowFunction = found
    return function


def merges(attribute: str) -> bool:
    """Whether the windows of that function grow together."""
    return callable(getattr(window_function(attribute), "merge", None))


def assigned(attribute: str, event: Column) -> Column:
    """The intervals that the function assigns to an event, a struct of its columns."""
    function = window_function(attribute)

    @F.udf(returnType=BOUNDS_TYPE)
    def assign(row: Mapping[str, object]) -> list[dict[str, int]]:
        return [{"start_us": int(start), "end_us": int(end)} for start, end in function.assign(row)]

    return assign(event)
