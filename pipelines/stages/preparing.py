"""Holds a spec against its sources and its tables before a batch is opened, and makes the tables that are not
there yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pipelines.errors import CorrectTheCall, CorrectTheSpec, WaitForTheBatch
from pipelines.ingest.read import schemas_of
from pipelines.ingest.verify import check
from pipelines.intervals import Interval
from pipelines.spec import has_ids, state_fingerprint
from pipelines.stages.expected import unfit, unknown_in
from pipelines.stages.shapes import shapes_of
from pipelines.stages.site import Site, on_stored_frames
from pipelines.store import small
from pipelines.store.attempts import BEGUN_AND_NOTED, first_of, highest, say_versions, void
from pipelines.store.ledger import read_rows
from pipelines.store.ledger_rows import OPENING, LedgerRow, have_gone, unfinished
from pipelines.store.reader import left_over
from pipelines.store.tables import PARTITIONED_BY, Columns, Folder
from pipelines.store.widening import holds
from pipelines.store.writes import AS_READ

OF_STATES = ("partial_frames", "frames", "partial_sessions", "sessions", "panes", "windows")
"""The tables whose columns follow from key and aggregates: of one type for as long as they are kept."""
Unlike = Mapping[str, tuple[str | None, str | None]]


def is_to_prepare(pending: LedgerRow | None, fingerprint: str, *, stage: str | None) -> bool:
    """Whether spec and tables are to be held against each other: sources and types of columns are in no
    fingerprint, so that whoever goes on with a batch asks again, but for a stage of one that is at work.
    """
    if pending is None or pending.spec_fingerprint != fingerprint:
        return True
    return pending.status != "running" or stage in (None, OPENING)


def is_unpublished(rows: Iterable[LedgerRow]) -> bool:
    """Whether nothing has been published."""
    return not any(row.status == "published" for row in rows)


def refuse_emptied(site: Site, seen: Iterable[LedgerRow], *, rows: Collection[LedgerRow]) -> None:
    """Raise `WaitForTheBatch` where a rebuilding has emptied the ledger since somebody looked, or where
    tables hold rows of which the ledger knows nothing.
    """
    if have_gone(seen, rows):
        raise _is_rebuilt(site)
    is_new = is_unpublished(rows) and unfinished(rows) is None
    left = left_over(site.store, site.pipeline.name) if is_new else []
    if left:
        raise WaitForTheBatch(
            f"no batch of pipeline `{site.pipeline.name}` has run, but there are rows in {', '.join(left)}: "
            "it is being rebuilt, or a rebuild was cut off. If nobody is at it, say it again, with "
            "--rebuild, which empties them"
        )


def refuse_without_ledger(site: Site) -> None:
    """Raise `CorrectTheCall` where the ledger is gone, and not only empty, beside tables that have rows."""
    if small.is_there(site.tables, "runs"):
        return
    left = left_over(site.store, site.pipeline.name)
    if left:
        raise CorrectTheCall(
            f"pipeline `{site.pipeline.name}` has rows in {', '.join(left)}, but its ledger, the table runs, "
            f"is gone from {site.tables.root}. Put back a copy of that folder; without one, compute all anew "
            "with --rebuild"
        )


def refuse_unnumbered(store: Folder, pipeline: str) -> None:
    """Raise `CorrectTheCall` where the numbers of attempts are gone: they would begin anew, and tables that
    remember higher ones would take nothing from those that have them.
    """
    if small.is_there(store, "attempts"):
        return
    left = [it for it in PARTITIONED_BY if it != "runs" and small.is_there(store, it)]
    if left:
        raise CorrectTheCall(
            f"pipeline `{pipeline}` has {', '.join(left)}, but of its tables attempts is gone from "
            f"{store.root}, whose numbers they remember. Put back a copy; without one, take that "
            "folder away, and run all"
        )


def refuse_lost(site: Site, *, rows: Collection[LedgerRow]) -> None:
    """Raise `CorrectTheCall` where a table is gone that batches have written: made anew it would be empty,
    and what the next batch publishes of it wrong.
    """
    refuse_unnumbered(site.tables, site.pipeline.name)
    published = [row.spec_fingerprint for row in rows if row.status == "published"]
    if not published:
        return
    written = [it for it in PARTITIONED_BY if it != "event_ids" or any(map(has_ids, published))]
    lost = [it for it in written if not small.is_there(site.tables, it)]
    if lost:
        raise CorrectTheCall(
            f"pipeline `{site.pipeline.name}` has run, but of its tables {' and '.join(lost)} "
            f"{'are' if len(lost) > 1 else 'is'} gone from {site.tables.root}. Put back a copy; without one, "
            "compute all anew with --rebuild"
        )


def refuse_other_frames(site: Site, *, rows: Iterable[LedgerRow]) -> None:
    """Raise `WaitForTheBatch` where frames of another length have been published since the site was asked."""
    if state_fingerprint(on_stored_frames(site.declared, rows)) != state_fingerprint(site.pipeline):
        raise _is_rebuilt(site)


def _is_rebuilt(site: Site) -> WaitForTheBatch:
    return WaitForTheBatch(
        f"pipeline `{site.declared.name}` was rebuilt since this run began, or is being rebuilt; run it "
        "again when that is done"
    )


def prepare(site: Site, batch: Interval, *, rows: Sequence[LedgerRow]) -> None:
    """Hold the spec against what its sources have for the batch, and make the tables that are not there yet;
    `rows` is the ledger as it stood.

    While nothing has been published, those that are there may be of a spec that was changed since: they are
    made anew, and what was done at the batch that goes on counts no more. Raises `WaitForTheBatch` where
    others have begun or ended a batch since.
    """
    until = highest(site.tables)
    schemas = schemas_of(site.spark, site.pipeline, batch=batch)
    check(site.spark, site.pipeline, schemas=schemas)
    shapes = shapes_of(site, schemas=schemas)
    problems = unfit(site, site.suite, shapes=shapes, schemas=schemas)
    if not any((row.batch, row.status) == (batch, "published") for row in rows):
        # To ask takes two seconds, for which a batch that comes out as it was has no other use.
        problems += unknown_in(site.suite)
    if problems:
        raise CorrectTheSpec(site.pipeline.path.name, problems)
    for table, columns in shapes.tables().items():
        small.create(site.tables, table, columns=columns)
        unlike = small.differing(site.tables, table, columns=columns)
        if unlike and (is_unpublished(rows) or (table in AS_READ and not _has_rows(site, table, rows=rows))):
            if small.has_rows(site.tables, table):
                # First, for nobody would know of it afterwards.
                void(site.tables, kept=BEGUN_AND_NOTED, until=until)
            _make_anew(site, table, columns=columns, rows=rows)
        elif unlike and table in AS_READ:
            _widen(site, table, columns=columns, unlike=unlike)
        elif unlike and table in OF_STATES:
            raise CorrectTheSpec(site.pipeline.path.name, tuple(_retyped(table, unlike)))


def _has_rows(site: Site, table: str, *, rows: Sequence[LedgerRow]) -> bool:
    """Whether a table has rows, or had before the batch that is unfinished, which may be given up: what that
    one has put there it puts anew.
    """
    pending = unfinished(rows)
    begun = None if pending is None else first_of(site.tables, pending.batch, revision=pending.revision)
    if begun is None:
        return small.has_rows(site.tables, table)
    # Of one that came with the batch, or is just made anew, it has no version.
    version = begun.counts.get(table)
    return version is not None and small.has_rows(site.tables, table, version=version)


def _make_anew(site: Site, table: str, *, columns: Columns, rows: Sequence[LedgerRow]) -> None:
    """Let a table have other columns, and attempts that there were say its version since."""

    def still_so() -> None:
        _refuse_moved(site, rows)

    # In between nothing is to go back to a version that has other columns.
    say_versions(site.tables, {table: None}, still_so=still_so)
    small.recreate(site.tables, table, columns=columns, still_mine=still_so)
    say_versions(site.tables, {table: small.open_table(site.tables, table).version()}, still_so=still_so)


def _refuse_moved(site: Site, rows: Sequence[LedgerRow]) -> None:
    """Raise `WaitForTheBatch` where the ledger is another one than was read."""
    if _told(read_rows(site.tables)) != _told(rows):
        raise WaitForTheBatch(
            f"others have begun or ended a batch of pipeline `{site.pipeline.name}` since this run began: "
            "`sash status` tells how it stands; run this one again when its turn has come"
        )


def _told(rows: Iterable[LedgerRow]) -> Mapping[tuple[Interval, int], LedgerRow]:
    """The rows in whatever order."""
    return {(row.batch, row.revision): row for row in rows}


def _widen(site: Site, table: str, *, columns: Columns, unlike: Unlike) -> None:
    """Let a table of rows as they were read hold those of sources whose columns are others since."""
    stored = {name.lower(): kind for name, (kind, _) in unlike.items() if kind is not None}
    wanted = {name: kind for name, (_, kind) in unlike.items() if kind is not None}
    narrower = {
        name: (stored[name.lower()], kind)
        for name, kind in wanted.items()
        if name.lower() in stored and not holds(stored[name.lower()], kind)
    }
    if narrower:
        raise CorrectTheSpec(site.pipeline.path.name, tuple(_retyped(table, narrower)))
    new = [name for name in wanted if name.lower() not in stored]
    small.add_columns(site.tables, table, columns={name: columns[name] for name in new})


def _retyped(table: str, unlike: Unlike) -> Iterator[str]:
    for name, (stored, wanted) in unlike.items():
        yield (
            f"`{name}` is {stored or 'no column'} in the table {table}, and would be {wanted or 'none'} now: "
            "cast it in `select` to what it was, or compute all anew with --rebuild"
        )
