"""What a batch publishes: which windows are due or corrected, and the rows that say so.

So far in accumulating mode, without early panes and with a late pane for each batch that brought news.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tests.oracle.aggregates import result_of
from tests.oracle.model import Batch, Event, Key, Pipeline, Value, Window
from tests.oracle.windows import Bounds, is_closed, is_due, windows_of

Place = tuple[Key, str, Bounds]
"""A window: its key, the name of its definition, its bounds."""


@dataclass(frozen=True, kw_only=True)
class Pane:
    """One published row."""

    place: Place
    results: tuple[Value, ...]
    event_count: int
    kind: str
    timing: str
    pane_index: int
    is_first: bool
    is_final: bool
    restated: bool
    batch: Batch
    revision: int


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When panes are published: between which two watermarks, for which batch, and whether that restates."""

    before: int | None
    after: int | None
    batch: Batch
    revision: int
    restated: bool


def publish(
    pipeline: Pipeline,
    events: Iterable[Event],
    touching: Iterable[Event],
    *,
    moment: Moment,
    earlier: list[Pane],
) -> list[Pane]:
    """The panes of a batch, given all accepted events, and those that came or went with it: `touching`."""
    contents, news = held_by(pipeline, events), held_by(pipeline, touching)
    published: list[Pane] = []
    for place in {**contents, **news}:
        window = next(window for window in pipeline.windows if window.name == place[1])
        timing = timing_of(place[2], window, is_touched=place in news, moment=moment)
        if timing is None:
            continue
        before = [pane for pane in earlier if pane.place == place]
        fresh = Pane(
            place=place,
            results=tuple(result_of(aggregate, contents.get(place, [])) for aggregate in pipeline.aggregates),
            event_count=len(contents.get(place, [])),
            kind="insert",
            timing=timing,
            pane_index=before[-1].pane_index + 1 if before else 0,
            is_first=not before,
            is_final=is_closed(place[2], window, moment.after),
            restated=moment.restated,
            batch=moment.batch,
            revision=moment.revision,
        )
        published += rows_of(fresh, before)
    return published


def held_by(pipeline: Pipeline, events: Iterable[Event]) -> dict[Place, list[Event]]:
    """Every window that has events, with these."""
    held: dict[Place, list[Event]] = {}
    for event in events:
        for window in pipeline.windows:
            for bounds in windows_of(event.event_us, window):
                held.setdefault((event.key, window.name, bounds), []).append(event)
    return held


def timing_of(bounds: Bounds, window: Window, *, is_touched: bool, moment: Moment) -> str | None:
    """Why the window publishes now, if it does. A restatement also corrects what is closed."""
    if not is_due(bounds, moment.after):
        return None
    if not is_due(bounds, moment.before):
        return "ON_TIME"
    if is_touched and (moment.restated or not is_closed(bounds, window, moment.before)):
        return "LATE"
    return None


def rows_of(fresh: Pane, before: list[Pane]) -> list[Pane]:
    """The rows of a publication: when it restates, only what changed, after a retract of what stood."""
    stood = before[-1] if before and before[-1].kind == "insert" else None
    inserted = [fresh] if fresh.event_count > 0 else []
    if stood is None or not fresh.restated:
        return inserted
    if (stood.results, stood.event_count) == (fresh.results, fresh.event_count):
        return []
    return [replace(fresh, kind="retract", results=stood.results, event_count=stood.event_count), *inserted]


def standing_windows(panes: Iterable[Pane]) -> dict[Place, Pane]:
    """What the panes add up to: the last insert of each window, unless it was retracted last."""
    last: dict[Place, Pane] = {}
    for pane in panes:
        last[pane.place] = pane
    return {place: pane for place, pane in last.items() if pane.kind == "insert"}
