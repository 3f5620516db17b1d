"""Transcripts as values: a window, and batches of rows with the panes that they are to publish."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

from pipelines.intervals import EARLIEST_US
from tests.oracle.publishing import LATEST, Definition, Event, Publisher, Row, Trigger
from tests.oracle.shapes import Bounds, counted_sessions, cumulated, sessions, slid, tumbled

FOLDER = Path(__file__).parent
MINUTE = 60_000_000
UNITS = {"min": MINUTE, "h": 60 * MINUTE, "day": 1440 * MINUTE}
PANE = re.compile(
    r"(?P<key>\w+) (?:\[(?P<start>-?\d+), (?P<end>-?\d+)\)|(?P<ever>ever)) (?P<timing>EARLY|ON_TIME|LATE) "
    r"(?P<index>\d+): (?P<retract>not )?(?P<total>-?\d+|nothing)(?P<final>, final)?"
)
WINDOW = re.compile(r"(?P<key>\w+) (?:\[(?P<start>-?\d+), (?P<end>-?\d+)\)|(?P<ever>ever)): (?P<total>-?\d+)")
SIZES = {"tumbling", "sliding", "cumulate", "step", "offset"}
BURST = 10 * MINUTE
BURSTS = {
    "tests.windows.bursts:AT_MOST_TWO": ("merge", partial(counted_sessions, most=2)),
    "tests.windows.bursts:APART": ("split", partial(sessions, splits=True)),
}
"""Window functions that merge, of that gap: whether two that touch may, and the same in plain loops."""
TICK = re.compile(r"a tick (?P<side>before|after) (?P<minute>-?\d+)")
Told = tuple[str, int, int, str, int, str, int | None, bool, bool, bool]
"""Of a pane: key, bounds, timing, index, kind, total, whether it is final, first, restated.

