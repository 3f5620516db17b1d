"""What to compute, as frozen values: a pipeline, its sources, aggregates and windows.

All times are whole microseconds (`_us`). Defaults of the spec's `time` and `panes` sections are already
resolved into the sources and windows that they hold for, so no reader looks in two places.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventId:
    """Columns that name an event once; a repetition within `within_us` of arrival time is a duplicate."""

    of: tuple[str, ...]
    within_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One input: how to read it, and how its rows become events."""

    name: str
    format: str
    path: str | None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    schema: str | None = None
    select: tuple[tuple[str, str], ...] = ()
    where: str | None = None
    event_time: str
    arrival_time: str | None = None
    event_id: EventId | None = None
    substream: str | None = None
    max_disorder_us: int = 0
    idle_after_us: int | None = None
    max_ahead_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One result column: an operation, what it is of (`None`: rows), and which rows count (`None`: all)."""

    name: str
    op: str
    of: str | None = None
    where: str | None = None
    options: tuple[tuple[str, Scalar | tuple[Scalar, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliding:
    """Every `[s, s + size)` with `s ≡ offset (mod step)`. Tumbling is sliding with step = size."""

    size_us: int
    step_us: int
    offset_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cumulate:
    """Growing windows `[s, s + k·step)` that share a start `s ≡ offset (mod size)`."""

    size_us: int
    step_us: int
    offset_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Bursts separated by a gap, at most `max_us` long if that is set."""

    gap_us: int
    touching: Literal["merge", "split"] = "merge"
    max_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unaligned:
    """Tumbling with a fixed shift per key: of the key's hash, or a SQL expression."""

    size_us: int
    shift: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerElement:
    """Tumbling where the event carries its own length in a column."""

    column: str
    offset_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Global:
    """One window for all time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Custom:
    """A user's window function, `module:attribute`."""

    attribute: str


Shape = Sliding | Cumulate | Session | Unaligned | PerElement | Global | Custom


@dataclass(frozen=True, slots=True, kw_only=True)
class EachBatch:
    """Fires at the end of each batch that brought news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Fires when news waits and so long has passed since the last pane."""

    every_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Fires when so many rows of news wait."""

    rows: int


Trigger = EachBatch | Every | Rows
Mode = Literal["accumulating", "discarding", "retracting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panes:
    """When a window publishes beside ON_TIME (`early=None`: not before it is due), and how it does again."""

    early: Trigger | None = None
    late: Trigger = EachBatch()
    mode: Mode = "accumulating"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window definition: its shape, and when its instances are published and closed. `from_us`: where the
    first of them starts, if not before all events.
    """

    name: str
    shape: Shape
    from_us: int | None = None
    allowed_lateness_us: int = 0
    panes: Panes = Panes()
    time: Literal["event", "arrival"] = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When the DAG starts, and whether it catches up from there."""

    start_us: int
    catchup: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long frames and late events are kept; `None`: for ever."""

    frames_us: int | None = None
    late_events_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A whole spec. `home` is where its relative paths start, `path` the file it came from."""

    name: str
    description: str = ""
    sources: tuple[Source, ...]
    key: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    windows: tuple[Window, ...]
    schedule: Schedule | None = None
    batch_us: int
    retention: Retention = Retention()
    expectations: Path | None = None
    frame_lengths: tuple[tuple[str, int], ...] = ()
    """By grid, the length that frames which are stored already have, in microseconds."""
    home: Path
    path: Path
