"""Combine states by key and timestamp: the second stage of the two-stage aggregation.

Only the frames that the batch touched come out, each from all of its partial frames. Null keys are keys:
grouping, not joining, is what brings rows together.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.aggregates import combine_columns, part_columns
from pipelines.spec import Pipeline

TOUCHED = "_touched"
FRAME = ("grid", "frame_start", "frame_end")


def combine(partial_frames: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The frames that have a `TOUCHED` partial frame among theirs: key, `FRAME`, parts, `event_count`."""
    groups = partial_frames.groupBy(*pipeline.key, *FRAME)
    combined = groups.agg(
        *combine_columns(pipeline.aggregates, partial_frames.schema), F.max(TOUCHED).alias(TOUCHED)
    )
    return combined.where(TOUCHED).select(
        *pipeline.key, *FRAME, *part_columns(pipeline.aggregates), "event_count"
    )
