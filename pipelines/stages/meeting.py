"""Which sessions a batch can be about, told by when it touched, so that few files are read.

A session that meets none of the partial sessions of a batch is as it was, also one that began anew beside a
closed one and overlaps it. Where a greatest length or a function cuts them a session may depend on the one
before it, and all are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.finalise import Concern
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.spec import Window
from pipelines.stages.site import Work
from pipelines.store.reader import ask, in_microseconds
from pipelines.store.sql import Instant, not_after, not_before, text
from pipelines.windows import grace_us, keeps_apart

ALL, NONE = "true", "false"


def touched_by(work: Work, whose: str) -> str:
    """The predicate that a session meets what the partial sessions span of which a predicate tells."""
    return ALL if whose == ALL else _meets(_span(work, "partial_sessions", where=whose))


def standing_near(windows: Sequence[Window], meets: str) -> str:
    """The predicate that a session meets what was touched, or may depend on one that does."""
    apart = [it.name for it in windows if keeps_apart(it.shape)]
    return f"({meets}) OR {_is_one_of(apart)}" if apart else meets


def due_or_near(concerns: Sequence[Concern], meets: str) -> str:
    """The predicate that a session is due, or closes, or stands near what was touched."""
    windows = [it.window for it in concerns]
    ends = [f"({_is_one_of([it.window.name])} AND ({_due(it)}))" for it in concerns]
    return " OR ".join([f"({standing_near(windows, meets)})", *ends])


def overlapping(work: Work, *, sessions: str) -> str:
    """The predicate that a window meets what the sessions span of which a predicate tells.

    What was published of such a session may stand under bounds that it had before, also under closed ones.
    """
    return _meets(_span(work, "sessions", where=sessions))


def _due(concern: Concern) -> str:
    grace = grace_us(concern.window.shape)
    due = (
        [f"window_end > {_instant(concern.due_after_us - grace)}"] if concern.due_after_us is not None else []
    )
    ends = NONE
    if concern.due_until_us is not None:
        ends = " AND ".join([*due, not_after("window_end", concern.due_until_us)])
    if concern.closing is None:
        return ends
    first, after = concern.closing.start_us - grace, concern.closing.end_us
    return f"({ends}) OR (window_end >= {_instant(first)} AND window_end <= {_instant(after)})"


def _span(work: Work, table: str, *, where: str) -> Interval | None:
    if where == NONE:
        return None
    sql = f"SELECT min(window_start) AS first, max(window_end) AS last FROM {table} WHERE {where}"
    (found,) = in_microseconds(ask(work.tables.root, (table,), sql=sql)).to_pylist()
    return None if found["first"] is None else Interval(found["first"], found["last"])


def _meets(span: Interval | None) -> str:
    if span is None:
        return NONE
    return f"{not_before('window_end', span.start_us)} AND {not_after('window_start', span.end_us)}"


def _is_one_of(names: Sequence[str]) -> str:
    return f"window IN ({', '.join(text(name) for name in names)})"


def _instant(at_us: int) -> Instant:
    return Instant(max(EARLIEST_US, min(at_us, LATEST_US)))
