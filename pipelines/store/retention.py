"""How far back frames are kept: arithmetic on the spec, on how far the pipeline has come, and on what upkeep
has let go already, which the tables `frames` and `event_ids` say in a property.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict

from pipelines.intervals import EARLIEST_US, largest
from pipelines.spec import Cumulate, Pipeline, Shape, Sliding
from pipelines.store import small
from pipelines.store.asked import are_any
from pipelines.store.attempts import first_of
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.opening import Opening
from pipelines.store.sql import Instant
from pipelines.store.tables import Folder
from pipelines.windows import Gone, GoneSessions, grace_us

PROPERTY = "sash.keptFrom"
FORGOTTEN = "sash.forgottenUntil"


def gone_from(store: Folder) -> Gone | None:
    """What has been let go of frames and sessions; `None`: nothing has."""
    return _gone_in(small.property_of(store, "frames", name=PROPERTY))


def _gone_in(said: str) -> Gone | None:
    """What a property says."""
    known = json.loads(said or "null")
    if known is None:
        return None
    if isinstance(known, dict):
        sessions = known["sessions"]
        return Gone(until_us=known["until_us"], sessions=sessions and GoneSessions(**sessions))
    # Once it was a number. Any session that ends before may have lost parts, and which parts are left of such
    # as have gone is not known.
    sessions = GoneSessions(before_us=known, until_us=known, newest_us=EARLIEST_US)
    return Gone(until_us=known, sessions=sessions)


def say_gone(store: Folder, gone: Gone | None, *, still_mine: Callable[[], None] = small.certainly) -> None:
    """Say what goes, before it does, beside what has gone before; `None`: all of it is made anew. Unless
    `still_mine` raises.
    """

    def beside(said: str) -> str:
        before = _gone_in(said)
        now = gone if gone is None or before is None else before.further(gone)
        if now == before:
            return said
        return "" if now is None else json.dumps(asdict(now))

    small.change_property(store, "frames", name=PROPERTY, change=beside, still_mine=still_mine)


def is_said_gone(store: Folder, gone: Gone) -> bool:
    """Whether that is said to have been let go."""
    said = gone_from(store)
    return said is not None and said.further(gone) == said


def forgotten_until_us(store: Folder) -> dict[str, int]:
    """By source the end up to which the ids of its batches have been let go, where any have."""
    return _forgotten_in(small.property_of(store, "event_ids", name=FORGOTTEN))


def _forgotten_in(said: str) -> dict[str, int]:
    """What a property says."""
    return {str(name): int(us) for name, us in json.loads(said or "{}").items()}


def say_forgotten(
    store: Folder, until_us: Mapping[str, int], *, still_mine: Callable[[], None] = small.certainly
) -> None:
    """Say so of these sources, before they are; unless `still_mine` raises."""

    def beside(said: str) -> str:
        before_us = _forgotten_in(said)
        further = {name: max(us, before_us.get(name, us)) for name, us in until_us.items()}
        now_us = {**before_us, **further}
        return said if now_us == before_us else json.dumps(now_us)

    small.change_property(store, "event_ids", name=FORGOTTEN, change=beside, still_mine=still_mine)


def is_said_forgotten(store: Folder, until_us: Mapping[str, int]) -> bool:
    """Whether the ids of these sources up to there are said to have been let go."""
    said_us = forgotten_until_us(store)
    return all(name in said_us and said_us[name] >= us for name, us in until_us.items())


def say_none_gone(store: Folder, *, still_mine: Callable[[], None]) -> None:
    """Say that no frames, sessions or ids are gone: all of them are made anew. Unless `still_mine` raises."""
    # Maybe there are no tables yet, which then say nothing.
    if gone_from(store) is not None:
        say_gone(store, None, still_mine=still_mine)
    if forgotten_until_us(store):
        small.set_property(store, "event_ids", name=FORGOTTEN, value="", still_mine=still_mine)


def sure_from_us(
    store: Folder,
    pipeline: Pipeline,
    *,
    watermark_us: int | None,
    newest_end_us: int | None,
    latenesses: Iterable[tuple[str, int]],
) -> int | None:
    """From which end on frames and sessions are sure to be there; `None`: all are.

    Whatever the spec says now: what it once let go does not come back.
    """
    kept_us = kept_from_us(
        pipeline, watermark_us=watermark_us, newest_end_us=newest_end_us, latenesses=latenesses
    )
    gone = gone_from(store)
    return kept_us if gone is None else largest(kept_us, gone.until_us)


def sure_before_us(store: Folder, pipeline: Pipeline, *, opening: Opening) -> int | None:
    """The same, as things stand before a batch."""
    return sure_from_us(
        store,
        pipeline,
        watermark_us=opening.in_force_us,
        newest_end_us=opening.newest_end_us,
        latenesses=opening.changes.latenesses,
    )


def remembered_from_us(rows: Iterable[LedgerRow], *, kept_us: int) -> int:
    """From which start on a batch finds the ids that it looks back to: batches that have run and may run
    again do.
    """
    may_run = [row.batch.start_us for row in rows if row.status == "published" and row.batch.end_us > kept_us]
    return min([kept_us, *may_run])


def first_whole_us(store: Folder, pipeline: Pipeline, *, opening: Opening) -> int | None:
    """From which end on all frames and sessions are there that ever were, and stay; `None`: none has been let
    go, or may be.

    Told by the tables as they were before the batch: what it writes itself may lie as far back.
    """
    sure_us = sure_before_us(store, pipeline, opening=opening)
    if sure_us is None:
        return None
    begun = first_of(store, opening.batch, revision=opening.revision)
    versions = {} if begun is None else begun.counts
    ends = {"frames": "frame_end", "sessions": "window_end"}
    stand_beyond = any(
        are_any(store, table, where=f"{end} <= {Instant(sure_us)}", version=versions.get(table))
        for table, end in ends.items()
    )
    if stand_beyond:
        return sure_us
    gone = gone_from(store)
    return None if gone is None else gone.until_us


def kept_from_us(
    pipeline: Pipeline,
    *,
    watermark_us: int | None,
    newest_end_us: int | None,
    latenesses: Iterable[tuple[str, int]],
) -> int | None:
    """Before which end the spec lets frames and sessions go; `None`: all are kept.

    Counted back from the watermark, or from the end of the newest batch where that has not come so far: the
    final watermark lets nothing go by itself. What some window still waits for stays, also under one of
    `latenesses`: those that windows had, by name and in microseconds, whose late news may wait since.
    """
    if pipeline.retention.frames_us is None or watermark_us is None or newest_end_us is None:
        return None
    reached_us = min(watermark_us, newest_end_us)
    were = list(latenesses)
    waited_for_us = max(
        max([window.allowed_lateness_us, *[us for name, us in were if name == window.name]])
        + _size_us(window.shape)
        + grace_us(window.shape)
        for window in pipeline.windows
    )
    return max(EARLIEST_US, reached_us - max(pipeline.retention.frames_us, waited_for_us))


def _size_us(shape: Shape) -> int:
    return shape.size_us if isinstance(shape, Sliding | Cumulate) else 0
