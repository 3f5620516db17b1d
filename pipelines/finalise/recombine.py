"""The strategy `recombine`: give each frame to every window that holds it, and combine what each window got.

As many combines a result as a window has frames; nothing has to be in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.finalise.parts import START, StatePart, exists
from pipelines.intervals import Interval
from pipelines.spec import Sliding
from pipelines.windows import starts_of


def recombined(
    frames: DataFrame,
    parts: Sequence[StatePart],
    *,
    key: Sequence[str],
    sliding: Sliding,
    starts: Interval | None,
) -> DataFrame:
    """Key, `START` and the parts of each window that exists."""
    given = frames.select(
        *key, *[part.column for part in parts], F.explode(starts_of(F.col("_frame_us"), sliding)).alias(START)
    )
    if starts is not None:
        given = given.where((F.col(START) >= F.lit(starts.start_us)) & (F.col(START) < F.lit(starts.end_us)))
    combined = given.groupBy(*key, START).agg(
        *[part.combine(F.col(part.column)).alias(part.column) for part in parts]
    )
    return combined.where(exists({part.column: F.col(part.column) for part in parts}))
