"""What judges the events of a batch: a watermark, and of each window definition how late they may be.

Where lateness is ignored no window takes an event that has lost frames or sessions to retention: nobody would
publish what it counts there. But a batch that runs again counts what it has counted before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.intervals import LATEST_US
from pipelines.spec import Pipeline, Window
from pipelines.stages.before import version_before
from pipelines.stages.site import Work
from pipelines.store.reader import ask, in_microseconds
from pipelines.store.sql import is_inside
from pipelines.windows import closed_until_us, closing_until, lost_until_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A watermark, without which nothing is late, and the pipeline with the latenesses that go with it.

    `told_us` is what is told of events that are late: the watermark, or, where lateness is ignored, from when
    on frames were kept.
    """

    pipeline: Pipeline
    watermark_us: int | None
    told_us: int | None


def judge_of(work: Work) -> Judge:
    """The one of a batch."""
    opening, watermark_us = work.run.opening, work.run.opening.judged_by_us
    if not work.request.ignore_lateness:
        return Judge(pipeline=work.pipeline, watermark_us=watermark_us, told_us=watermark_us)
    kept_us = _lost_before_us(work) if opening.restated else work.first_whole_us
    if watermark_us is None or kept_us is None:
        return Judge(pipeline=work.pipeline, watermark_us=None, told_us=None)
    # The final one closes everything.
    judging_us, first_us = min(watermark_us, LATEST_US - 1), kept_us

    def judging(window: Window) -> Window:
        until_us = lost_until_us(window.shape, first_us)
        if opening.restated:
            until_us = min(until_us, closed_until_us(window, judging_us))
        return closing_until(window, until_us, watermark_us=judging_us)

    windows = tuple(judging(window) for window in work.pipeline.windows)
    pipeline = replace(work.pipeline, windows=windows)
    return Judge(pipeline=pipeline, watermark_us=judging_us, told_us=first_us)


def _lost_before_us(work: Work) -> int | None:
    """From when on frames were kept when the batch last ran, as the events tell that were late then: what has
    been let go since it had counted. `None` where none was late, or none has gone.
    """
    kept_us = work.first_whole_us
    if kept_us is None:
        return None
    sql = f"SELECT max(watermark) AS told FROM late_events WHERE {is_inside(work.batch)}"
    versions = {"late_events": version_before(work, "late_events")}
    answer = ask(work.tables.root, ("late_events",), sql=sql, versions=versions)
    (found,) = in_microseconds(answer).to_pylist()
    return None if found["told"] is None else min(kept_us, int(found["told"]))
