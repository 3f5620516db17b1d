"""What retention has let go, or may let go at any time, is not asked for again."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.errors import ChooseAnotherBatch, CorrectTheSpec
from pipelines.intervals import show_instant
from pipelines.spec.places import with_lines
from pipelines.stages.site import Site
from pipelines.store.opening import Opening
from pipelines.store.retention import lost_until_us, whole_from_us


def refuse_beyond_retention(site: Site, opening: Opening) -> None:
    """Raise `ChooseAnotherBatch` where the batch may need frames that are gone, `CorrectTheSpec` where a new
    window does.
    """
    kept_us = _kept_from_us(site, opening)
    if opening.restated and kept_us is not None and opening.batch.end_us <= kept_us:
        raise ChooseAnotherBatch(
            f"batch {opening.batch} is older than what `retention` keeps, which begins at "
            f"{show_instant(kept_us)}: its frames may be gone. Run a newer one, or compute all anew with "
            "--rebuild"
        )
    problems = tuple(_cut_off(site, opening)) if opening.changes.new_windows else ()
    if problems:
        raise CorrectTheSpec(site.pipeline.path.name, with_lines(problems, site.pipeline))


def first_whole_us(site: Site, opening: Opening) -> int | None:
    """From when on all frames are there that ever were; `None`: none has been let go, or may be."""
    return lost_until_us(site.tables, kept_us=_kept_from_us(site, opening))


def _kept_from_us(site: Site, opening: Opening) -> int | None:
    return whole_from_us(
        site.tables,
        site.pipeline,
        watermark_us=opening.in_force_us,
        newest_end_us=opening.newest_end_us,
        latenesses=opening.changes.latenesses,
    )


def _cut_off(site: Site, opening: Opening) -> Iterator[str]:
    """What is wrong with windows that are new over frames of which the oldest are gone."""
    lost_us, changes = first_whole_us(site, opening), opening.changes
    if lost_us is None:
        return
    begins = show_instant(lost_us)
    for window in site.pipeline.windows:
        is_whole = window.from_us is not None and window.from_us >= lost_us
        if is_whole or window.name not in changes.new_windows:
            continue
        # Under its old name what stands of the time before would be taken back.
        is_other = window.name in changes.reshaped
        found, say = ("another", "Call it otherwise, and say") if is_other else ("new", "Say")
        yield (
            f"window `{window.name}` is {found}, and asks for frames before {begins}, which are beyond "
            f"`retention`. {say} `from: {begins}` or later in it; or compute all anew with `sash run … "
            "--rebuild`, or give the pipeline a new `name`"
        )
