"""Watermarks in the store: of each source's substreams after a batch, and of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.ingest.watermark import (
    Progress,
    Seen,
    Standing,
    advance,
    known_before,
    may_have_left,
    pipeline_watermark,
    standing,
    watermark_after,
)
from pipelines.intervals import LATEST_US, Interval, from_us, largest, show_instant
from pipelines.spec import Source, known_as, state_fingerprint
from pipelines.stages.before import version_before
from pipelines.stages.keeping import whose
from pipelines.stages.same_again import has_rows_alike
from pipelines.stages.site import Work
from pipelines.store import small
from pipelines.store.fence import lane_of
from pipelines.store.progress import MOVED, TOLD, Done, note, noted
from pipelines.store.sql import is_inside, on_days_of

Row = dict[str, small.Value]


def write_progress(work: Work, source: Source, *, seen: Sequence[Seen]) -> None:
    """Bring the source's substreams from where they stood before the batch to where they are after it."""
    known, stood = _known(work, source), _stood(work, source)
    after = advance(known, seen, source=source, batch=work.batch)
    is_as_before = set(after) == set(stood) and not _takes_others_away(work, source)
    if work.run.opening.before is not None and not is_as_before:
        # Said before the write, as of partials that differ.
        is_told = _asks_for_the_same(work) and may_have_left(stood, seen, known=known, batch=work.batch)
        counts = {TOLD if is_told else MOVED: 1}
        note(work.tables, work.run, done=Done(stage="accumulate", source=source.name, counts=counts))
    _put_progress(work, source, progress=after)


def write_watermark(work: Work, counted: Mapping[str, int]) -> None:
    """Bring the pipeline's watermark forward over all sources, given how many rows had each fate.

    Never below its floor, never above its ceiling.
    """
    if _is_the_same_again(work, counted):
        # What older batches have told since is for the next.
        for source in work.pipeline.sources:
            _put_progress(work, source, progress=_stood(work, source))
    of_sources = {it.name: _progress(work, it.name, batch=work.batch) for it in work.pipeline.sources}
    first_us = work.run.opening.first_start_us
    standings: list[Standing] = [
        standing(source, of_sources[source.name], first_batch_start_us=first_us, batch=work.batch)
        for source in work.pipeline.sources
    ]
    reached_us = pipeline_watermark(work.run.opening.judged_by_us, standings)
    asked_us = LATEST_US if work.request.final else work.request.watermark_us
    _warn_of_the_next(work, asked_us=asked_us)
    after_us = watermark_after(
        reached_us,
        floor_us=work.run.opening.floor_us,
        asked_us=asked_us,
        has_next=work.run.opening.has_next,
        ceiling_us=work.run.opening.ceiling_us,
    )
    everything = [one for progress in of_sources.values() for one in progress]
    row: Row = {
        "newest_event_time": largest(*[one.newest_event_us for one in everything]),
        "newest_arrival_time": largest(*[one.newest_arrival_us for one in everything]),
        "watermark": after_us,
        "is_idle": bool(everything) and all(one.is_idle for one in everything),
    }
    _put(work, [row], whose="source IS NULL", lane="watermarks")


def _asks_for_the_same(work: Work) -> bool:
    """Whether the batch has run before under the same spec, and neither a watermark is asked for nor what
    was lost.
    """
    before, request = work.run.opening.before, work.request
    if before is None or request.final or request.watermark_us is not None or work.may_heal:
        return False
    return before.spec_fingerprint == state_fingerprint(work.pipeline)


def _is_the_same_again(work: Work, counted: Mapping[str, int]) -> bool:
    """Whether nothing of the batch is another than when it last ran, but for what older ones have told."""
    if not work.has_run_alike or not noted(work.tables, work.run, name=TOLD):
        return False
    return not noted(work.tables, work.run, name=MOVED) and has_rows_alike(work, counted)


