"""Events on the frames of all grids: one row for each frame that an event is in, and one that counts it.

On a single grid of bins of one length each event is one row, which is both at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.ingest import ARRIVAL_US, EVENT_US, is_accepted
from pipelines.ingest.fate import is_kept, passes
from pipelines.ingest.holding import held_column
from pipelines.windows import Grid, held_kept, judging_us, merges

GRID = "_grid"
FRAME_US = "_frame_us"
FRAME_END_US = "_frame_end_us"
INSTANT_US = "_instant_us"
IS_TALLIED = "_is_tallied"


def is_one_grid(grids: Sequence[Grid]) -> bool:
    """Whether each event that a window keeps is in one frame, whose end follows from its start."""
    return len(grids) == 1 and grids[0].bin_us is not None


def place(fated_events: DataFrame, grids: Sequence[Grid], *, watermark_us: int | None) -> DataFrame:
    """The events with `GRID`, `FRAME_US`, `FRAME_END_US` and `INSTANT_US`, once for each frame.

    What is not accepted lies in no frame. Rows with `IS_TALLIED` are as many as events.
    """
    if is_one_grid(grids):
        return _on_one_grid(fated_events, grids[0])
    counting = _frame(F.lit(None), F.lit(None), end_us=F.lit(None), instant_us=F.col(EVENT_US))
    frames = [_frames(grid, watermark_us) for grid in grids]
    accepted = F.when(is_accepted(), F.concat(*frames)).otherwise(F.array().cast(_TYPE))
    placed = fated_events.select("*", F.inline(F.concat(F.array(counting).cast(_TYPE), accepted)))
    return placed.withColumn(IS_TALLIED, F.col(GRID).isNull())


_TYPE = f"array<struct<{GRID}: string, {FRAME_US}: bigint, {FRAME_END_US}: bigint, {INSTANT_US}: bigint>>"


def _on_one_grid(fated_events: DataFrame, grid: Grid) -> DataFrame:
    frame_us = _floor(_instant(grid), grid)
    return fated_events.withColumns(
        {
            GRID: F.lit(grid.name),
            FRAME_US: F.when(passes(), frame_us),
            FRAME_END_US: F.lit(None).cast("bigint"),
            INSTANT_US: _instant(grid),
            IS_TALLIED: F.lit(True),
        }
    )


def _frames(grid: Grid, watermark_us: int | None) -> Column:
    """An array of the frames of one grid that an event is in."""
    name, instant_us = F.lit(grid.name), _instant(grid)
    window = grid.windows[0]
    if grid.bin_us is not None:
        start_us = _floor(instant_us, grid)
        end_us = start_us + F.lit(grid.bin_us)
        one = F.array(_frame(name, start_us, end_us=end_us, instant_us=instant_us)).cast(_TYPE)
        if not grid.of_sessions:
            return one
        return F.when(is_kept(window, watermark_us), one).otherwise(F.array().cast(_TYPE))
    held = F.col(held_column(window))
    if merges(window.shape):
        # What has closed must not grow together with what has not.
        held = held_kept(held, window, watermark_us=judging_us(window, watermark_us))
    frames = F.transform(
        held, lambda it: _frame(name, it["start_us"], end_us=it["end_us"], instant_us=instant_us)
    )
    return frames.cast(_TYPE)


def _frame(grid: Column, start_us: Column, *, end_us: Column, instant_us: Column) -> Column:
    return F.struct(
        grid.cast("string").alias(GRID),
        start_us.cast("bigint").alias(FRAME_US),
        end_us.cast("bigint").alias(FRAME_END_US),
        instant_us.alias(INSTANT_US),
    )


def _instant(grid: Grid) -> Column:
    return F.col(ARRIVAL_US if grid.by_arrival else EVENT_US)


def _floor(instant_us: Column, grid: Grid) -> Column:
    return instant_us - F.pmod(instant_us, F.lit(grid.bin_us))
