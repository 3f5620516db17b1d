"""How far each substream and the whole pipeline have come after a batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.oracle.model import LATEST, Batch, Event, Pipeline, Source

Substream = tuple[str, str | None]
"""A source and one of its substreams; null is one too."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a substream stands: the newest times it has shown, its watermark, and whether it is idle."""

    newest_event: int
    newest_arrival: int
    watermark: int
    is_idle: bool = False

    def furthest(self, other: Standing) -> Standing:
        """The newest of what two batches have seen of a substream."""
        return Standing(
            newest_event=max(self.newest_event, other.newest_event),
            newest_arrival=max(self.newest_arrival, other.newest_arrival),
            watermark=max(self.watermark, other.watermark),
        )


def standings_after(
    pipeline: Pipeline, batch: Batch, events: Iterable[Event], before: dict[Substream, Standing]
) -> dict[Substream, Standing]:
    """All substreams after a batch, given its accepted and late events and how all stood before it."""
    after = dict(before)
    for event in events:
        place = event.source, event.substream
        # The last instant is that of a batch that closes everything.
        own = min(event.event_us - source_named(pipeline, event.source).max_disorder, LATEST - 1)
        known = after.get(place)
        after[place] = Standing(
            newest_event=event.event_us if known is None else max(known.newest_event, event.event_us),
            newest_arrival=event.arrives_us if known is None else max(known.newest_arrival, event.arrives_us),
            watermark=own if known is None else max(known.watermark, own),
        )
    for place, known in after.items():
        idle_after = source_named(pipeline, place[0]).idle_after
        after[place] = Standing(
            newest_event=known.newest_event,
            newest_arrival=known.newest_arrival,
            watermark=known.watermark,
            is_idle=idle_after is not None and batch.end - known.newest_arrival >= idle_after,
        )
    return after


def pipeline_watermark(
    pipeline: Pipeline,
    batch: Batch,
    *,
    before: int | None,
    standings: dict[Substream, Standing],
    first_start: int,
) -> int | None:
    """The smallest over all that is not idle, else the largest; a flag raises it; never lower than before."""
    told = [instant for instant in (before, batch.watermark) if instant is not None]
    if batch.final:
        return LATEST
    active = [standing.watermark for standing in standings.values() if not standing.is_idle]
    if any(holds_back(source, batch, standings, first_start) for source in pipeline.sources):
        return max(told, default=None)
    if active:
        told.append(min(active))
    elif standings:
        told.append(max(standing.watermark for standing in standings.values()))
    return max(told, default=None)


def holds_back(source: Source, batch: Batch, standings: dict[Substream, Standing], first_start: int) -> bool:
    """Whether a declared source that was never seen is still waited for."""
    if any(seen == source.name for seen, _ in standings):
        return False
    return source.idle_after is None or batch.end - first_start < source.idle_after


def source_named(pipeline: Pipeline, name: str) -> Source:
    for source in pipeline.sources:
        if source.name == name:
            return source
    raise ValueError(f"the pipeline has no source {name}")
