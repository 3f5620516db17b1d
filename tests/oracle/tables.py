"""The tables of the contract's section 7 as the oracle has them: lists of rows, each a plain dict.

Times are microseconds. A row names only what the contract promises of it; the caller names the key.
"""

from __future__ import annotations

from tests.oracle.aggregates import parts_of
from tests.oracle.duplicates import named
from tests.oracle.model import LATEST, Event, Value
from tests.oracle.panes import Pane, standing_windows
from tests.oracle.walk import Outcome, Walk
from tests.oracle.windows import Bounds, frame_of

Row = dict[str, Value]


def tables_of(walk: Walk, key: tuple[str, ...]) -> dict[str, list[Row]]:
    """Every table, by its name."""
    tables = [partial_frames, frames, watermarks, panes, windows, late_events, quarantine, runs]
    if any(source.event_id for source in walk.pipeline.sources):
        tables.append(event_ids)
    return {rows_of.__name__: rows_of(walk, key) for rows_of in tables}


def partial_frames(walk: Walk, key: tuple[str, ...]) -> list[Row]:
    rows = []
    for outcome in walk.outcomes.values():
        for source in walk.pipeline.sources:
            mine = [event for event in outcome.fates.accepted if event.source == source.name]
            rows += [{**row, "source": source.name, **batch_of(outcome)} for row in framed(walk, key, mine)]
    return rows


def frames(walk: Walk, key: tuple[str, ...]) -> list[Row]:
    return framed(walk, key, walk.accepted)


def framed(walk: Walk, key: tuple[str, ...], events: list[Event]) -> list[Row]:
    """One row per key and frame of these events."""
    groups: dict[tuple[tuple[Value, ...], Bounds], list[Event]] = {}
    for event in events:
        groups.setdefault((event.key, frame_of(event.event_us, walk.pipeline)), []).append(event)
    rows = []
    for (values, (start, end)), held in groups.items():
        row: Row = {
            **dict(zip(key, values, strict=True)),
            "grid": "aligned",
            "frame_start": start,
            "frame_end": end,
        }
        for aggregate in walk.pipeline.aggregates:
            row.update(parts_of(aggregate, held))
        rows.append({**row, "event_count": len(held)})
    return rows


def watermarks(walk: Walk, key: tuple[str, ...]) -> list[Row]:
    rows = []
    for outcome in walk.outcomes.values():
        for (source, substream), standing in outcome.standings.items():
            times = {
                "newest_event_time": standing.newest_event,
                "newest_arrival_time": standing.newest_arrival,
                "watermark": standing.watermark,
                "is_idle": standing.is_idle,
            }
            rows.append({"source": source, "substream": substream, **times, **batch_of(outcome)})
        everyone = outcome.standings.values()
        whole = {
            "newest_event_time": max((standing.newest_event for standing in everyone), default=None),
            "newest_arrival_time": max((standing.newest_arrival for standing in everyone), default=None),
            "watermark": outcome.watermark_after,
            "is_idle": bool(everyone) and all(standing.is_idle for standing in everyone),
        }
        rows.append({"source": None, "substream": None, **whole, **batch_of(outcome)})
    return rows


def panes(walk: Walk, key: tuple[str, ...]) -> list[Row]:
    rows = []
    for pane in walk.panes:
        flags = {"is_first": pane.is_first, "is_final": pane.is_final, "restated": pane.restated}
        rows.append({**published(walk, key, pane), "kind": pane.kind, **flags})
    return rows


def windows(walk: Walk, key: tuple[str, ...]) -> list[Row]:
    lateness = {window.name: window.lateness for window in walk.pipeline.windows}
    rows = []
    for pane in standing_windows(walk.panes).values():
        closes = min(pane.place[2][1] + lateness[pane.place[1]], LATEST)
        rows.append({**published(walk, key, pane), "closes_at": closes})
    return rows


def published(walk: Walk, key: tuple[str, ...], pane: Pane) -> Row:
    """What `panes` and `windows` both say."""
    values, window, (start, end) = pane.place
    results = {
        aggregate.name: it for aggregate, it in zip(walk.pipeline.aggregates, pane.results, strict=True)
    }
    bounds = {"window": window, "window_start": start, "window_end": end}
    batch = {"batch_start": pane.batch.start, "batch_end": pane.batch.end, "revision": pane.revision}
    said = {"event_count": pane.event_count, "timing": pane.timing, "pane_index": pane.pane_index}
    return {**dict(zip(key, values, strict=True)), **bounds, **results, **said, **batch}


def late_events(walk: Walk, key: tuple[str, ...]) -> list[Row]:
    rows = []
    for outcome in walk.outcomes.values():
        for loss in outcome.fates.losses:
            counts = {
                "window": loss.window,
                "missed": loss.missed,
                "kept": loss.kept,
                "watermark": outcome.judged_by,
            }
            rows.append({"id": loss.event.id, **counts, "source": loss.event.source, **batch_of(outcome)})
    return rows


def quarantine(walk: Walk, key: tuple[str, ...]) -> list[Row]:
    return [
        {"id": event.id, "source": event.source, **batch_of(outcome)}
        for outcome in walk.outcomes.values()
        for event in outcome.fates.quarantined
    ]


def event_ids(walk: Walk, key: tuple[str, ...]) -> list[Row]:
    rows = []
    for outcome in walk.outcomes.values():
        for event in outcome.fates.passing:
            place = named(event, walk.pipeline)
            if place is not None:
                told = {"ticket": place[1], "arrival_time": event.arrives_us, "source": event.source}
                rows.append({**told, **batch_of(outcome)})
    return rows


def runs(walk: Walk, key: tuple[str, ...]) -> list[Row]:
    rows = []
    for outcome in walk.ledger:
        names = ("accepted", "late", "quarantined", "duplicates")
        fates = {name: len(getattr(outcome.fates, name)) for name in names}
        times = {"watermark_before": outcome.watermark_before, "watermark_after": outcome.watermark_after}
        counts = {"ingested": len(outcome.fates.ingested), **fates, "panes": outcome.panes}
        rows.append(
            {**batch_of(outcome), "revision": outcome.revision, "status": "published", **counts, **times}
        )
    return rows


def batch_of(outcome: Outcome) -> Row:
    return {"batch_start": outcome.batch.start, "batch_end": outcome.batch.end}
