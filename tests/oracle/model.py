"""The words of the oracle: what a pipeline is, what an event is. All times are whole microseconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

LATEST = 253_402_300_799_999_999
"""9999-12-31 23:59:59.999999, which is also the watermark that closes everything."""

Value = int | float | str | Decimal | list | dict | None
Key = tuple[Value, ...]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One input row. `id` is unique; without an arrival time of its own, an event arrives when it happens."""

    id: int
    source: str = "main"
    substream: str | None = None
    key: Key = ()
    event_us: int | None
    arrival_us: int | None = None
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def arrives_us(self) -> int | None:
        return self.event_us if self.arrival_us is None else self.arrival_us


@dataclass(frozen=True, kw_only=True)
class Source:
    """A declared source and its rules of time, and which column is the id of an event, if one is.

    `within`: how long after it counted an id is still known; `None`: for ever.
    """

    name: str = "main"
    max_disorder: int = 0
    idle_after: int | None = None
    max_ahead: int | None = None
    event_id: str | None = None
    within: int | None = None


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """`op` of the column `of` (`None`: of rows), over the events for which `where` is true.

    `options` are the spec's: `by` names a column, `n` and `k` say how many.
    """

    name: str
    op: str
    of: str | None = None
    where: Callable[[Mapping[str, Value]], bool | None] | None = None
    options: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Window:
    """Every `[s, s + size)` with `s` a multiple of `step` away from `offset`, from `begins` on if it says so.
    Tumbling has step = size.
    """

    name: str
    size: int
    step: int
    offset: int = 0
    lateness: int = 0
    begins: int | None = None


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """What is computed, of which sources. A row for which `breaks` is true breaks a rule that quarantines."""

    sources: tuple[Source, ...] = (Source(),)
    aggregates: tuple[Aggregate, ...]
    windows: tuple[Window, ...]
    breaks: Callable[[Mapping[str, Value]], bool] | None = None


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch and the flags that it runs with."""

    start: int
    end: int
    watermark: int | None = None
    final: bool = False
    ignore_lateness: bool = False

    @property
    def bounds(self) -> tuple[int, int]:
        return self.start, self.end
