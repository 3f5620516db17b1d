"""How far time has come in a batch, before it and after it, and what that makes of a window definition."""

from __future__ import annotations

from dataclasses import replace

from pipelines.finalise import Concern, Reached, concern_of
from pipelines.ingest.watermark import arrival_watermark
from pipelines.intervals import largest
from pipelines.spec import Window
from pipelines.stages.coarser import are_new
from pipelines.stages.site import Work
from pipelines.stages.watermarks import watermark_of
from pipelines.windows import grid_of, merges


def reached(work: Work) -> tuple[Reached, Reached]:
    """How far event time has come, and arrival time: that is where batches end, until all is closed."""
    opening = work.run.opening
    after_us = largest(opening.in_force_us, watermark_of(work))
    newest_end_us = largest(opening.newest_end_us, work.batch.end_us)
    return (
        Reached(before_us=opening.in_force_us, after_us=after_us),
        Reached(
            before_us=arrival_watermark(opening.newest_end_us, event_us=opening.in_force_us),
            after_us=arrival_watermark(newest_end_us, event_us=after_us),
        ),
    )


def concern_in(work: Work, window: Window, *, reached: Reached) -> Concern:
    """What the batch is about, of a window definition, between the two watermarks of its time."""
    opening = work.run.opening
    is_new = window.name in opening.changes.new_windows
    concern = concern_of(
        window,
        before_us=None if is_new else reached.before_us,
        after_us=reached.after_us,
        # Where lateness is ignored closed windows too take what comes.
        restated=work.restates or work.takes_all,
    )
    longest_us = max((us for name, us in work.changes.latenesses if name == window.name), default=0)
    # A restatement leaves what waits to the next batch, unless it moves the watermark on.
    is_in_turn = not work.restates or reached.after_us != reached.before_us
    if longest_us > window.allowed_lateness_us and is_in_turn and not is_new:
        concern = concern.was_open_for(longest_us)
    if work.restates and work.was_respelled:
        concern = replace(concern, was_early=True)
    if work.changes.new_triggers:
        concern = replace(concern, may_wait=True)
    coarser_us = grid_of(work.pipeline, window.name).coarser_us
    if coarser_us is not None and not are_new(work):
        concern = replace(concern, coarser_us=coarser_us)
    # Of windows that reach further back some frames are gone: what was published of them stands. Sessions are
    # looked at one by one.
    first_us = window.from_us if merges(window.shape) else largest(work.first_whole_us, window.from_us)
    return concern if first_us is None else concern.whole_from(first_us)
