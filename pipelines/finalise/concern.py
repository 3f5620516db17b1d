"""Which windows a batch is concerned with, told by their ends: those that become due, those due before that
it may correct, and those not due that may be published early.

A window without data does not exist, so ends alone do not publish anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, floor_to, merge
from pipelines.spec import Cumulate, EachBatch, Sliding, Window
from pipelines.windows import closes_us, grace_us, whole_after_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """For one window definition, which ends a batch is about.

    Due in this batch: `due_after_us < end ≤ due_until_us`. Due before and still open: `open_after_us <
    end ≤ due_after_us`; of these, and of those not due, only windows that the batch touched have news,
    unless triggers hold news back. Closing in this batch: `closed_before_us < end ≤ close_until_us`. `None`
    for a bound: there is no such watermark, or a restatement, for which nothing is closed. `coarser_us` is
    the length of the coarser frames that there are, if any. Of windows that end at `whole_after_us` or before
    some frames are gone, or the definition begins later: none of them is published. `was_early`: some may
    have been published before they are due, by another spec, and are to be corrected. `may_wait`: news may,
    under the triggers of another spec. `cut_short_us`: some windows that end up to there were open until now,
    under another spec, and news may wait in them.
    """

    window: Window
    due_after_us: int | None
    due_until_us: int | None
    open_after_us: int | None
    closed_before_us: int | None = None
    close_until_us: int | None = None
    coarser_us: int | None = None
    whole_after_us: int | None = None
    was_early: bool = False
    may_wait: bool = False
    cut_short_us: int | None = None

    @property
    def is_early(self) -> bool:
        """Whether windows may be published before they are due."""
        return self.was_early or self.window.panes.early is not None

    @property
    def tells_by(self) -> tuple[object, ...]:
        """All of the concern that `timing` and `is_closing` go by, but `whole_after_us`: definitions that are
        put together have each their own.
        """
        due = (self.due_after_us, self.due_until_us, self.open_after_us)
        return (*due, self.is_early, self.closing, grace_us(self.window.shape))

    @property
    def is_idle(self) -> bool:
        """Whether no window becomes due in the batch, or closes with news that waits."""
        reaches_further = self.due_until_us is not None and self.due_until_us != self.due_after_us
        return not reaches_further and self.closing is None

    @property
    def closing(self) -> Interval | None:
        """Where windows end that close in the batch, a tick further, if they can have news that waits."""
        until_us = self.close_until_us
        waits = self.may_wait or self.window.panes.late != EachBatch()
        if self.due_after_us is None or until_us is None or not waits:
            return None
        after_us = EARLIEST_US if self.closed_before_us is None else max(EARLIEST_US, self.closed_before_us)
        until_us = min(until_us, self.due_after_us)
        return Interval(after_us + 1, until_us + 1) if after_us < until_us else None

    def was_open_for(self, lateness_us: int) -> Concern:
        """The same where windows were open for longer until now: they close in the batch."""
        closed_us = _closed_us(replace(self.window, allowed_lateness_us=lateness_us), self.due_after_us)
        opened_us = None if self.open_after_us is None else closed_us
        return replace(
            self, open_after_us=opened_us, closed_before_us=closed_us, cut_short_us=self.closed_before_us
        )

    def whole_from(self, kept_us: int) -> Concern:
        """The same about windows alone whose frames are all there, where they are kept from an instant on."""
        return replace(self, whole_after_us=whole_after_us(self.window.shape, kept_us))

    @property
    def size_us(self) -> int:
        """How far beyond a frame its windows reach; those with frames of their own reach no further."""
        shape = self.window.shape
        return shape.size_us if isinstance(shape, Sliding | Cumulate) else 0

    @property
    def starts(self) -> Interval | None:
        """Where windows of that size start that are due or open, or may be early; `None`: anywhere.

        Without a watermark nothing is due or open.
        """
        if self.is_early:
            return None
        if self.due_until_us is None:
            return Interval(EARLIEST_US, EARLIEST_US + 1)
        if self.due_until_us >= LATEST_US:
            return None
        opened_us = EARLIEST_US if self.open_after_us is None else self.open_after_us
        due_us = EARLIEST_US if self.due_after_us is None else self.due_after_us
        first_us = min(opened_us, due_us) - self.size_us
        return Interval(first_us, max(first_us, self.due_until_us - self.size_us) + 1)

    @property
    def ends(self) -> Interval | None:
        """Where windows end that are due or open, or may be early; `None`: anywhere."""
        if self.starts is None:
            return None
        return Interval(self.starts.start_us + self.size_us, self.starts.end_us + self.size_us)

    @property
    def core(self) -> Interval | None:
        """The coarser frames that lie in every window of the batch, so that none has to be cut."""
        if self.coarser_us is None or self.starts is None or not isinstance(self.window.shape, Sliding):
            return None
        first_us = -floor_to(1 - self.starts.end_us, self.coarser_us)
        end_us = floor_to(self.starts.start_us + self.size_us, self.coarser_us)
        return Interval(first_us, end_us) if first_us < end_us else None

    def frames(self, touched: Iterable[Interval]) -> list[Interval]:
        """The intervals of event time whose frames are needed, given those that the batch touched."""
        needed = [
            Interval(_shift(it.start_us, -self.size_us), _shift(it.end_us, self.size_us)) for it in touched
        ]
        if self.due_until_us is not None and self.due_until_us != self.due_after_us:
            start_us = EARLIEST_US if self.due_after_us is None else _shift(self.due_after_us, -self.size_us)
            if start_us < self.due_until_us:
                needed.append(Interval(start_us, self.due_until_us))
        if self.closing is not None:
            needed.append(Interval(_shift(self.closing.start_us, -self.size_us), self.closing.end_us))
        return self._since(merge(needed))

    def _since(self, needed: list[Interval]) -> list[Interval]:
        """Without what lies before all windows of a definition that says where they begin."""
        from_us = self.window.from_us
        if from_us is None:
            return needed
        return [Interval(max(it.start_us, from_us), it.end_us) for it in needed if it.end_us > from_us]


def concern_of(window: Window, *, before_us: int | None, after_us: int | None, restated: bool) -> Concern:
    """The concern of a batch between two watermarks. A restatement corrects closed windows too."""
    return Concern(
        window=window,
        due_after_us=before_us,
        due_until_us=after_us,
        open_after_us=None if restated else _closed_us(window, before_us),
        closed_before_us=_closed_us(window, before_us),
        close_until_us=_closed_us(window, after_us),
    )


def _closed_us(window: Window, watermark_us: int | None) -> int | None:
    """The last end that has closed at a watermark; the final one closes all."""
    if watermark_us is None or watermark_us >= LATEST_US:
        return watermark_us
    return watermark_us - window.allowed_lateness_us


def timing(end_us: Column, concern: Concern) -> Column:
    """ON_TIME of a window with that end that becomes due, LATE of one that may be corrected, EARLY of one
    not due that may be published; else null.
    """
    told = F.when(is_due(end_us, concern), F.lit("ON_TIME")).when(is_open(end_us, concern), F.lit("LATE"))
    if concern.is_early and concern.due_until_us is None:
        told = told.otherwise(F.lit("EARLY"))
    elif concern.is_early:
        told = told.when(_reached(end_us, concern) > F.lit(concern.due_until_us), F.lit("EARLY"))
    return told if concern.whole_after_us is None else F.when(end_us > F.lit(concern.whole_after_us), told)


def is_closing(end_us: Column, concern: Concern) -> Column:
    """Whether a window with that end, due before, closes in the batch and can have news that waits."""
    if concern.closing is None:
        return F.lit(False)
    reached_us = _reached(end_us, concern)
    return (reached_us >= F.lit(concern.closing.start_us)) & (reached_us < F.lit(concern.closing.end_us))


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
