"""Upkeep of the year 1000, where an instant that is taken for a count of nanoseconds overflows."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from pipelines.spec import Pipeline, Session
from pipelines.store import small
from pipelines.store.tables import BOUNDS, LONG, TEXT, Folder
from pipelines.store.upkeep import maintain_table
from tests.store.test_upkeep import DAY, folder, pipeline, say

__all__ = ["folder", "pipeline"]


def test_sessions_are_let_go_also_before_any_count_of_nanoseconds(folder: Folder, pipeline: Pipeline):
    first = -354_000
    columns = {"page": TEXT, **BOUNDS, "visits__rows": LONG, "event_count": LONG}
    small.create(folder, "sessions", columns=columns)
    small.let_be_empty(folder, "runs")
    say(folder, "published", day=first, watermark_us=(first + 4) * DAY)
    bounds = [{"window_start": (first + it) * DAY, "window_end": (first + it + 1) * DAY} for it in (0, 3)]
    state = {"page": "p", "window": "visits", "visits__rows": 1, "event_count": 1, "day": date(1000, 1, 1)}
    small.append(small.open_table(folder, "sessions"), [{**state, **it} for it in bounds])
    bursts = replace(pipeline.windows[0], name="visits", shape=Session(gap_us=1))
    kept = maintain_table(folder, "sessions", pipeline=replace(pipeline, windows=(bursts,)))
    assert kept.let_go == 1
    (left,) = small.read(small.open_table(folder, "sessions"))
    assert left["window_start"] == (first + 3) * DAY
