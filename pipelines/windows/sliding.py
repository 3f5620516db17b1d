"""Sliding windows on columns of microseconds: every `[s, s + size)` with `s ≡ offset (mod step)` that holds
an instant.

The starts are an arithmetic progression, so they are told by the first, the last and their count. The
count is zero for an instant that lies between windows, which happens only where the step is longer than
the size.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.spec.model import Sliding


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """The windows over an instant.

    `count` of them, starting at `first_us`, one step apart, the last at `last_us`.
    """

    first_us: Column
    last_us: Column
    count: Column


def covered_by(instant_us: Column, sliding: Sliding, *, from_us: int | None = None) -> Covered:
    """The windows that hold an instant, as three columns of whole numbers; `from_us`: where the first starts
    that there is.
    """
    last_us = instant_us - F.pmod(instant_us - F.lit(sliding.offset_us), F.lit(sliding.step_us))
    reach_us = last_us - instant_us + F.lit(sliding.size_us)
    count = F.when(reach_us > 0, _divide_up(reach_us, sliding.step_us)).otherwise(F.lit(0)).cast("bigint")
    first_us = last_us - (count - 1) * F.lit(sliding.step_us)
    if from_us is not None:
        first_us = F.greatest(first_us, F.lit(from_us))
        steps = F.call_function("div", last_us - first_us, F.lit(sliding.step_us)) + 1
        count = F.when((count > 0) & (last_us >= first_us), steps).otherwise(F.lit(0)).cast("bigint")
    return Covered(first_us=first_us, last_us=last_us, count=count)


def starts_of(instant_us: Column, sliding: Sliding) -> Column:
    """An array of the starts of all windows that hold an instant, in ascending order.

    Empty where there are none.
    """
    covered = covered_by(instant_us, sliding)
    starts = F.sequence(covered.first_us, covered.last_us, F.lit(sliding.step_us).cast("bigint"))
    return F.when(covered.count > 0, starts).otherwise(F.array().cast("array<bigint>"))


def _divide_up(positive: Column, divisor: int) -> Column:
    return F.call_function("div", positive + F.lit(divisor - 1), F.lit(divisor))
