"""How far back frames are kept: arithmetic on the spec and on how far the pipeline has come."""

from __future__ import annotations

from pipelines.intervals import EARLIEST_US
from pipelines.spec import Cumulate, Pipeline, Shape, Sliding


def kept_from_us(pipeline: Pipeline, *, watermark_us: int | None, newest_end_us: int | None) -> int | None:
    """Before which end frames and sessions are let go; `None`: all are kept.

    Counted back from the watermark, or from the end of the newest batch where that has not come so far: the
    final watermark lets nothing go by itself. What some window still waits for stays.
    """
    if pipeline.retention.frames_us is None or watermark_us is None or newest_end_us is None:
        return None
    reached_us = min(watermark_us, newest_end_us)
    waited_for_us = max(window.allowed_lateness_us + _size_us(window.shape) for window in pipeline.windows)
    return max(EARLIEST_US, reached_us - max(pipeline.retention.frames_us, waited_for_us))


def _size_us(shape: Shape) -> int:
    return shape.size_us if isinstance(shape, Sliding | Cumulate) else 0