The index says whether it is first. None is restated.
"""
Standing = dict[tuple[str, int, int], int | None]
SHAPES = {
    "tumbling": {"offset"},
    "sliding": {"step", "offset"},
    "cumulate": {"step"},
    "session": {"touching", "max"},
    "global": set(),
    "custom": set(),
}
"""What may stand beside the shape of a window."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows that arrive until an instant, the watermark after them, and the panes that they are to publish.

    `really`: what is published in truth, where a bad story claims other `panes`.
    """

    start: int
    end: int
    events: tuple[Event, ...]
    watermark: int
    panes: tuple[Told, ...]
    really: tuple[Told, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """A story of one window definition. Where it tells of a disorder, its watermarks follow from its rows."""

    title: str
    window: str
    definition: Definition
    batches: tuple[Batch, ...]
    windows: Standing | None = None
    max_disorder: str | None = None


def transcripts(folder: str) -> list[Transcript]:
    """All stories of a folder."""
    return [
        read(story)
        for path in sorted((FOLDER / folder).glob("*.yml"))
        for story in yaml.safe_load(path.read_text())
    ]


def read(story: Mapping) -> Transcript:
    """A story; a sentence that is none and a word that is unknown are refused."""
    only(story, {"title", "window", "batches", "windows", "max_disorder"})
    batches, start = [], 0
    for told in story["batches"]:
        only(told, {"until", "rows", "watermark", "panes", "really"})
        end = told["until"] * MINUTE
        assert start < end, f"{story['title']}: batches follow one another"
        events = tuple(_event(row, arrival=end - 1) for row in told["rows"])
        watermark = _watermark(told["watermark"])
        panes = _panes(told["panes"])
        really = _panes(told["really"]) if "really" in told else None
        batches.append(
            Batch(start=start, end=end, events=events, watermark=watermark, panes=panes, really=really)
        )
        start = end
    stands = dict(map(_window, story["windows"])) if "windows" in story else None
    return Transcript(
        title=story["title"],
        window=_flow(story["window"]),
        definition=_definition(story["window"]),
        batches=tuple(batches),
        windows=stands,
        max_disorder=story.get("max_disorder"),
    )


def only(told: Mapping, known: set[str]) -> None:
    """Refuse keys that nobody would read."""
    unknown = sorted(map(str, told.keys() - known))
    assert not unknown, f"unknown: {', '.join(unknown)}"


def pane_of(text: str) -> Told:
    """The pane that a sentence tells."""
    found = PANE.fullmatch(text)
    assert found, f"no pane: {text!r}"
    kind = "retract" if found["retract"] else "insert"
    total = None if found["total"] == "nothing" else int(found["total"])
    return (
        found["key"],
        *_bounds(found),
        found["timing"],
        int(found["index"]),
        kind,
        total,
        bool(found["final"]),
        int(found["index"]) == 0,
        False,
    )


def told(row: Row) -> Told:
    """What a row of panes says, as sentences say it."""
    flags = (row.is_final, row.is_first, row.restated)
    return (row.key, row.start, row.end, row.timing, row.pane_index, row.kind, row.total, *flags)


def by_oracle(story: Transcript) -> Iterator[tuple[Batch, list[Told], Standing]]:
    """What the plain loops publish, batch by batch, and what stands then."""
    keys = sorted({event.key for batch in story.batches for event in batch.events})
    publishers = [Publisher(story.definition, key) for key in keys]
    before: int | None = None
    for batch in story.batches:
        after = max(batch.watermark, before) if before is not None else batch.watermark
        rows = [
            row
            for publisher in publishers
            for row in publisher.run(
                [event for event in batch.events if event.key == publisher.key],
                end=batch.end,
                before=before,
                after=after,
            )
        ]
        before = after
        stands = {key[1:]: total for it in publishers for key, (total, _) in it.standing().items()}
        yield batch, sorted((told(row) for row in rows), key=str), stands


def _panes(texts: Iterable[str]) -> tuple[Told, ...]:
    return tuple(sorted(map(pane_of, texts), key=str))


def _event(row: Mapping[str, int], *, arrival: int) -> Event:
    ((place, number),) = row.items()
    key, minute = place.split(" ")
    return Event(number, key, int(minute) * MINUTE, arrival)


def _watermark(told: int | str) -> int:
    if told == "final":
        return LATEST
    if isinstance(told, int):
        return told * MINUTE
    found = TICK.fullmatch(told)
    assert found, f"no watermark: {told!r}"
    return int(found["minute"]) * MINUTE + (1 if found["side"] == "after" else -1)


def _bounds(found: re.Match[str]) -> tuple[int, int]:
    if found["ever"]:
        return EARLIEST_US, LATEST
    return int(found["start"]) * MINUTE, int(found["end"]) * MINUTE


def _window(text: str) -> tuple[tuple[str, int, int], int]:
    found = WINDOW.fullmatch(text)
    assert found, f"no window: {text!r}"
    return (found["key"], *_bounds(found)), int(found["total"])


def _definition(window: Mapping) -> Definition:
    panes = window.get("panes", {})
    (shape,) = window.keys() & SHAPES.keys()
    only(window, {shape, "allowed_lateness", "panes", "time"} | SHAPES[shape])
    only(panes, {"early", "late", "mode"})
    time = window.get("time", "event")
    assert time in ("event", "arrival"), f"no time: {time!r}"
    rules = {
        "name": "it",
        "by_arrival": time == "arrival",
        "lateness": microseconds(window.get("allowed_lateness", "0 min")),
        "early": _trigger(panes.get("early", "none")),
        "late": _trigger(panes.get("late", "each batch")),
        "mode": panes.get("mode", "accumulating"),
    }
    if "session" in window:
        gap, touching = microseconds(window["session"]), window.get("touching", "merge")
        longest = microseconds(window["max"]) if "max" in window else None
        of = partial(sessions, gap=gap, splits=touching == "split", longest=longest)
        return Definition(sessions_of=of, gap=gap, touching=touching, **rules)
    if window.get("custom") in BURSTS:
        touching, of = BURSTS[window["custom"]]
        return Definition(sessions_of=partial(of, gap=BURST), gap=BURST, touching=touching, **rules)
    return Definition(windows_of=_windows_of(window), **rules)


def _windows_of(window: Mapping) -> Callable[[Event], list[Bounds]]:
    of = {name: microseconds(window[name]) for name in SIZES & window.keys()}
    if "global" in window:
        return lambda _: [(EARLIEST_US, LATEST)]
    if "custom" in window:
        assert window["custom"] == "tests.windows.bursts:NONE_TO_TWO_LONG_ONES"
        return _none_to_two
    if "sliding" in window:
        size, step, shift = of["sliding"], of["step"], of.get("offset", 0)
        return lambda event: slid(event.event_us, size=size, step=step, shift=shift)
    if "cumulate" in window:
        return lambda event: cumulated(event.event_us, size=of["cumulate"], step=of["step"])
    return lambda event: tumbled(event.event_us, size=of["tumbling"], shift=of.get("offset", 0))


def _none_to_two(event: Event) -> list[Bounds]:
    """No window, one or two, as the number says by its remainder, of twenty and of thirty minutes."""
    ((start, _),) = tumbled(event.event_us, size=10 * MINUTE)
    return [(start, start + minutes * MINUTE) for minutes in (20, 30)[: event.number % 3]]


def _trigger(told: object) -> Trigger:
    if isinstance(told, dict):
        ((kind, value),) = told.items()
        only(told, {"rows", "every"})
        return ("rows", value) if kind == "rows" else ("every", microseconds(value))
    assert told in ("none", "each batch"), f"no trigger: {told!r}"
    return "none" if told == "none" else "each batch"


def microseconds(told: str) -> int:
    number, unit = told.split(" ")
    return int(number) * UNITS[unit]


def _flow(window: object) -> str:
    """The window as it is written in a spec."""
    return yaml.safe_dump(window, default_flow_style=True, sort_keys=False, width=1000).strip()
