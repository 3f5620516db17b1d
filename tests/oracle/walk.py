"""Batch after batch through the whole walk, keeping every event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.oracle.duplicates import counted
from tests.oracle.fates import Fates, judge, rows_of
from tests.oracle.model import Batch, Event, Pipeline
from tests.oracle.panes import Moment, Pane, publish
from tests.oracle.watermarks import Standing, Substream, pipeline_watermark, standings_after


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a batch, in its newest revision."""

    batch: Batch
    revision: int
    fates: Fates
    judged_by: int | None
    standings: dict[Substream, Standing]
    watermark_before: int | None
    watermark_after: int | None
    panes: int

    def says_the_same(self, other: Outcome) -> bool:
        """Whether two revisions had the same rows and did the same with them."""
        mine = (self.standings, self.watermark_after)
        return self.has_the_rows_of(other) and mine == (other.standings, other.watermark_after)

    def has_the_rows_of(self, other: Outcome | None) -> bool:
        """Whether there is another revision, and each row has in it the fate that it has here."""
        return other is not None and self.fates.kept == other.fates.kept


@dataclass(kw_only=True)
class Walk:
    """A pipeline and what it has done: `outcomes` by the bounds of the batch, `ledger` with all revisions."""

    pipeline: Pipeline
    outcomes: dict[tuple[int, int], Outcome] = field(default_factory=dict)
    ledger: list[Outcome] = field(default_factory=list)
    panes: list[Pane] = field(default_factory=list)

    def run(self, batch: Batch, events: Iterable[Event]) -> None:
        """Run a batch, of the rows that the input holds now. The same again changes nothing, whatever older
        batches have told of substreams since.
        """
        fresh = self._judged(batch, events)
        known = self.outcomes.get(batch.bounds)
        asks_for_more = batch.final or batch.watermark is not None
        if fresh.has_the_rows_of(known) and (not asks_for_more or fresh.says_the_same(known)):
            return
        touching = [*fresh.fates.accepted, *(known.fates.accepted if known else [])]
        if fresh.has_the_rows_of(known):
            # A watermark is asked for; of the rows nothing came or went.
            touching = []
        moment = Moment(
            before=self.watermark,
            after=max((it for it in (self.watermark, fresh.watermark_after) if it is not None), default=None),
            batch=batch,
            revision=fresh.revision,
            restated=self._corrects(fresh),
        )
        self.outcomes[batch.bounds] = fresh
        panes = publish(self.pipeline, self.accepted, touching, moment=moment, earlier=self.panes)
        self.panes += panes
        self.ledger.append(Outcome(**{**vars(fresh), "panes": len(panes)}))

    def _corrects(self, fresh: Outcome) -> bool:
        """Whether the batch corrects what was published: not the newest one, with the same rows again."""
        known = self.outcomes.get(fresh.batch.bounds)
        is_newest = all(start < fresh.batch.end for start, _ in self.outcomes)
        if is_newest and fresh.has_the_rows_of(known):
            return fresh.batch.ignore_lateness
        return known is not None or any(end > fresh.batch.start for _, end in self.outcomes)

    @property
    def accepted(self) -> list[Event]:
        """All events that count, of all batches."""
        return [event for outcome in self.outcomes.values() for event in outcome.fates.accepted]

    @property
    def watermark(self) -> int | None:
        """The watermark in force: that of the batch that ends last."""
        if not self.outcomes:
            return None
        return max(self.outcomes.values(), key=lambda outcome: outcome.batch.end).watermark_after

    def _judged(self, batch: Batch, events: Iterable[Event]) -> Outcome:
        """What comes of the batch, by what stood before it."""
        known = self.outcomes.get(batch.bounds)
        before = [it for it in self.outcomes.values() if it.batch.end <= batch.start]
        previous = max(before, key=lambda outcome: outcome.batch.end, default=None)
        stood = previous.watermark_after if previous else None
        if known is not None:
            stood = known.watermark_before
        judged_by = None if batch.ignore_lateness else stood
        rows = rows_of(events, batch, self._taken(batch))
        # Of batches that first ran after this one it knows nothing.
        told = [it for it in before if known is None or self._first_ran(it) < self._first_ran(known)]
        ids = counted([event for it in told for event in it.fates.passing], self.pipeline)
        fates = judge(rows, self.pipeline, judged_by, known=ids)
        standings = standings_after(
            self.pipeline, batch, fates.passing, self._standings_before(batch, previous)
        )
        return Outcome(
            batch=batch,
            revision=known.revision + 1 if known else 0,
            fates=fates,
            judged_by=judged_by,
            standings=standings,
            watermark_before=stood,
            watermark_after=self._watermark_after(
                batch, standings, known.watermark_after if known else stood
            ),
            panes=0,
        )

    def _first_ran(self, outcome: Outcome) -> int:
        """The place in the ledger of the batch's first run."""
        bounds = outcome.batch.bounds
        return next(number for number, it in enumerate(self.ledger) if it.batch.bounds == bounds)

    def _standings_before(self, batch: Batch, previous: Outcome | None) -> dict[Substream, Standing]:
        """What the batch before has seen, and what older ones have that ran after it did; not what only it
        still has of these.
        """
        if previous is None:
            return {}
        (ran,) = [number for number, it in enumerate(self.ledger) if says(it, previous)]
        since = {it.batch.bounds for it in self.ledger[ran + 1 :] if it.batch.end <= batch.start}
        again = [self.outcomes[bounds] for bounds in since - {previous.batch.bounds}]
        known: dict[Substream, Standing] = {}
        for outcome in (previous, *again):
            for place, other in outcome.standings.items():
                brought_by = [it for it in again if it.batch.start <= other.newest_arrival < it.batch.end]
                if all(place in it.standings for it in brought_by):
                    known[place] = other.furthest(known.get(place, other))
        return known

    def _watermark_after(
        self, batch: Batch, standings: dict[Substream, Standing], before: int | None
    ) -> int | None:
        """No watermark goes back, so neither does one that a restatement puts before later ones."""
        first = min([batch.start, *(start for start, _ in self.outcomes)])
        reached = pipeline_watermark(
            self.pipeline, batch, before=before, standings=standings, first_start=first
        )
        after = [it for it in self.outcomes.values() if it.batch.start >= batch.end]
        following = min(after, key=lambda outcome: outcome.batch.end, default=None)
        if following is None or reached is None:
            return reached
        return None if following.watermark_after is None else min(reached, following.watermark_after)

    def _taken(self, batch: Batch) -> set[int]:
        """The rows that other batches have quarantined."""
        others = [outcome for bounds, outcome in self.outcomes.items() if bounds != batch.bounds]
        return {event.id for outcome in others for event in outcome.fates.quarantined}


def says(outcome: Outcome, other: Outcome) -> bool:
    """Whether two are of the same revision of the same batch."""
    return (outcome.batch.bounds, outcome.revision) == (other.batch.bounds, other.revision)
