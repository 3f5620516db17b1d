"""Keeps tables small, by delta-rs: rows beyond retention, many small files, files and log of old versions.

Safe beside a running batch: each step is a commit of its own, made against the version that it read, and
one that another commit comes before is left for the next time. Files that a version of the last week needs
stay, so that whoever reads, resumes or abandons finds them; while a batch is unfinished none is deleted.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from pipelines.errors import WaitForTheBatch
from pipelines.intervals import EARLIEST_US, Interval
from pipelines.spec import Pipeline, state_fingerprint
from pipelines.store import small
from pipelines.store.asked import are_any, first_of
from pipelines.store.ledger import read_rows
from pipelines.store.ledger_rows import LedgerRow, have_gone, newest, unfinished
from pipelines.store.opening import ran_with_other_windows, waiting_latenesses
from pipelines.store.retention import (
    is_said_forgotten,
    is_said_gone,
    kept_from_us,
    remembered_from_us,
    say_forgotten,
    say_gone,
)
from pipelines.store.sql import Instant, text
from pipelines.store.tables import PARTITIONED_BY, Folder
from pipelines.windows import Gone, GoneSessions

WEEK_HOURS = 7 * 24
OF_FRAMES = ("frames", "partial_frames")
OF_SESSIONS = ("sessions", "partial_sessions")

MARK = "sash.upkeep"
"""The property that says whose compaction is the newest."""

Returned = TypeVar("Returned")


class Beyond(NamedTuple):
    """Rows that retention lets go: a predicate, and whether a table says so; first it has to, where somebody
    may ask for them.
    """

    where: str
    is_said: Callable[[], bool] = lambda: True


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What came of a table: its files before and after, rows that were let go, old files deleted."""

    table: str
    before: int
    after: int
    let_go: int
    deleted: int


def tables_of(folder: Folder) -> list[str]:
    """The tables that there are."""
    return [name for name in PARTITIONED_BY if small.is_there(folder, name)]


def maintain_table(folder: Folder, table: str, *, pipeline: Pipeline) -> Kept:
    """Let go what is beyond retention, put small files together, delete what no version needs."""
    before = len(small.open_table(folder, table).file_uris())
    let_go = _let_go(folder, table, pipeline=pipeline)
    _unless_met(lambda: _put_together(folder, table))
    opened = small.open_table(folder, table)
    # An unfinished batch may need them all.
    is_quiet = unfinished(read_rows(folder)) is None
    deleted = (_unless_met(lambda: _delete_files(opened)) or 0) if is_quiet else 0
    opened.create_checkpoint()
    if is_quiet:
        # The entries of a month ago that no younger version needs; a batch that begins now goes back to this.
        opened.cleanup_metadata()
    return Kept(table=table, before=before, after=len(opened.file_uris()), let_go=let_go, deleted=deleted)


def why_states_stay(folder: Folder, *, pipeline: Pipeline) -> str | None:
    """What to say where nothing goes that `retention` names; `None` where it does.

    Whoever takes a change of the windows back has some that wait for what the others do not: until a batch
    has run, nobody can tell.
    """
    has_other = ran_with_other_windows(read_rows(folder), state_fingerprint(pipeline))
    if pipeline.retention.frames_us is None or not has_other:
        return None
    return (
        f"frames, sessions and ids of {pipeline.name} all stay: its last batch ran with other windows, or "
        "another `allowed_lateness`, than the spec has now. They go once a batch has run with these"
    )


def _let_go(folder: Folder, table: str, *, pipeline: Pipeline) -> int:
    """How many rows went that are beyond retention; none of states while a batch is unfinished."""
    rows = read_rows(folder)
    try:
        beyond = _beyond(folder, table, pipeline=pipeline, rows=rows)
        if beyond is None:
            return 0
        return _unless_met(lambda: _delete(folder, table, beyond=beyond, rows=rows)) or 0
    except _AtWork:
        return 0


class _AtWork(Exception):
    """A batch is unfinished, or has run since the ledger was read. Its events may be as old as what
    goes, and only its own stages knew.
    """


def _refuse(folder: Folder, table: str, *, rows: Sequence[LedgerRow]) -> None:
    """Raise where a batch has begun that may write what is about to go, or all has been emptied."""
    _refuse_emptied(folder, rows)
    if table not in (*OF_FRAMES, *OF_SESSIONS):
        return
    now = read_rows(folder)
    if unfinished(now) is not None or {*map(_told, now)} != {*map(_told, rows)}:
        raise _AtWork


def _told(row: LedgerRow) -> tuple[Interval, int, str, int | None]:
    """What is another thing once the batch has run again, under whatever number."""
    return row.batch, row.revision, row.status, row.finished_at_us


def _delete(folder: Folder, table: str, *, beyond: Beyond, rows: Sequence[LedgerRow]) -> int:
    """How many rows went."""
    opened = small.open_table(folder, table)
    # Asked between reading and writing: what is emptied after this lets the commit fail.
    _refuse(folder, table, rows=rows)
    if not beyond.is_said():
        # The table was put back to what it was before it said so: left to the next time.
        return 0
    return int(opened.delete(beyond.where).get("num_deleted_rows") or 0)


def _delete_files(opened: DeltaTable) -> int:
    """How many files went: those that no version of the last week needs, and those that killed writers left,
    which no commit names.
    """
    return len(opened.vacuum(retention_hours=WEEK_HOURS, dry_run=False, full=True))


