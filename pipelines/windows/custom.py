"""Window functions of users: found by `module:attribute`, and applied to events.

A window function is a value with `assign(event) → intervals`: `event` is a mapping of the event's columns,
with its instant as `event_us`; an interval is a pair of microseconds, its start and its end. Where it also
has `merge(intervals) → groups of them`, the windows are what these groups span.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Literal, NamedTuple, Protocol, cast

from pyspark import cloudpickle
from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from pipelines.errors import CorrectTheSpec
from pipelines.intervals import EARLIEST_US, LATEST_US
from pipelines.spec.modules import attribute_of

Interval = tuple[int, int]
INSTALLED = frozenset({"site-packages", "dist-packages"})
BOUNDS_TYPE = "array<struct<start_us: bigint, end_us: bigint>>"
GROUPED_TYPE = "array<struct<start_us: bigint, end_us: bigint, group_start_us: bigint, group_end_us: bigint>>"


class Proto(NamedTuple):
    """An interval that events were assigned to, and how many they are: all of one key."""

    start_us: int
    end_us: int
    event_count: int


class WindowFunction(Protocol):
    """What a custom window has to be."""

    def assign(self, event: Mapping[str, object]) -> Iterable[Interval]:
        """The intervals that an event is in."""


class MergingFunction(WindowFunction, Protocol):
    """What a custom window has to be whose intervals grow together.

    It may say `touching = "split"`, if two intervals that only touch never belong together; else an
    event exactly at the end of a window may still join it.
    """

    def merge(self, intervals: Sequence[Proto]) -> Iterable[Iterable[Proto]]:
        """Groups of the intervals, each in one of them.

        They overlap in one long run, in the order of their starts; those of other runs are never asked about
        together. The same intervals must give the same groups.
        """


def window_function(attribute: str) -> WindowFunction:
    """The window function of that name. Raises `CorrectTheSpec` where there is none."""
    try:
        found = attribute_of(attribute)
    # A script that leaves at its end may not leave for Sash.
    except (Exception, SystemExit) as error:
        where = "allowed is `module:attribute`, of a module beside the spec or on Python's path"
        raise _refused(attribute, f"{type(error).__name__}: {error}; {where}") from error
    if not callable(getattr(found, "assign", None)):
        raise _refused(attribute, "it has no function `assign(event)`; give it one")
    if not _takes_an_event(found):
        of_class = "; it is a class: name a value of it" if isinstance(found, type) else ""
        raise _refused(attribute, f"its `assign` is not to be called with an event alone{of_class}")
    touching = getattr(found, "touching", "merge")
    if touching not in ("merge", "split"):
        raise _refused(attribute, f"its `touching` is {touching!r}; allowed is 'merge' or 'split'")
    return cast(WindowFunction, found)


def _takes_an_event(found: object) -> bool:
    """Whether its `assign` can be called with an event alone."""
    try:
        inspect.signature(cast(WindowFunction, found).assign).bind({})
    except (TypeError, ValueError) as error:
        # What a function takes that is not written in Python nobody knows.
        return isinstance(error, ValueError)
    return True


def merging_function(attribute: str) -> MergingFunction | None:
    """The window function of that name, if it merges."""
    found = window_function(attribute)
    merges = callable(getattr(found, "merge", None))
    return cast(MergingFunction, found) if merges else None


def touching_of(attribute: str) -> Literal["merge", "split"] | None:
    """What two windows of a function that only touch may do; `None`: it does not merge."""
    found = merging_function(attribute)
    return None if found is None else cast(Literal["merge", "split"], getattr(found, "touching", "merge"))


def assigned(attribute: str, event: Column, *, by_arrival: bool = False) -> Column:
    """The intervals that the function assigns to an event, a struct of its columns.

    By arrival nothing is late, so none of them may have ended when the event came.
    """
    function = window_function(attribute)
    _carried(attribute)

    @F.udf(returnType=BOUNDS_TYPE, useArrow=False)
    def assign(row: Row | None) -> list[tuple[int, int]]:
        if row is None:
            return []
        event = row.asDict()
        after_us = event["event_us"] if by_arrival else None
        return sorted(
            {_checked(int(start), int(end), after_us=after_us) for start, end in function.assign(event)}
        )

    return assign(event)


def grouped(attribute: str, intervals: Column) -> Column:
    """Each interval of an array of `start_us, end_us, event_count` with the bounds of the group it is in."""
    function = merging_function(attribute)
    if function is None:
        raise TypeError(f"`{attribute}` has no function `merge`")
    _carried(attribute)

    @F.udf(returnType=GROUPED_TYPE, useArrow=False)
    def group(rows: list[Row]) -> list[tuple[int, int, int, int]]:
        intervals = sorted(Proto(*row) for row in rows)
        return groups_of(function, intervals)

    return group(intervals)


def groups_of(function: MergingFunction, intervals: Sequence[Proto]) -> list[tuple[int, int, int, int]]:
    """The bounds of each interval and of its group. Raises `ValueError` if one is in no group, or in two."""
    groups = [sorted((it[0], it[1]) for it in group) for group in function.merge(intervals)]
    spans = [(group[0][0], max(end_us for _, end_us in group)) for group in groups if group]
    members = [group for group in groups if group]
    _refuse_what_is_in_two(members, spans)
    found = [(*it, *span) for group, span in zip(members, spans, strict=True) for it in group]
    asked = [interval[:2] for interval in intervals]
    if sorted(interval[:2] for interval in found) != asked:
        raise ValueError(
            f"a window function was asked to merge {len(asked)} intervals and gave back {len(found)}, not "
            "the same; allowed are groups in which each of them is once"
        )
    return found


def _refuse_what_is_in_two(groups: Sequence[Sequence[Interval]], spans: Sequence[Interval]) -> None:
    """Raise `ValueError` where an interval lies within a group that it is not in.

    Sessions that are stored are known by their bounds: nobody could tell later whose it is.
    """
    begun: list[int] = []
    to_come = sorted(range(len(spans)), key=lambda number: spans[number][0], reverse=True)
    for start_us, end_us, own in sorted((*it, number) for number, group in enumerate(groups) for it in group):
        while to_come and spans[to_come[-1]][0] <= start_us:
            # Of those that have begun the two that reach furthest tell: one of them is another's.
            begun = sorted([*begun, to_come.pop()], key=lambda number: spans[number][1])[-2:]
        other = next((spans[it] for it in begun if it != own and end_us <= spans[it][1]), None)
        if other is not None:
            raise ValueError(
                f"a window function put [{start_us}, {end_us}) into [{spans[own][0]}, {spans[own][1]}), "
                f"and it lies within [{other[0]}, {other[1]}) too; allowed are groups that hold no interval "
                "of another"
            )


def _carried(attribute: str) -> None:
    """Workers are given the function itself: they need not find its module, nor those beside it."""
    module = sys.modules[attribute.partition(":")[0]]
    for one in (module, *_beside(module)):
        cloudpickle.register_pickle_by_value(one)  # type: ignore[no-untyped-call]  # Spark's copy has no types


def _beside(module: ModuleType) -> list[ModuleType]:
    """The modules in the folder of this one that have been imported; none of what is installed."""
    folder = Path(module.__file__ or "/").resolve().parent
    if folder == folder.parent or INSTALLED.intersection(folder.parts):
        return []
    others = [it for it in list(sys.modules.values()) if it is not module and getattr(it, "__file__", None)]
    return [it for it in others if Path(str(it.__file__)).resolve().parent == folder]


def _checked(start_us: int, end_us: int, *, after_us: int | None) -> Interval:
    if after_us is not None and end_us <= after_us:
        raise ValueError(
            f"a window function assigned [{start_us}, {end_us}) to an event that arrived at {after_us}; "
            "allowed is, with `time: arrival`, an end after the arrival: what ended before is published, "
            "and nothing is late"
        )
    # As of other windows, an end may lie behind all events that there can be.
    if EARLIEST_US <= start_us <= LATEST_US and start_us < end_us <= 2 * LATEST_US:
        return start_us, end_us
    raise ValueError(
        f"a window function assigned [{start_us}, {end_us}); allowed is a start of the years 1 to 9999 "
        "before its end, both in microseconds"
    )


def _refused(attribute: str, why: str) -> CorrectTheSpec:
    return CorrectTheSpec("windows", (f"custom `{attribute}`: {why}",))
