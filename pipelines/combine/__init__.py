"""Partial frames → frames: states of the same key and timestamp, over all sources and batches, become one.

In come partial frames, of which some are touched by the batch, out go the frames that these make.
Promised: nothing is added to what an earlier attempt left, so combining again gives the same; a frame
whose events are all gone comes out empty.
"""

from pipelines.combine.frames import TOUCHED, combine

__all__ = ["TOUCHED", "combine"]