def _warn_of_the_next(work: Work, *, asked_us: int | None) -> None:
    """Say where a watermark was asked for that would be above that after the next batch."""
    ceiling_us = work.run.opening.ceiling_us
    if not work.run.opening.has_next or asked_us is None:
        return
    if ceiling_us is None or asked_us > ceiling_us:
        stands = "at none" if ceiling_us is None else f"at {show_instant(ceiling_us)}"
        work.warned.append(
            f"the watermark after batch {work.batch} stays {stands}, where that of the next one stands: "
            "to raise it or to close everything, say so to the newest batch"
        )


def watermark_of(work: Work) -> int | None:
    """The pipeline's watermark after a batch. `None`: there is none yet."""
    rows = _rows(work, batch=work.batch, source=None)
    return max((int(str(row["watermark"])) for row in rows if row["watermark"] is not None), default=None)


def _known(work: Work, source: Source) -> list[Progress]:
    """Where the source's substreams stood before the batch, also where it had another name. Those that
    another `substream` told apart do not go on: nobody would ever hear of them again.
    """
    now = state_fingerprint(work.pipeline)
    stood = []
    for row in work.run.opening.known_by:
        name = known_as(source.name, before=row.spec_fingerprint, after=now)
        if name is not None:
            stood.append((row.batch, _progress(work, name, batch=row.batch)))
    return known_before(stood)


def _stood(work: Work, source: Source) -> list[Progress]:
    """Where the source's substreams stood after the batch when it ran before."""
    version = version_before(work, "watermarks")
    return _progress(work, source.name, batch=work.batch, version=version)


def _progress(work: Work, source: str, *, batch: Interval, version: int | None = None) -> list[Progress]:
    return [
        Progress(
            substream=None if row["substream"] is None else str(row["substream"]),
            newest_event_us=int(str(row["newest_event_time"])),
            newest_arrival_us=int(str(row["newest_arrival_time"])),
            watermark_us=int(str(row["watermark"])),
            is_idle=bool(row["is_idle"]),
        )
        for row in _rows(work, batch=batch, source=source, version=version)
    ]


def _takes_others_away(work: Work, source: Source) -> bool:
    """Whether some of sources that are gone from the spec stood after the batch: they go with the first's."""
    if source != work.pipeline.sources[0]:
        return False
    known = (None, *[it.name for it in work.pipeline.sources])
    stood = _of_batch(work, work.batch, version=version_before(work, "watermarks"))
    return any(row["source"] not in known for row in stood)


def _rows(work: Work, *, batch: Interval, source: str | None, version: int | None = None) -> list[Row]:
    return [row for row in _of_batch(work, batch, version=version) if row["source"] == source]


def _of_batch(work: Work, batch: Interval, *, version: int | None) -> list[Row]:
    opened = small.open_table(work.tables, "watermarks", version=version)
    begins = from_us(batch.start_us)
    # Of a day there may be thousands: the files of the others are not opened.
    where = [("day", "=", begins.date()), ("batch_start", "=", begins)]
    rows = small.read(opened, where=where)
    return [row for row in rows if (row["batch_start"], row["batch_end"]) == (batch.start_us, batch.end_us)]


def _put_progress(work: Work, source: Source, *, progress: Sequence[Progress]) -> None:
    rows: list[Row] = [
        {
            "source": source.name,
            "substream": one.substream,
            "newest_event_time": one.newest_event_us,
            "newest_arrival_time": one.newest_arrival_us,
            "watermark": one.watermark_us,
            "is_idle": one.is_idle,
        }
        for one in progress
    ]
    _put(work, rows, whose=whose(work, source), lane=lane_of("watermarks", source.name))


def _put(work: Work, rows: Sequence[Row], *, whose: str, lane: str) -> None:
    bounds = {"batch_start": work.batch.start_us, "batch_end": work.batch.end_us}
    where = f"{whose} AND {on_days_of(work.batch)} AND {is_inside(work.batch)}"
    small.put(
        work.tables,
        "watermarks",
        rows=[{**row, **bounds} for row in rows],
        where=where,
        fence=work.run.fence(lane),
    )
