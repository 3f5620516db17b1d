"""Which windows a batch is concerned with, told by their ends: those that become due, and those due before
that it may correct.

A window without data does not exist, so ends alone do not publish anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, merge
from pipelines.spec import Sliding, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """For one window definition, which ends a batch is about.

    Due in this batch: `due_after_us < end ≤ due_until_us`. Due before and still open: `open_after_us <
    end ≤ due_after_us`; of these only windows that the batch touched have news. `None` for a bound: there
    is no such watermark.
    """

    window: str
    sliding: Sliding
    allowed_lateness_us: int
    due_after_us: int | None
    due_until_us: int | None
    open_after_us: int | None

    def frames(self, touched: Iterable[Interval]) -> list[Interval]:
        """The intervals of event time whose frames are needed, given those that the batch touched."""
        needed = [
            Interval(
                _shift(interval.start_us, -self.sliding.size_us),
                _shift(interval.end_us, self.sliding.size_us),
            )
            for interval in touched
        ]
        if self.due_until_us is not None and self.due_until_us != self.due_after_us:
            start_us = (
                EARLIEST_US if self.due_after_us is None else _shift(self.due_after_us, -self.sliding.size_us)
            )
            if start_us < self.due_until_us:
                needed.append(Interval(start_us, self.due_until_us))
        return merge(needed)


def concern_of(window: Window, *, before_us: int | None, after_us: int | None, restated: bool) -> Concern:
    """The concern of a batch between two watermarks. A restatement corrects closed windows too."""
    if not isinstance(window.shape, Sliding):
        raise TypeError(f"window `{window.name}` is not aligned: {window.shape}")
    if restated or before_us is None:
        open_after_us = None
    elif before_us >= LATEST_US:
        open_after_us = LATEST_US
    else:
        open_after_us = before_us - window.allowed_lateness_us
    return Concern(
        window=window.name,
        sliding=window.shape,
        allowed_lateness_us=window.allowed_lateness_us,
        due_after_us=before_us,
        due_until_us=after_us,
        open_after_us=open_after_us,
    )


def _shift(instant_us: int, by_us: int) -> int:
    return max(EARLIEST_US, min(LATEST_US, instant_us + by_us))
