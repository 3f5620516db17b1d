"""Which windows grow together: sessions, and custom windows whose function merges.

Both are called sessions wherever it makes no difference: intervals of one key that belong together.
"""

from __future__ import annotations

from typing import Literal

from pipelines.spec.model import Custom, Pipeline, Session, Shape, Window
from pipelines.windows.custom import touching_of


def merges(shape: Shape) -> bool:
    """Whether the windows of a shape grow together."""
    return touching(shape) is not None


def touching(shape: Shape) -> Literal["merge", "split"] | None:
    """What two that only touch may do; `None` where windows do not grow together."""
    match shape:
        case Session():
            return shape.touching
        case Custom():
            return touching_of(shape.attribute)
        case _:
            return None


def keeps_apart(shape: Shape) -> bool:
    """Whether what others bring may cut windows anew, so that partial sessions are not joined beforehand."""
    return shape.max_us is not None if isinstance(shape, Session) else merges(shape)


def is_bounded(shape: Shape) -> bool:
    """Whether a greatest length cuts sessions, in order of event time: none that ended before an event."""
    return isinstance(shape, Session) and shape.max_us is not None


def cuts_freely(shape: Shape) -> bool:
    """Whether what comes may cut an open window anew so that a part of it ends before: a function may, a
    greatest length leaves what is before an event as it was.
    """
    return keeps_apart(shape) and not is_bounded(shape)


def session_windows(pipeline: Pipeline) -> tuple[Window, ...]:
    """The window definitions of a pipeline that grow together."""
    return tuple(window for window in pipeline.windows if merges(window.shape))
