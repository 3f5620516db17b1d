"""The law of panes: what `windows` holds, told from the panes of one definition and key alone."""

from __future__ import annotations

from collections.abc import Iterable

from tests.oracle.publishing import Row
from tests.oracle.shapes import Bounds


def added_up(panes: Iterable[Row], mode: str) -> dict[Bounds, tuple[int, int]]:
    """Of each window the sum of its panes in discarding mode, else the last insert; none retracted last."""
    stands: dict[Bounds, tuple[int, int]] = {}
    for row in panes:
        bounds = (row.start, row.end)
        if mode == "discarding":
            total, count = stands.get(bounds, (0, 0))
            sign = 1 if row.kind == "insert" else -1
            stands[bounds] = (total + sign * (row.total or 0), count + sign * row.event_count)
        elif row.kind == "insert":
            stands[bounds] = (row.total or 0, row.event_count)
        else:
            stands.pop(bounds)
    return {bounds: it for bounds, it in stands.items() if it[1] != 0}
