"""Watermarks as arithmetic on values: how far each substream has come, and how far the pipeline has.

No watermark ever goes back. What is newest counts accepted and late events, and nothing that was quarantined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, largest
from pipelines.spec.model import Source

Times = tuple[int, int, int]
"""Of a substream: the newest event time, the newest arrival, the watermark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The newest times of one substream in one batch. A substream may have no name."""

    substream: str | None
    newest_event_us: int
    newest_arrival_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a substream has come by the end of a batch."""

    substream: str | None
    newest_event_us: int
    newest_arrival_us: int
    watermark_us: int
    is_idle: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a declared source stands after a batch, over all its substreams.

    `active_us` is the smallest watermark of those that are not idle, `furthest_us` the largest of all;
    both are `None` while nothing of the source has been seen, and `waits` tells whether it then holds the
    pipeline back.
    """

    active_us: int | None = None
    furthest_us: int | None = None
    waits: bool = False


def known_before(stood: Sequence[tuple[Interval, Sequence[Progress]]]) -> list[Progress]:
    """What is known of a source's substreams before a batch: as they stood after the one before it, and after
    older ones that have run since, each beside its batch.

    One whose newest arrival lies in one of these batches, which has no more of it, was corrected away.
    """
    names = {batch: {one.substream for one in progress} for batch, progress in stood}

    def is_gone(one: Progress) -> bool:
        return any(
            batch.start_us <= one.newest_arrival_us < batch.end_us and one.substream not in known
            for batch, known in names.items()
        )

    return [one for _, progress in stood for one in progress if not is_gone(one)]


def may_have_left(
    stood: Iterable[Progress], seen: Iterable[Seen], *, known: Iterable[Progress], batch: Interval
) -> bool:
    """Whether a batch that has `seen` this may have left its substreams as they `stood`, by what is `known`
    before it or by less.

    Each that it has seen stands at its newest arrival, and no other at one in the batch; in event time none
    stands lower, and higher only where it is known to have been.
    """
    furthest: dict[str | None, int] = {}
    for one in known:
        furthest[one.substream] = max(one.newest_event_us, furthest.get(one.substream, EARLIEST_US))
    others = {one.substream: one for one in stood}
    for found in seen:
        left = others.pop(found.substream, None)
        if left is None or left.newest_arrival_us != found.newest_arrival_us:
            return False
        lowest_us = found.newest_event_us
        if not lowest_us <= left.newest_event_us <= max(lowest_us, furthest.get(found.substream, lowest_us)):
            return False
    return not any(batch.start_us <= one.newest_arrival_us < batch.end_us for one in others.values())


def advance(
    before: Iterable[Progress], seen: Iterable[Seen], *, source: Source, batch: Interval
) -> list[Progress]:
    """The substreams of a source after a batch; those that brought nothing stay, and may have become idle.

    Of one that several have known `before` the newest times count.
    """
    newest: dict[str | None, Times] = {}
    for known in before:
        times = (known.newest_event_us, known.newest_arrival_us, known.watermark_us)
        newest[known.substream] = _furthest(times, newest.get(known.substream))
    for one in seen:
        # The last instant there is closes everything, which no event does.
        reached_us = max(EARLIEST_US, min(one.newest_event_us - source.max_disorder_us, LATEST_US - 1))
        times = (one.newest_event_us, one.newest_arrival_us, reached_us)
        newest[one.substream] = _furthest(times, newest.get(one.substream))
    return [
        Progress(
            substream=substream,
            newest_event_us=event_us,
            newest_arrival_us=arrival_us,
            watermark_us=watermark_us,
            is_idle=_is_idle(source, since_us=arrival_us, batch=batch),
        )
        for substream, (event_us, arrival_us, watermark_us) in newest.items()
    ]


def _furthest(times: Times, known: Times | None) -> Times:
    if known is None:
        return times
    return max(times[0], known[0]), max(times[1], known[1]), max(times[2], known[2])


def standing(
    source: Source, substreams: Sequence[Progress], *, first_batch_start_us: int, batch: Interval
) -> Standing:
    """How a source stands; one that has not been seen yet counts from the start of the first batch."""
    if not substreams:
        return Standing(waits=not _is_idle(source, since_us=first_batch_start_us, batch=batch))
    return Standing(
        active_us=min((it.watermark_us for it in substreams if not it.is_idle), default=None),
        furthest_us=max(it.watermark_us for it in substreams),
    )


def pipeline_watermark(before_us: int | None, standings: Sequence[Standing]) -> int | None:
    """The smallest watermark over what is not idle, the largest where all is; never lower than before."""
    if any(one.waits for one in standings):
        return before_us
    active = [one.active_us for one in standings if one.active_us is not None]
    reached_us = min(active) if active else largest(*[one.furthest_us for one in standings])
    return largest(before_us, reached_us)


def watermark_after(
    reached_us: int | None,
    *,
    floor_us: int | None,
    asked_us: int | None,
    has_next: bool,
    ceiling_us: int | None,
) -> int | None:
    """The watermark after a batch: where it has come by itself or was asked to be, never below the floor.

    Where a batch follows that has run, never above the ceiling, that one's: none where it has none.
    """
    after_us = largest(reached_us, floor_us, asked_us)
    if not has_next or after_us is None:
        return after_us
    return None if ceiling_us is None else min(after_us, ceiling_us)


def arrival_watermark(newest_end_us: int | None, *, event_us: int | None) -> int | None:
    """The watermark by arrival time: where the newest batch ends, until that of event time has closed all."""
    return LATEST_US if event_us == LATEST_US else newest_end_us


def _is_idle(source: Source, *, since_us: int, batch: Interval) -> bool:
    return source.idle_after_us is not None and batch.end_us - since_us >= source.idle_after_us
