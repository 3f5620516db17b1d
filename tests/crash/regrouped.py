"""What a soak runs of sessions alone: all that can move them, beside plain loops that know every event."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.stages import Request
from tests.crash.changing import RECENT, Changing
from tests.crash.histories import FRAMES, LENGTH
from tests.crash.workers import Asked
from tests.generators import SECOND
from tests.oracle import Aggregate, Batch, Event
from tests.oracle.fates import is_broken, rows_of
from tests.oracle.publishing import no_sessions
from tests.oracle.sessions import Held, Session, Sessions
from tests.oracle.shapes import Bounds
from tests.oracle.tables import Row
from tests.oracle.windows import has_reached
from tests.walk.shaped import Shaped, pairs, session, written
from tests.walk.stand import comparable, differences

GAP = 8 * SECOND
WINDOWS: dict[str, Shaped] = {
    "strict": session(8),
    "patient": session(8, lateness=15 * SECOND, mode="retracting"),
    "eager": session(8, early="each batch", lateness=8 * SECOND, mode="discarding"),
    "short": session(8, 23, lateness=10 * SECOND),
    "pairs": pairs(lateness=10 * SECOND, mode="retracting"),
}
IN_ORDER, CHAINED = {"short"}, {"short", "pairs"}
AWAY = (0, 1, 2, 3, 5, 8, 12, 20, 30)
"""How many seconds after it happened an event comes."""
AIMED = 3
"""So many events of a batch happen at the bounds of sessions that stand."""
Place = tuple[str, str]
"""A definition and a key."""
Said = tuple[Place, Session]


@dataclass(kw_only=True)
class Regrouped(Changing):
    """Batches in order, again with the same rows and with others, late, in the place of others, and judging
    nothing late.
    """

    name = "regrouped"
    pipeline = replace(
        FRAMES,
        sources=tuple(replace(it, event_id=None, within=None, max_disorder=0) for it in FRAMES.sources),
        aggregates=(Aggregate(name="total", op="sum", of="number"),),
        windows=(),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.told: list[Said] = []
        self.kept = {
            (name, key): Sessions(
                gap=definition.gap,
                lateness=definition.lateness,
                cut=definition.sessions_of or no_sessions,
                chained=name in CHAINED,
                in_order=name in IN_ORDER,
            )
            for name, (_, definition) in WINDOWS.items()
            for key in "abc"
        }

    def text(self) -> str:
        return super().text() + "".join(written(name, *it) for name, it in WINDOWS.items())

    def next_asked(self) -> Asked:
        """A batch; before it some rows may have changed."""
        self._aim(self.number)
        if self.done and self.chosen.random() < 0.15:
            self.skipped.append(self.following())
        others = ((0.15, self._in_the_place_of_others), (0.4, self._again), (0.2, self._left_out))
        for probability, asks in others:
            if len(self.done) > 1 and self.chosen.random() < probability:
                return asks()
        return Request(batch=self.following(), ignore_lateness=self.chosen.random() < 0.1)

    def compare(self, asked: Asked) -> None:
        assert isinstance(asked, Request)
        self._run(asked, bounds=(asked.batch.start_us, asked.batch.end_us))
        sessions = [(place, one) for place, mine in self.kept.items() for one in mine.sessions]
        there = [it for it in self.stored.rows("sessions") if it["event_count"] != 0]
        same_rows("sessions", there, [self._row(*it, value="total__total") for it in sessions])
        same_rows("late_events", self.stored.rows("late_events"), self._lost())
        self._look_at_windows(sessions)

    def _look_at_windows(self, sessions: list[Said]) -> None:
        told, waiting = self._told(sessions)
        stands = self._standing()
        # What was published stands until a session that took events of it is published.
        for place, one in self.told:
            may_stand = any(at == place and shares(one, it) for at, it in waiting)
            if may_stand and (place, one) not in told and self._row(place, one, value="total") in stands:
                told.append((place, one))
        same_rows("windows", stands, [self._row(*it, value="total") for it in told])
        self.told = told

    def _event(self, number: int) -> Event:
        event = super()._event(number)
        happened = event.event_us and (event.arrival_us or 0) - self.chosen.choice(AWAY) * SECOND
        return replace(event, event_us=happened)

    def _aim(self, number: int) -> None:
        """Let some events of the batch with this number meet sessions, or just not."""
        mine = [it for it in self.events if (it.arrival_us or 0) // LENGTH == number]
        for event in self.chosen.sample(mine, min(AIMED, len(mine))):
            self.events[event.id] = self._changed(event, what="time")
        self.feed()

    def _changed(self, event: Event, *, what: str) -> Event:
        if what != "time" or event.event_us is None:
            return super()._changed(event, what=what)
        stand, beside = [], []
        for (name, key), mine in self.kept.items():
            spans = [mine.bounds_of(it) for it in mine.sessions if event.key == (key,)]
            stand += spans
            # Whole ones stand beside each other seldom, and much can go wrong with them.
            others = spans if name not in CHAINED else []
            beside += [it for it in others if any(it != other and overlap(it, other) for other in others)]
        if not stand:
            return event
        near = beside if beside and self.chosen.random() < 0.8 else stand
        start, end = self.chosen.choice(sorted(near)[-RECENT:])
        at = self.chosen.choice([start - GAP, end]) + self.chosen.randint(-2, 2) * SECOND
        return replace(event, event_us=min(at, event.arrival_us or at))

    def _run(self, asked: Request, *, bounds: Bounds) -> None:
        covered = [it for it in self.done if asked.batch.covers(it)] if asked.replace else []
        is_again = asked.batch in self.done or bool(covered)
        is_older = any(it.end_us > asked.batch.end_us for it in self.done)
        for (_, key), sessions in self.kept.items():
            sessions.run(
                bounds,
                self._rows(bounds, key=key),
                judged_by=None if asked.ignore_lateness else self._judged_by(bounds),
                in_turn=not (asked.ignore_lateness or is_again or is_older),
                covered=[(it.start_us, it.end_us) for it in covered if it != asked.batch],
            )

    def _rows(self, bounds: Bounds, *, key: str) -> dict[str, list[Held]]:
        """What the batch has of the key, by source."""
        arrived = rows_of(self.events, Batch(start=bounds[0], end=bounds[1]), set())
        mine = [it for it in arrived if it.key == (key,) and it.id not in self.away]
        whole = [it for it in mine if not is_broken(it, self.pipeline)]
        return {
            source.name: [held(it) for it in whole if it.source == source.name]
            for source in self.pipeline.sources
        }

    def _judged_by(self, bounds: Bounds) -> int | None:
        """The watermark before the batch. Whether it is right others judge."""
        runs = [it for it in self.stored.rows("runs") if (it["batch_start"], it["batch_end"]) == bounds]
        return max(runs, key=lambda it: it["revision"])["watermark_before"]

    def _told(self, sessions: list[Said]) -> tuple[list[Said], list[Said]]:
        """The sessions that are due, or published early, and the others."""
        reached = [it["watermark_after"] for it in self.stored.rows("runs")]
        watermark = max((it for it in reached if it is not None), default=None)
        told, waiting = [], []
        for place, one in sessions:
            is_due = has_reached(watermark, self.kept[place].bounds_of(one)[1] + 1)
            is_early = WINDOWS[place[0]][1].early != "none"
            (told if is_due or is_early else waiting).append((place, one))
        return told, waiting

    def _row(self, place: Place, session: Session, *, value: str) -> Row:
        start, end = self.kept[place].bounds_of(session)
        bounds = {"window": place[0], "key": place[1], "window_start": start, "window_end": end}
        return {**bounds, value: sum(it.number for it in session), "event_count": len(session)}

    def _lost(self) -> list[Row]:
        return [
            {"id": number, "window": window, "batch_start": start, "batch_end": end}
            for (window, _), sessions in self.kept.items()
            for (start, end), numbers in sessions.lost.items()
            for number in numbers
        ]

    def _standing(self) -> list[Row]:
        said = ("window", "key", "window_start", "window_end", "total", "event_count")
        return [{name: row[name] for name in said} for row in self.stored.rows("windows")]


def same_rows(table: str, found: list[Row], wanted: list[Row]) -> None:
    columns = sorted({column for row in wanted for column in row})
    both = comparable(found, columns), comparable(wanted, columns)
    assert both[0] == both[1], differences(table, columns, *both)


def held(event: Event) -> Held:
    number = event.values["number"]
    assert event.event_us is not None and isinstance(number, int)
    return Held(event.event_us, event.id, number)


def overlap(one: Bounds, other: Bounds) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def shares(one: Session, other: Session) -> bool:
    return bool({it.id for it in one} & {it.id for it in other})
