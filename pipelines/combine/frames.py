"""Combine states by key and timestamp: the second stage of the two-stage aggregation.

Each frame comes from all of its partial frames, and where a grid has coarser frames those too. Null keys are
keys: grouping, not joining, is what brings rows together.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import combine_columns, part_columns
from pipelines.intervals import LATEST_US
from pipelines.spec import Pipeline
from pipelines.windows import COARSER, Grid, grids_of

TOUCHED = "_touched"
FRAME = ("grid", "frame_start", "frame_end")


def combine(partial_frames: DataFrame, pipeline: Pipeline, *, are_whole: bool = False) -> DataFrame:
    """Frames: key, `FRAME`, parts, `event_count`, and whether a `TOUCHED` partial frame is among theirs.

    `are_whole`: of each frame there is one partial frame at most.
    """
    given = _with_coarser(partial_frames, pipeline)
    combined = given
    if not (are_whole and given is partial_frames):
        groups = given.groupBy(*pipeline.key, *FRAME)
        combined = groups.agg(
            *combine_columns(pipeline.aggregates, partial_frames.schema), F.max(TOUCHED).alias(TOUCHED)
        )
    return combined.select(*pipeline.key, *FRAME, *part_columns(pipeline.aggregates), "event_count", TOUCHED)


def has_coarser(pipeline: Pipeline) -> bool:
    """Whether there are coarser frames beside those that events are in."""
    return any(grid.coarser_us is not None for grid in grids_of(pipeline))


def is_coarser() -> Column:
    """Whether a frame is a coarser one."""
    return F.col("grid").contains(COARSER)


def _with_coarser(partial_frames: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Each partial frame, and once more in the coarser frame that it lies in."""
    grids = [grid for grid in grids_of(pipeline) if grid.coarser_us is not None]
    if not grids:
        return partial_frames
    itself = F.array(F.struct(*FRAME))
    frames = F.concat(itself, *[_coarser(grid) for grid in grids])
    others = [name for name in partial_frames.columns if name not in FRAME]
    return partial_frames.select(*others, F.inline(frames))


def _coarser(grid: Grid) -> Column:
    length = F.lit(grid.coarser_us)
    start_us = F.unix_micros("frame_start")
    first_us = start_us - F.pmod(start_us, length)
    frame = F.struct(
        F.lit(grid.coarser).alias("grid"),
        F.timestamp_micros(first_us).alias("frame_start"),
        F.timestamp_micros(F.least(first_us + length, F.lit(LATEST_US))).alias("frame_end"),
    )
    return F.when(F.col("grid") == grid.name, F.array(frame)).otherwise(F.slice(F.array(frame), 1, 0))
