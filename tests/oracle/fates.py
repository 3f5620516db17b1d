"""Which rows a batch has, and what becomes of each: accepted, late, quarantined, or a duplicate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.oracle.model import Batch, Event, Pipeline, Value
from tests.oracle.watermarks import source_named
from tests.oracle.windows import missed_and_kept

Identity = tuple[str, Value]
"""A source and the id of an event in it."""


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
    def ingested(self) -> list[Event]:
        return [*self.accepted, *self.late, *self.quarantined, *self.duplicates]


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


def judge(
    rows: Iterable[Event], pipeline: Pipeline, watermark: int | None, known: Mapping[Identity, int]
) -> Fates:
    """Each row's fate by the watermark before the batch, and by nothing in the batch but repeated ids.

    `known`: when the ids of earlier batches last counted.
    """
    fates = Fates(accepted=[], late=[], quarantined=[], duplicates=[], losses=[])
    listed = sorted(rows, key=lambda row: row.id)
    repeated = {event.id for event in repeats(listed, pipeline, dict(known))}
    for event in listed:
        if is_broken(event, pipeline):
            fates.quarantined.append(event)
            continue
        if event.id in repeated:
            fates.duplicates.append(event)
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


def repeats(rows: Iterable[Event], pipeline: Pipeline, counted: dict[Identity, int]) -> list[Event]:
    """The rows whose id counted before; of several the earliest arrival counts, then the earliest event."""
    found = []
    whole = [event for event in rows if not is_broken(event, pipeline)]
    for event in sorted(whole, key=lambda row: (row.arrives_us, row.event_us, row.id)):
        identity, within = identity_of(event, pipeline), source_named(pipeline, event.source).within
        if identity is None:
            continue
        last = counted.get(identity)
        if last is None or (within is not None and event.arrives_us - last > within):
            counted[identity] = event.arrives_us
        else:
            found.append(event)
    return found


def identity_of(event: Event, pipeline: Pipeline) -> Identity | None:
    """The id of an event, if it has one."""
    column = source_named(pipeline, event.source).event_id
    value = None if column is None else event.values[column]
    return None if value is None else (event.source, value)


def is_broken(event: Event, pipeline: Pipeline) -> bool:
    """No event time, or one too far ahead of its arrival."""
    if event.event_us is None:
        return True
    ahead = source_named(pipeline, event.source).max_ahead
    return ahead is not None and event.event_us - event.arrives_us > ahead
