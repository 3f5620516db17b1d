"""What holds for all panes of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.intervals import LATEST_US
from pipelines.spec import Pipeline, Window
from pipelines.windows import Gone, closes_us, grace_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How far a watermark had come before the batch, and how far it has after it."""

    before_us: int | None
    after_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The end of the batch, how far event time and arrival time have come in it, and whether it restates an
    older one.

    `new_windows` are definitions that no batch before knew, `reshaped` those of them whose name stood for
    another shape, `gone` is what retention has let go, `counted` are the definitions whose news is counted,
    `taking_late` those whose windows take events although they have closed, up to which end, `cut_short`
    those of which a shorter lateness has closed some before the batch, up to which end. `brings_nothing`:
    the batch has run before with the same events, so what is of it came earlier too.
    """

    batch_end_us: int
    by_event: Reached
    by_arrival: Reached
    restated: bool
    new_windows: tuple[str, ...] = ()
    reshaped: tuple[str, ...] = ()
    gone: Gone | None = None
    counted: tuple[str, ...] = ()
    taking_late: Mapping[str, int] = field(default_factory=dict)
    cut_short: Mapping[str, int] = field(default_factory=dict)
    brings_nothing: bool = False

    def restates(self) -> Column:
        """Whether a pane restates: all of a batch that does, and those of a definition that is new over old
        frames.
        """
        return F.lit(self.restated) | self.is_new()

    def is_new(self) -> Column:
        """Whether a window is of a definition that is new over old frames."""
        return F.col("window").isin(list(self.new_windows)) if self.new_windows else F.lit(False)

    def is_kept(self) -> Column:
        """Whether retention has let nothing go of a session that was published."""
        if self.gone is None:
            return F.lit(True)
        return self.gone.leaves_whole(F.unix_micros("window_start"), F.unix_micros("window_end"))

    def has_closed(self, window: Window) -> Column:
        """Whether a window of a definition had closed before the batch, and takes events all the same."""
        return _ends_until(self.taking_late.get(window.name), window)

    def is_cut_short(self, window: Window) -> Column:
        """Whether a window of a definition was closed by a shorter lateness: no event of the batch is its."""
        return _ends_until(self.cut_short.get(window.name), window)

    def reached(self, window: Window) -> Reached:
        """How far the time of a definition's windows has come."""
        return self.by_arrival if window.time == "arrival" else self.by_event

    def is_final(self, pipeline: Pipeline) -> Column:
        """Whether a window is closed after the batch."""
        end_us = F.coalesce(F.unix_micros("window_end"), F.lit(LATEST_US))
        is_final = F.lit(False)
        for window in pipeline.windows:
            reached_us = self.reached(window).after_us
            if reached_us is not None:
                closing_us = closes_us(end_us, window.allowed_lateness_us + grace_us(window.shape))
                is_final |= (F.col("window") == window.name) & (F.lit(reached_us) >= closing_us)
        return is_final


def _ends_until(closed_us: int | None, window: Window) -> Column:
    end_us = F.coalesce(F.unix_micros("window_end"), F.lit(LATEST_US))
    return F.lit(False) if closed_us is None else closes_us(end_us, grace_us(window.shape)) <= closed_us
