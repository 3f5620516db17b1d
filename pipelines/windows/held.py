"""The windows that hold an event, as arrays of bounds, for every shape.

In come columns of the event: its instant, its key, what its window is told by. Out go arrays of structs
`start_us, end_us`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DayTimeIntervalType

from pipelines.intervals import EARLIEST_US, LATEST_US
from pipelines.spec.model import (
    Cumulate,
    Custom,
    Global,
    PerElement,
    Session,
    Shape,
    Sliding,
    Unaligned,
)
from pipelines.windows.custom import assigned
from pipelines.windows.sliding import starts_of

SECOND_US = 1_000_000


def held(  # noqa: PLR0911  # one line a shape
    shape: Shape,
    instant_us: Column,
    *,
    key: Sequence[str],
    told: Column | None = None,
    by_arrival: bool = False,
) -> Column:
    """The windows over an instant, which may be that of the arrival, in ascending order.

    `told` is what an event says itself: its length or shift in microseconds, or for a custom window all
    its columns.
    """
    match shape:
        case Sliding():
            starts = starts_of(instant_us, shape)
            return F.transform(starts, lambda start: bounds(start, start + F.lit(shape.size_us)))
        case Cumulate():
            return _cumulated(instant_us, shape)
        case Session():
            # Its proto-session: what it would be if it stayed alone.
            return F.array(bounds(instant_us, instant_us + F.lit(shape.gap_us)))
        case Unaligned():
            shift_us = _hashed(key) if told is None else told
            return _floored(instant_us, size_us=F.lit(shape.size_us), shift_us=shift_us)
        case PerElement():
            size_us = _needed(told, shape)
            return _floored(instant_us, size_us=size_us, shift_us=F.lit(shape.offset_us))
        case Global():
            return F.array(bounds(F.lit(EARLIEST_US), F.lit(LATEST_US)))
        case Custom():
            return assigned(shape.attribute, _needed(told, shape), by_arrival=by_arrival)
        case _:
            assert_never(shape)


def since(windows: Column, from_us: int | None) -> Column:
    """Those of an array of windows that do not start before an instant."""
    if from_us is None:
        return windows
    return F.filter(windows, lambda it: it["start_us"] >= F.lit(from_us))


def bounds(start_us: Column, end_us: Column) -> Column:
    """A struct of the two bounds."""
    return F.struct(start_us.cast("bigint").alias("start_us"), end_us.cast("bigint").alias("end_us"))


def length_us(value: Column, kind: DataType) -> Column:
    """A length or shift that an event says, an interval or a number of seconds, in microseconds.

    Null where it is no such thing.
    """
    if isinstance(kind, DayTimeIntervalType):
        return F.unix_micros(F.timestamp_micros(F.lit(0)) + value)
    return F.try_multiply(value.try_cast("decimal(28,6)"), F.lit(SECOND_US)).try_cast("bigint")


def _hashed(key: Sequence[str]) -> Column:
    return F.xxhash64(*[F.col(name) for name in key]) if key else F.lit(0).cast("bigint")


def _needed(told: Column | None, shape: Shape) -> Column:
    if told is None:
        raise TypeError(f"events have to say something for {shape}")
    return told


def _floored(instant_us: Column, *, size_us: Column, shift_us: Column) -> Column:
    start_us = instant_us - F.pmod(instant_us - F.pmod(shift_us, size_us), size_us)
    return F.array(bounds(start_us, start_us + size_us))


def _cumulated(instant_us: Column, shape: Cumulate) -> Column:
    start_us = instant_us - F.pmod(instant_us - F.lit(shape.offset_us), F.lit(shape.size_us))
    passed = F.call_function("div", instant_us - start_us, F.lit(shape.step_us))
    steps = F.sequence(passed + 1, F.lit(shape.size_us // shape.step_us).cast("bigint"))
    return F.transform(steps, lambda step: bounds(start_us, start_us + step * F.lit(shape.step_us)))
