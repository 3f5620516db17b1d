"""Which rows a batch has, and what becomes of each: accepted, late, a duplicate or quarantined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.oracle.duplicates import Known, repeated
from tests.oracle.model import Batch, Event, Pipeline
from tests.oracle.watermarks import source_named
from tests.oracle.windows import missed_and_kept


@dataclass(frozen=True, kw_only=True)
class Loss:
    """An event that a window definition lost: how many of its windows were closed, how many were not."""

    event: Event
    window: str
    missed: int
    kept: int


@dataclass(frozen=True, kw_only=True)
class Fates:
    """The rows of a batch, each in one of four lists, by number; what windows lost of those that passed."""

    accepted: list[Event]
    late: list[Event]
    quarantined: list[Event]
    duplicates: list[Event]
    losses: list[Loss]

    @property
    def passing(self) -> list[Event]:
        """Those that break no rule and repeat none."""
        return [*self.accepted, *self.late]

    @property
    def kept(self) -> tuple[list[Event], list[Event], list[Event], list[Loss], int]:
        """What can be told of the batch afterwards: of duplicates, how many there were."""
        return self.accepted, self.late, self.quarantined, self.losses, len(self.duplicates)

    @property
    def ingested(self) -> list[Event]:
        return [*self.passing, *self.quarantined, *self.duplicates]


def rows_of(events: Iterable[Event], batch: Batch, taken: set[int]) -> list[Event]:
    """The rows that arrive in the batch; rows without any time, unless an earlier batch has taken them."""
    mine = []
    for event in events:
        arrives = event.arrives_us
        if arrives is None:
            if event.id not in taken:
                mine.append(event)
        elif batch.start <= arrives < batch.end:
            mine.append(event)
    return mine


def judge(rows: Iterable[Event], pipeline: Pipeline, watermark: int | None, *, known: Known) -> Fates:
    """Each row's fate by the watermark before the batch and the ids that came before, and by nothing in the
    batch but the ids.
    """
    ordered = sorted(rows, key=lambda row: row.id)
    quarantined = [event for event in ordered if is_broken(event, pipeline)]
    whole = [event for event in ordered if event not in quarantined]
    repeats = repeated(whole, pipeline, known)
    duplicates = [event for event in whole if event.id in repeats]
    fates = Fates(accepted=[], late=[], quarantined=quarantined, duplicates=duplicates, losses=[])
    for event in whole:
        if event.id in repeats:
            continue
        missed_all, kept_all = 0, 0
        for window in pipeline.windows:
            missed, kept = missed_and_kept(event.event_us, window, watermark)
            if missed:
                fates.losses.append(Loss(event=event, window=window.name, missed=missed, kept=kept))
            missed_all, kept_all = missed_all + missed, kept_all + kept
        is_late = missed_all > 0 and kept_all == 0
        (fates.late if is_late else fates.accepted).append(event)
    return fates


def is_broken(event: Event, pipeline: Pipeline) -> bool:
    """No event time, or one too far ahead of its arrival, or a value that breaks the rule."""
    if event.event_us is None or (pipeline.breaks is not None and pipeline.breaks(event.values)):
        return True
    ahead = source_named(pipeline, event.source).max_ahead
    return ahead is not None and event.event_us - event.arrives_us > ahead
