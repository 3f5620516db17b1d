"""Which sessions a batch can be about, told by when it touched, so that few files are read.

A session that meets none of the partial sessions of a batch is as it was, also one that began anew beside a
closed one and overlaps it. Where a greatest length or a function cuts them a session may depend on the one
before it, and the whole chain is looked at of which one meets them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.finalise import Concern
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.spec import Window
from pipelines.stages.site import Work
from pipelines.store.instants import in_microseconds
from pipelines.store.reader import ask
from pipelines.store.sql import ALL, NONE, Instant, is_of_windows, not_after, not_before
from pipelines.windows import grace_us, is_bounded, keeps_apart, session_windows


def touched_by(work: Work, whose: str) -> str:
    """The predicate that a session meets what the partial sessions span of which a predicate tells."""
    return ALL if whose == ALL else _meets(_span(work, "partial_sessions", where=whose))


def is_in_turn(work: Work) -> bool:
    """Whether of sessions that are cut in order those stay that ended before all that is touched. The same
    for each attempt at a batch.
    """
    return not (work.request.ignore_lateness or work.run.opening.restated)


def standing_near(
    work: Work, windows: Sequence[Window], *, whose: str, opened: str, version: int | None = None
) -> str:
    """The predicate that a session meets the partial sessions of which a predicate tells, or may depend on
    one that does. `opened` is true of all that can have changed.

    Of an open session a function may have cut off pieces that are not open: what hung together before is told
    by the `version` that the sessions then had; `None` is that of now.
    """
    meets = touched_by(work, whose)
    apart = [it for it in windows if keeps_apart(it.shape)]
    if not apart or meets in (ALL, NONE):
        return meets
    chain = _meets(_chained(work, apart, whose=whose, opened=opened, version=version))
    return f"({meets}) OR ({is_of_windows([it.name for it in apart])} AND {chain})"


def due_or_near(concerns: Sequence[Concern], near: str) -> str:
    """The predicate that a session is due, or closes, or stands near what was touched."""
    ends = [f"({is_of_windows([it.window.name])} AND ({_due(it)}))" for it in concerns]
    return " OR ".join([f"({near})", *ends])


def overlapping(work: Work, *, sessions: str) -> str:
    """The predicate that a window meets what the sessions span of which a predicate tells.

    What was published of such a session may stand under bounds that it had before, also under closed ones.
    """
    return _meets(_span(work, "sessions", where=sessions))


def told_of(work: Work, told: str) -> str:
    """The predicate that a session meets what the published ones span of which a predicate on panes tells.

    A restatement has to know of all that may hold their events, also further off than what it touched.
    """
    names = [window.name for window in session_windows(work.pipeline)]
    return _meets(_span(work, "panes", where=f"({told}) AND {is_of_windows(names)}"))


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


def _chained(
    work: Work, windows: Sequence[Window], *, whose: str, opened: str, version: int | None
) -> Interval | None:
    """From the first to the last of what is touched and of the sessions that hang together with it.

    Where a chain leaves what is looked at, twice as much is: so a long one takes few questions.
    """
    names = is_of_windows([it.name for it in windows])
    touched = f"({whose}) AND {names}"

    def near(reach: Interval) -> str:
        return f"{names} AND {opened} AND {_meets(reach)}"

    reach = found = _span(work, "partial_sessions", where=touched)
    if reach is None or not _reaches_out(work, reach, near=near(reach), version=version):
        return reach
    while found is not None:
        found = _chain(work, windows, touched=touched, near=near(reach), version=version)
        if found is None or reach.covers(found):
            break
        further_us = found.end_us - found.start_us
        reach = Interval(
            reach.start_us if reach.start_us <= found.start_us else found.start_us - further_us,
            reach.end_us if reach.end_us >= found.end_us else found.end_us + further_us,
        )
    return found


def _reaches_out(work: Work, reach: Interval, *, near: str, version: int | None) -> bool:
    """Whether one of the sessions of which `near` is true leaves what is touched: else no chain does, and
    none has to be put in order.
    """
    standing = _span(work, "sessions", where=near, version=version)
    return standing is not None and not reach.covers(standing)


def _chain(
    work: Work, windows: Sequence[Window], *, touched: str, near: str, version: int | None
) -> Interval | None:
    """The stretch of the sessions that hang together with what was touched, of those of which `near` is
    true. Where a greatest length cuts, which is done in order of event time, what ended before all that is
    touched of its key stays as it is.
    """
    key = ", ".join(['"' + name.replace('"', '""') + '"' for name in (*work.pipeline.key, "window")])
    bounds = f"{key}, window_start, window_end"
    ordered = [it.name for it in windows if is_bounded(it.shape)] if is_in_turn(work) else []
    in_order = f"PARTITION BY {key} ORDER BY window_start, window_end ROWS BETWEEN UNBOUNDED PRECEDING"
    sql = f"""
        WITH _both AS (
            SELECT {bounds}, 1 AS _touched FROM partial_sessions WHERE {touched}
            UNION ALL
            SELECT {bounds}, 0 AS _touched FROM sessions WHERE {near}),
        _of_keys AS (
            SELECT *, min(CASE _touched WHEN 1 THEN window_start END) OVER (PARTITION BY {key}) AS _from
            FROM _both),
        _marked AS (
            SELECT *, window_start <= max(window_end) OVER ({in_order} AND 1 PRECEDING) AS _hangs
            FROM _of_keys WHERE window_end >= _from OR NOT ({is_of_windows(ordered)}) AND _from IS NOT NULL),
        _numbered AS (
            SELECT *, sum(CASE WHEN _hangs THEN 0 ELSE 1 END) OVER ({in_order} AND CURRENT ROW) AS _chain
            FROM _marked),
        _chains AS (
            SELECT min(window_start) AS _first, max(window_end) AS _last
            FROM _numbered GROUP BY {key}, _chain HAVING max(_touched) = 1)
        SELECT min(_first) AS first, max(_last) AS last FROM _chains"""
    return _interval(work, {"partial_sessions": None, "sessions": version}, sql=sql)


def _span(work: Work, table: str, *, where: str, version: int | None = None) -> Interval | None:
    if where == NONE:
        return None
    sql = f"SELECT min(window_start) AS first, max(window_end) AS last FROM {table} WHERE {where}"
    return _interval(work, {table: version}, sql=sql)


def _interval(work: Work, versions: Mapping[str, int | None], *, sql: str) -> Interval | None:
    answer = ask(work.tables.root, [*versions], sql=sql, versions=versions)
    (found,) = in_microseconds(answer).to_pylist()
    return None if found["first"] is None else Interval(found["first"], found["last"])


def _meets(span: Interval | None) -> str:
    if span is None:
        return NONE
    return f"{not_before('window_end', span.start_us)} AND {not_after('window_start', span.end_us)}"


def _instant(at_us: int) -> Instant:
    return Instant(max(EARLIEST_US, min(at_us, LATEST_US)))
