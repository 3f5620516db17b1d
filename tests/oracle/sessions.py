"""Sessions of one key in plain loops, in whatever order batches come: again with other rows, after newer
ones, in the place of others, judging nothing late.

A session is a set of events. A batch tells which changed; the open sessions that these meet are taken apart,
and what is in them is cut again, without the events that went and with those that came.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.oracle.shapes import Bounds
from tests.oracle.windows import has_reached


class Held(NamedTuple):
    """An event as far as sessions know it."""

    event_us: int
    id: int
    number: int


Session = frozenset[Held]
Cut = Callable[[Sequence[int]], list[Bounds]]
Partials = dict[str, dict[Bounds, Session]]
"""What one batch brought of each source, in runs that hang together."""


@dataclass(kw_only=True)
class Sessions:
    """The sessions of one definition and key. `cut` gives the bounds of instants, an event often.

    Where sessions hang together (`chained`), one may move the bounds of the next; where they are cut
    `in_order` of time, none moves those before it.
    """

    gap: int
    lateness: int
    cut: Cut
    chained: bool = False
    in_order: bool = False
    sessions: list[Session] = field(default_factory=list)
    partials: dict[Bounds, Partials] = field(default_factory=dict)
    lost: dict[Bounds, list[int]] = field(default_factory=dict)

    def run(
        self,
        batch: Bounds,
        rows: Mapping[str, Iterable[Held]],
        *,
        judged_by: int | None,
        in_turn: bool,
        covered: Collection[Bounds] = (),
    ) -> None:
        """Take in the rows of a batch, by source, in the place of what it and the `covered` ones held."""
        replaced = [it for it in (covered or [batch]) if it in self.partials]
        stood = [of_source(self.partials.pop(it)) for it in replaced]
        for it in replaced:
            self.lost.pop(it)
        held = {name: [it for it in mine if not self._loses(it, judged_by)] for name, mine in rows.items()}
        self.lost[batch] = sorted(it.id for name, mine in rows.items() for it in mine if it not in held[name])
        self.partials[batch] = {name: self._runs(mine) for name, mine in held.items()}
        before, now = [it for one in stood for it in one], of_source(self.partials[batch])
        # What is put in the place of other batches counts as brought, whatever they had brought.
        came = now if covered else [it for it in now if it not in before]
        went = before if covered else [it for it in before if it not in now]
        emptied = [place for place, _ in went if place not in [other for other, _ in came]]
        self._cut_again(
            [bounds for (_, bounds), _ in [*came, *went]],
            came=frozenset(event for _, one in came for event in one),
            went=frozenset(event for _, one in went for event in one),
            is_open=lambda bounds: (
                not self._is_closed(bounds, judged_by)
                or (bool(stood) and any(is_inside(gone, bounds) for _, gone in emptied))
            ),
            in_turn=in_turn,
        )

    def bounds_of(self, session: Iterable[Held]) -> Bounds:
        instants = [it.event_us for it in session]
        return min(instants), max(instants) + self.gap

    def _cut_again(
        self,
        touched: Sequence[Bounds],
        *,
        came: Session,
        went: Session,
        is_open: Callable[[Bounds], bool],
        in_turn: bool,
    ) -> None:
        if not touched:
            return
        opened = [it for it in self.sessions if is_open(self.bounds_of(it))]
        if self.chained:
            first = min(start for start, _ in touched) if in_turn and self.in_order else None
            near = [it for it in opened if first is None or self.bounds_of(it)[1] >= first]
            whole = hanging_together([*touched, *[self.bounds_of(it) for it in near]])
            areas = [area for area in whole if any(is_inside(it, area) for it in touched)]
        else:
            near, areas = opened, hanging_together(touched)
        mine = [it for it in near if any(meet(self.bounds_of(it), area) for area in areas)]
        left = [it for it in self.sessions if it not in mine]
        assert not any(it & (went - came) for it in left), "what went was in a session that is closed"
        self.sessions = left + self._sessions_of((frozenset().union(*mine) - went) | came)

    def _sessions_of(self, events: Session) -> list[Session]:
        bounds = self.cut([it.event_us for it in events])
        found: dict[Bounds, set[Held]] = {it: set() for it in bounds}
        for event in events:
            found[max(it for it in bounds if it[0] <= event.event_us)].add(event)
        return [frozenset(it) for it in found.values()]

    def _runs(self, events: Iterable[Held]) -> dict[Bounds, Session]:
        """What one source brought at once: of sessions that are cut, each instant alone."""
        mine = list(events)
        alone = {(it.event_us, it.event_us + self.gap) for it in mine}
        spans = sorted(alone) if self.chained else hanging_together(alone)
        return {
            span: frozenset(it for it in mine if is_inside((it.event_us, it.event_us + self.gap), span))
            for span in spans
        }

    def _loses(self, event: Held, judged_by: int | None) -> bool:
        return self._is_closed((event.event_us, event.event_us + self.gap), judged_by)

    def _is_closed(self, bounds: Bounds, watermark: int | None) -> bool:
        # An event at the end may still join.
        return has_reached(watermark, bounds[1] + self.lateness + 1)


def of_source(partials: Partials) -> list[tuple[tuple[str, Bounds], Session]]:
    return [((name, bounds), held) for name, mine in partials.items() for bounds, held in mine.items()]


def hanging_together(spans: Iterable[Bounds]) -> list[Bounds]:
    """Spans that overlap or touch as one, in order of time."""
    found: list[Bounds] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def meet(one: Bounds, other: Bounds) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def is_inside(one: Bounds, other: Bounds) -> bool:
    return other[0] <= one[0] and one[1] <= other[1]
