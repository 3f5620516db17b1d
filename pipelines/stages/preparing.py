"""Holds a spec against its sources and its tables before a batch is opened, and makes the tables that are not
there yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipelines.errors import CorrectTheCall, CorrectTheSpec
from pipelines.ingest.verify import check
from pipelines.intervals import Interval
from pipelines.stages.expected import unfit
from pipelines.stages.shapes import shapes_of
from pipelines.stages.site import Site
from pipelines.store import small
from pipelines.store.attempts import BEGUN, say_versions, void
from pipelines.store.ledger_rows import OPENING, LedgerRow
from pipelines.store.tables import Columns
from pipelines.store.writes import AS_READ

OF_STATES = ("partial_frames", "frames", "partial_sessions", "sessions", "panes", "windows")
"""The tables whose columns follow from key and aggregates: of one type for as long as they are kept."""
OF_ROWS = ("late_events", "quarantine", "event_ids")
Unlike = Mapping[str, tuple[str | None, str | None]]


def is_to_prepare(pending: LedgerRow | None, fingerprint: str, *, stage: str | None) -> bool:
    """Whether spec and tables are to be held against each other: sources and types of columns are in no
    fingerprint, so that whoever goes on with a batch asks again, but for a stage of one that is at work.
    """
    if pending is None or pending.spec_fingerprint != fingerprint:
        return True
    return pending.status != "running" or stage in (None, OPENING)


def refuse_leftovers(site: Site) -> None:
    """Raise `CorrectTheCall` where tables hold rows of which the ledger knows nothing."""
    left = [table for table in (*OF_STATES, *OF_ROWS) if small.has_rows(site.tables, table)]
    if left:
        raise CorrectTheCall(
            f"no batch of pipeline `{site.pipeline.name}` has run, but there are rows in {', '.join(left)}: "
            "a rebuild was cut off. Say it again, with --rebuild, which empties them"
        )


def prepare(site: Site, batch: Interval, *, is_empty: bool) -> None:
    """Hold the spec against what its sources have for the batch, and make the tables that are not there yet.

    While nothing has been published, those that are there may be of a spec that was changed since: they are
    made anew, and what was done at the batch that goes on counts no more.
    """
    check(site.spark, site.pipeline, batch=batch)
    shapes = shapes_of(site, batch=batch)
    problems = unfit(site, site.suite, shapes=shapes, batch=batch)
    if problems:
        raise CorrectTheSpec(site.pipeline.path.name, problems)
    made = {}
    for table, columns in shapes.tables().items():
        small.create(site.tables, table, columns=columns)
        unlike = small.differing(site.tables, table, columns=columns)
        if unlike and (is_empty or (table in AS_READ and not small.has_rows(site.tables, table))):
            if small.has_rows(site.tables, table):
                # First, for nobody would know of it afterwards.
                void(site.tables, kept=BEGUN)
            small.recreate(site.tables, table, columns=columns)
            made[table] = small.open_table(site.tables, table).version()
        elif unlike and table in AS_READ:
            _widen(site, table, columns=columns, unlike=unlike)
        elif unlike and table in OF_STATES:
            raise CorrectTheSpec(site.pipeline.path.name, tuple(_retyped(table, unlike)))
    if made:
        say_versions(site.tables, made)


def _widen(site: Site, table: str, *, columns: Columns, unlike: Unlike) -> None:
    """Let a table of rows as they were read hold those of sources whose columns are others since."""
    stored = {name.lower(): kind for name, (kind, _) in unlike.items() if kind is not None}
    wanted = {name: kind for name, (_, kind) in unlike.items() if kind is not None}
    narrower = {
        name: (stored[name.lower()], kind)
        for name, kind in wanted.items()
        if name.lower() in stored and not small.holds(stored[name.lower()], kind)
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
