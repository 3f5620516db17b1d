"""What retention has let go, or may let go at any time, is not asked for again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pyspark.sql import DataFrame

from pipelines.errors import ChooseAnotherBatch, CorrectTheSpec
from pipelines.intervals import Interval, show_instant
from pipelines.spec.durations import show_duration
from pipelines.spec.places import with_lines
from pipelines.stages.site import Site, Work
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.opening import Opening
from pipelines.store.retention import (
    first_whole_us,
    forgotten_until_us,
    remembered_from_us,
    sure_before_us,
)
from pipelines.store.rows import from_rows
from pipelines.store.sql import Instant

Lost = Literal["frame_end", "window_start"]
"""By what a partial frame, or a partial session, tells whether its frame, or what it may join, has gone."""


def refuse_beyond_retention(site: Site, opening: Opening, *, rows: Sequence[LedgerRow]) -> None:
    """Raise `ChooseAnotherBatch` where the batch may need frames or ids that are gone, `CorrectTheSpec` where
    a new window does. `rows` is the ledger.
    """
    kept_us = sure_before_us(site.tables, site.pipeline, opening=opening)
    if opening.restated and kept_us is not None:
        _refuse_older(opening.batch, kept_us)
        if any(it.event_id is not None and it.event_id.within_us is not None for it in site.pipeline.sources):
            _refuse_forgotten(opening.batch, remembered_from_us(rows, kept_us=kept_us))
    problems = tuple(_not_remembered(site, opening.batch))
    if problems and opening.restated:
        raise ChooseAnotherBatch(f"batch {opening.batch}: {'; '.join(problems)}")
    problems += tuple(_cut_off(site, opening)) if opening.changes.new_windows else ()
    if problems:
        raise CorrectTheSpec(site.pipeline.path.name, with_lines(problems, site.pipeline))


def refuse_lost(work: Work, changed: DataFrame, *, by: Lost) -> None:
    """Raise `ChooseAnotherBatch` where partial states are others than before of frames, or about sessions,
    that may be gone: `by` is the instant that tells.

    Where lateness is ignored frames may be: only windows that are whole take more than they had.
    """
    ignores, restated = work.request.ignore_lateness, work.run.opening.restated
    reaches_back = (restated or ignores) if by == "window_start" else (restated and not ignores)
    kept_us = work.first_whole_us if reaches_back else None
    if kept_us is not None and from_rows(changed.where(f"{by} <= {Instant(kept_us)}").limit(1)):
        raise ChooseAnotherBatch(
            f"batch {work.batch} would change what happened before {show_instant(kept_us)}, whose frames and "
            "sessions `retention` lets go, so that what was published of them cannot be corrected any more. "
            "Run newer batches again, or compute all anew with --rebuild; where `sash status` shows this one "
            "as unfinished, give it up with `sash abandon`"
        )


def _refuse_older(batch: Interval, kept_us: int) -> None:
    if batch.end_us <= kept_us:
        raise ChooseAnotherBatch(
            f"batch {batch} is older than what `retention` keeps, which begins at {show_instant(kept_us)}: "
            "its frames may be gone. Run a newer one, or compute all anew with --rebuild"
        )


def _refuse_forgotten(batch: Interval, from_us: int) -> None:
    if batch.start_us < from_us:
        raise ChooseAnotherBatch(
            f"batch {batch} begins before {show_instant(from_us)}: of the ids that it looks back to "
            "`retention` may have let some go, so that rows would count twice. Run one that begins then or "
            "later, or compute all anew with --rebuild"
        )


def _not_remembered(site: Site, batch: Interval) -> Iterator[str]:
    """What is wrong with sources that look back to ids which have been let go under another spec."""
    gone_us = forgotten_until_us(site.tables)
    for source in site.pipeline.sources:
        if source.event_id is None or source.name not in gone_us:
            continue
        within_us, ends_us = source.event_id.within_us, gone_us[source.name]
        if within_us is not None and batch.start_us - within_us >= ends_us:
            continue
        nearer = show_duration(max(1, batch.start_us - ends_us))
        yield (
            f"source `{source.name}`: event_id `within` reaches further back than {show_instant(ends_us)}, "
            "and `retention` has let go the ids of before, so that rows could count twice. Say `within: "
            f"{nearer}` or less, or compute all anew with `sash run … --rebuild`"
        )


def _cut_off(site: Site, opening: Opening) -> Iterator[str]:
    """What is wrong with windows that are new over frames of which the oldest are gone."""
    changes, lost_us = opening.changes, first_whole_us(site.tables, site.pipeline, opening=opening)
    if lost_us is None:
        return
    begins = show_instant(lost_us)
    for window in site.pipeline.windows:
        is_whole = window.from_us is not None and window.from_us >= lost_us
        if is_whole or window.name not in changes.new_windows:
            continue
        found, otherwise = "new", ""
        if window.name in changes.reshaped:
            found = "new under a name that was there before"
            otherwise = "Call it otherwise, or all that was published under that name before is taken back. "
        yield (
            f"window `{window.name}` is {found}, and asks for frames before {begins}, which are beyond "
            f"`retention`. {otherwise}Say `from: {begins}` or later in it; or compute all anew with `sash "
            "run … --rebuild`, or give the pipeline a new `name`"
        )