def _refuse_emptied(folder: Folder, rows: Sequence[LedgerRow]) -> None:
    """Raise `WaitForTheBatch` where a rebuilding has emptied all tables since the ledger was read: what is
    there now is new.
    """
    if have_gone(rows, read_rows(folder)):
        raise WaitForTheBatch(
            "the pipeline is being rebuilt since this upkeep began; run it again when that is done"
        )


def _put_together(folder: Folder, table: str) -> None:
    """Put small files together, unless somebody else has begun to.

    delta-rs lets two compactions of one version be committed, one after the other, and then every row is
    there twice. What was made of a version before a change of the table's properties it refuses.
    """
    if not _has_several(small.open_table(folder, table)):
        return
    mark = uuid.uuid4().hex
    small.open_table(folder, table).alter.set_table_properties(
        {MARK: mark}, raise_if_not_exists=False, commit_properties=small.ONCE
    )
    marked = small.open_table(folder, table)
    if marked.metadata().configuration.get(MARK) == mark:
        marked.optimize.compact()


def _has_several(opened: DeltaTable) -> bool:
    """Whether some partition has more than one file."""
    files = pa.table(opened.get_add_actions(flatten=True))
    partitions = [name for name in files.column_names if name.startswith("partition.")]
    told = {tuple(row.values()) for row in files.select(partitions).to_pylist()}
    return bool(len(told) < files.num_rows)


def _beyond(folder: Folder, table: str, *, pipeline: Pipeline, rows: Sequence[LedgerRow]) -> Beyond | None:
    """The rows that retention lets go, as the ledger stands."""
    last = newest(row for row in rows if row.status == "published")
    if last is None:
        return None
    if table == "late_events" and pipeline.retention.late_events_us is not None:
        until_us = max(EARLIEST_US, last.batch.end_us - pipeline.retention.late_events_us)
        return Beyond(f"batch_end <= {Instant(until_us)}")
    kept_us = kept_from_us(
        pipeline,
        watermark_us=last.watermark_after_us,
        newest_end_us=last.batch.end_us,
        latenesses=waiting_latenesses(rows),
    )
    if kept_us is None or ran_with_other_windows(rows, state_fingerprint(pipeline)):
        return None
    if table == "event_ids":
        return _beyond_memory(folder, pipeline, rows=rows, from_us=remembered_from_us(rows, kept_us=kept_us))
    if table not in (*OF_FRAMES, *OF_SESSIONS):
        return None
    return _beyond_states(folder, table, rows=rows, kept_us=kept_us, newest_us=last.batch.end_us)


def _beyond_states(
    folder: Folder, table: str, *, rows: Sequence[LedgerRow], kept_us: int, newest_us: int
) -> Beyond | None:
    """Frames and sessions, and what they were combined from, that nothing needs."""
    going, old = _old_states(folder, table, kept_us=kept_us, newest_us=newest_us)
    if not are_any(folder, table, where=old):
        return None
    say_gone(folder, going, still_mine=lambda: _refuse(folder, table, rows=rows))
    return Beyond(old, is_said=lambda: is_said_gone(folder, going))


def _old_states(folder: Folder, table: str, *, kept_us: int, newest_us: int) -> tuple[Gone, str]:
    """Up to where frames and sessions go, and the predicate on those, and on what they were combined from,
    that nothing needs.
    """
    # A batch that may run again is held against all that it wrote.
    has_run = f" AND batch_end <= {Instant(kept_us)}" if "partial" in table else ""
    if table in OF_FRAMES:
        return Gone(until_us=kept_us), f"frame_end <= {Instant(kept_us)}{has_run}"
    before_us = _before_open_sessions_us(folder, kept_us)
    sessions = GoneSessions(before_us=before_us, until_us=kept_us, newest_us=newest_us)
    return Gone(until_us=kept_us, sessions=sessions), f"window_end <= {Instant(before_us)}{has_run}"


def _beyond_memory(
    folder: Folder, pipeline: Pipeline, *, rows: Sequence[LedgerRow], from_us: int
) -> Beyond | None:
    """Ids that no batch which can still run looks back to; none that begins before `from_us` can."""
    until_us = {
        source.name: max(EARLIEST_US, from_us - source.event_id.within_us)
        for source in pipeline.sources
        if source.event_id is not None and source.event_id.within_us is not None
    }
    old = {name: f"(source = {text(name)} AND batch_end <= {Instant(us)})" for name, us in until_us.items()}
    going = [name for name, where in old.items() if are_any(folder, "event_ids", where=where)]
    if not going:
        return None
    said_us = {name: until_us[name] for name in going}
    say_forgotten(folder, said_us, still_mine=lambda: _refuse_emptied(folder, rows))
    where = " OR ".join(old[name] for name in going)
    return Beyond(where, is_said=lambda: is_said_forgotten(folder, said_us))


def _before_open_sessions_us(folder: Folder, kept_us: int) -> int:
    """Where the first session begins that reaches further: all of its partial sessions are needed."""
    first_us = first_of(folder, "sessions", instant="window_start", where=f"window_end > {Instant(kept_us)}")
    return kept_us if first_us is None else min(kept_us, first_us)


def _unless_met(commit: Callable[[], Returned]) -> Returned | None:
    """What a commit returns; nothing if another came before it, for then it is left to the next time."""
    try:
        return commit()
    except CommitFailedError:
        return None
