"""Partial states of a batch that are beside no others: states as they are."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from pyspark.sql import DataFrame

from pipelines.intervals import from_us
from pipelines.stages.site import Work
from pipelines.store.asked import are_any, day_of, rows_in
from pipelines.store.copies import Stored, copy, may_copy
from pipelines.store.tables import DAY_OF
from pipelines.store.writes import append

PARTS = {"frames": "partial_frames", "sessions": "partial_sessions"}
"""Of which table the states are combined."""


def are_alone(work: Work, table: str, *, near: str, whose: str) -> bool:
    """Whether what a batch wrote for a table is of one source, and of what a predicate finds near it there
    is nothing else, neither combined nor partial.
    """
    if not work.run.is_first or len(work.pipeline.sources) > 1:
        return False
    others = f"({near}) AND NOT ({whose})"
    return not are_any(work.tables, table, where=near) and not are_any(
        work.tables, PARTS[table], where=others
    )


def add(work: Work, table: str, *, rows: DataFrame, whose: str, days: Collection[date]) -> int:
    """Add partial states that are alone as they are, onto these days; returns how many they are. `rows` are
    the same, for Spark to write where they are many.
    """
    fence, day = work.run.fence(table), from_us(work.batch.start_us).date()
    stored = Stored(PARTS[table], day=day, where=f"({whose}) AND event_count > 0")
    if may_copy(work.tables, stored, days=len(days)):
        columns = {"day": day_of(DAY_OF[table])}
        copy(work.tables, table, rows=stored, columns=columns, fence=fence)
    else:
        append(work.tables, table, rows=rows.where("event_count > 0"), fence=fence, days=len(days))
    return rows_in(work.tables, stored.table, where=stored.where)
