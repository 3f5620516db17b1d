"""`panes` and `runs` as Arrow tables, made by plain loops: of a story in any mode, and of a restatement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import pyarrow as pa

from tests.oracle import Aggregate, Batch, Pipeline, Walk, Window
from tests.oracle import Event as Happened
from tests.oracle.panes import standing_windows
from tests.oracle.publishing import LATEST, Definition, Event, Publisher
from tests.oracle.shapes import sessions, tumbled
from tests.oracle.tables import panes as panes_of

INSTANT = pa.timestamp("us", tz="UTC")
PANES = pa.schema(
    [
        ("origin", pa.string()),
        ("window", pa.string()),
        ("window_start", INSTANT),
        ("window_end", INSTANT),
        ("flights", pa.int64()),
        ("event_count", pa.int64()),
        ("kind", pa.string()),
        ("timing", pa.string()),
        ("pane_index", pa.int32()),
        ("batch_start", INSTANT),
        ("batch_end", INSTANT),
        ("revision", pa.int32()),
    ]
)
RUNS = pa.schema(
    [(name, INSTANT) for name in ("batch_start", "batch_end", "started_at", "finished_at")]
    + [("revision", pa.int32())]
)
Standing = dict[tuple[str, str, int, int], int]
"""What `windows` holds, by key, name and bounds."""


@dataclass(frozen=True, kw_only=True)
class History:
    """Both tables, each run's rows of panes, and what stood after each, by the instant it had finished."""

    panes: list[dict]
    runs: list[dict]
    stood: dict[int, Standing]

    def tables(self) -> dict[str, pa.Table]:
        """In an order that is not that of the story."""
        return {
            "panes": pa.Table.from_pylist(self.panes[::-1], schema=PANES),
            "runs": pa.Table.from_pylist(self.runs[::-1], schema=RUNS),
        }


BATCHES = (0, 10, 20, 30, 40, 50, 60)
WATERMARKS = (4, 12, 16, 18, 30, LATEST)
ARRIVE = {
    0: [("EWR", 1, 1), ("EWR", 9, 2), ("JFK", 0, 4), ("JFK", 5, 512)],
    10: [("EWR", 14, 8), ("JFK", 8, 16)],
    20: [("EWR", 5, 32), ("JFK", 19, 64)],
    30: [("EWR", 18, 128)],
    50: [("EWR", 41, 256)],
}
"""By the start of a batch: origin, instant, flights.

Sessions of a gap of five grow, and become one; one has the bounds of an hourly window at first.
"""


def story(mode: str) -> History:
    """Two definitions, with early and late panes, whose sessions take back what they replace."""
    rules = {"lateness": 8, "early": "each batch", "mode": mode}
    hourly = Definition(name="hourly", windows_of=lambda it: tumbled(it.event_us, 10), **rules)
    of = partial(sessions, gap=5, splits=False, longest=None)
    bursts = Definition(name="bursts", sessions_of=of, gap=5, touching="merge", **rules)
    publishers = [Publisher(it, key) for it in (hourly, bursts) for key in ("EWR", "JFK")]
    history = History(panes=[], runs=[], stood={})
    before: int | None = None
    for (start, end), after in zip(pairwise(BATCHES), WATERMARKS, strict=True):
        _run(history, start=start, end=end, revision=0)
        for publisher in publishers:
            events = [Event(n, key, at, end - 1) for key, at, n in ARRIVE.get(start, [])]
            mine = [it for it in events if it.key == publisher.key]
            rows = publisher.run(mine, end=end, before=before, after=after)
            history.panes.extend({**history.runs[-1], **_named(row._asdict())} for row in rows)
        standing = [it for publisher in publishers for it in publisher.standing().items()]
        history.stood[_finished(history)] = {
            (key, name, start, end): total for (name, key, start, end), (total, _) in standing
        }
        before = after
    return history


def restatement() -> History:
    """An older batch again with other rows: windows corrected, one emptied, in accumulating mode."""
    names = {"hourly": (10, 10), "rolling": (20, 10)}
    pipeline = Pipeline(
        aggregates=(Aggregate(name="flights", op="count"),),
        windows=tuple(
            Window(name=name, size=size, step=step, lateness=8) for name, (size, step) in names.items()
        ),
    )
    walk = Walk(pipeline=pipeline)
    history = History(panes=[], runs=[], stood={})
    first = [_flight(1, 3), _flight(2, 12), _flight(3, 25), _flight(4, 44), _flight(5, 27, arrives=35)]
    for batch, events in [
        *((Batch(start=start, end=end), first) for start, end in pairwise((0, 20, 40, 60))),
        (Batch(start=0, end=20), [_flight(2, 12), _flight(6, 13)]),
        (Batch(start=20, end=40), [*first[:4], _flight(7, 26)]),
    ]:
        known = len(walk.panes)
        walk.run(batch, events)
        _run(history, start=batch.start, end=batch.end, revision=walk.ledger[-1].revision)
        history.panes.extend(panes_of(walk, ("origin",))[known:])
        history.stood[_finished(history)] = {
            (key[0], name, *bounds): pane.results[0]
            for (key, name, bounds), pane in standing_windows(walk.panes).items()
        }
    return history


def of_one_window(sums: Iterable[int | None]) -> History:
    """A window whose panes hold these, each of a run of its own."""
    history = History(panes=[], runs=[], stood={})
    place = {"origin": "EWR", "window": "hourly", "window_start": 0, "window_end": 10, "event_count": 1}
    for n, total in enumerate(sums):
        _run(history, start=10 * n, end=10 * n + 10, revision=0)
        told = {"flights": total, "kind": "insert", "timing": "EARLY", "pane_index": n}
        history.panes.append({**history.runs[-1], **place, **told})
        history.stood[_finished(history)] = {}
    return history


def _run(history: History, *, start: int, end: int, revision: int) -> None:
    at = 1_000 * (len(history.runs) + 1)
    bounds = {"batch_start": start, "batch_end": end, "revision": revision}
    history.runs.append({**bounds, "started_at": at, "finished_at": at + 500})


def _finished(history: History) -> int:
    return history.runs[-1]["finished_at"]


def _named(row: dict) -> dict:
    told = {"origin": row["key"], "window_start": row["start"], "window_end": row["end"]}
    # A count of no rows is zero.
    return {**row, **told, "flights": row["total"] or 0}


def _flight(number: int, at: int, *, arrives: int | None = None) -> Happened:
    return Happened(id=number, key=("EWR",), event_us=at, arrival_us=arrives)


def later(history: History, seen: int) -> Iterable[dict]:
    """The rows of runs that finished since, in the order of the story."""
    since = {_place(run) for run in history.runs if run["finished_at"] > seen}
    return (row for row in history.panes if _place(row) in since)


def _place(row: dict) -> tuple[int, int, int]:
    return row["batch_start"], row["batch_end"], row["revision"]
