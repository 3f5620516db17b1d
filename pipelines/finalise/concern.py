"""Which windows a batch is concerned with, told by their ends: those that become due, and those due before
that it may correct.

A window without data does not exist, so ends alone do not publish anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, merge
from pipelines.spec import Cumulate, Sliding, Window
from pipelines.windows import closes_us, grace_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """For one window definition, which ends a batch is about.

    Due in this batch: `due_after_us < end ≤ due_until_us`. Due before and still open: `open_after_us <
    end ≤ due_after_us`; of these only windows that the batch touched have news. `None` for a bound: there
    is no such watermark.
    """

    window: Window
    due_after_us: int | None
    due_until_us: int | None
    open_after_us: int | None

    @property
    def size_us(self) -> int:
        """How far beyond a frame its windows reach; those with frames of their own reach no further."""
        shape = self.window.shape
        return shape.size_us if isinstance(shape, Sliding | Cumulate) else 0

    @property
    def starts(self) -> Interval | None:
        """Where windows of that size start that are due or open; `None`: anywhere.

        Without a watermark nothing is either.
        """
        if self.due_until_us is None:
            return Interval(EARLIEST_US, EARLIEST_US + 1)
        if self.due_until_us >= LATEST_US:
            return None
        opened_us = EARLIEST_US if self.open_after_us is None else self.open_after_us
        due_us = EARLIEST_US if self.due_after_us is None else self.due_after_us
        first_us = min(opened_us, due_us) - self.size_us
        return Interval(first_us, max(first_us, self.due_until_us - self.size_us) + 1)

    def frames(self, touched: Iterable[Interval]) -> list[Interval]:
        """The intervals of event time whose frames are needed, given those that the batch touched."""
        needed = [
            Interval(_shift(it.start_us, -self.size_us), _shift(it.end_us, self.size_us)) for it in touched
        ]
        if self.due_until_us is not None and self.due_until_us != self.due_after_us:
            start_us = EARLIEST_US if self.due_after_us is None else _shift(self.due_after_us, -self.size_us)
            if start_us < self.due_until_us:
                needed.append(Interval(start_us, self.due_until_us))
        return merge(needed)


def concern_of(window: Window, *, before_us: int | None, after_us: int | None, restated: bool) -> Concern:
    """The concern of a batch between two watermarks. A restatement corrects closed windows too."""
    if restated or before_us is None:
        open_after_us = None
    elif before_us >= LATEST_US:
        open_after_us = LATEST_US
    else:
        open_after_us = before_us - window.allowed_lateness_us
    return Concern(window=window, due_after_us=before_us, due_until_us=after_us, open_after_us=open_after_us)


def is_due(end_us: Column, concern: Concern) -> Column:
    """Whether a window with that end becomes due in the batch."""
    if concern.due_until_us is None:
        return F.lit(False)
    reached = _reached(end_us, concern) <= F.lit(concern.due_until_us)
    if concern.due_after_us is None:
        return reached
    return reached & (_reached(end_us, concern) > F.lit(concern.due_after_us))


def is_open(end_us: Column, concern: Concern) -> Column:
    """Whether a window with that end was due before the batch, and the batch may still correct it."""
    if concern.due_after_us is None:
        return F.lit(False)
    was_due = _reached(end_us, concern) <= F.lit(concern.due_after_us)
    if concern.open_after_us is None:
        return was_due
    return was_due & (_reached(end_us, concern) > F.lit(concern.open_after_us))


def _reached(end_us: Column, concern: Concern) -> Column:
    # The final watermark reaches also an end that lies after the last instant there is.
    return closes_us(end_us, grace_us(concern.window.shape))


def _shift(instant_us: int, by_us: int) -> int:
    return max(EARLIEST_US, min(LATEST_US, instant_us + by_us))
