"""Empties a pipeline's tables, so that its batches can be computed anew under a changed spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.checks import load_suite
from pipelines.errors import CorrectTheSpec, WaitForTheBatch
from pipelines.ingest.read import schemas_of
from pipelines.ingest.verify import check
from pipelines.intervals import Interval
from pipelines.stages.abandoning import lanes_of
from pipelines.stages.expected import unfit, unknown_in
from pipelines.stages.preparing import refuse_unnumbered
from pipelines.stages.shapes import shapes_of
from pipelines.stages.site import Site
from pipelines.store import attempts, small
from pipelines.store.attempts import Attempt
from pipelines.store.fence import Fence
from pipelines.store.history import OF_THE_LEDGER
from pipelines.store.ledger import now_us, read_rows
from pipelines.store.ledger_rows import OPENING, LedgerRow, unfinished
from pipelines.store.reader import read_ledger
from pipelines.store.retention import say_none_gone
from pipelines.store.tables import ATTEMPTS, PARTITIONED_BY, RUNS, Columns, Shapes


def empty_tables(site: Site, batches: Sequence[Interval]) -> None:
    """Empty all tables of the pipeline, in the shapes of the spec as it now is, for these batches to run.

    Raises `CorrectTheSpec` where spec or expectations are wrong, `WaitForTheBatch` while another batch than
    these is running: whoever is at one of these is taken over from, as by a run.
    What was in them stays in their history for a week. Cut off in the middle, the ledger is empty and some
    tables are not: the next run refuses then, until it is said again.
    """
    schemas = schemas_of(site.spark, site.declared, batch=batches[0])
    check(site.spark, site.declared, schemas=schemas)
    suite = load_suite(site.declared.expectations)
    refuse_while_running(site, batches)
    refuse_unnumbered(site.tables, site.declared.name)
    anew = Site(site.spark, site.store, site.declared)
    shapes = shapes_of(anew, schemas=schemas)
    problems = (*unfit(anew, suite, shapes=shapes, schemas=schemas), *unknown_in(suite))
    if problems:
        raise CorrectTheSpec(site.declared.path.name, problems)
    attempt, lanes = _empty_ledger(site, batches)

    def still_mine() -> None:
        _refuse_if_overtaken(site, attempt)

    # No restatement is beyond what upkeep let go any more.
    say_none_gone(site.tables, still_mine=still_mine)

    def fence(table: str) -> None:
        # Whoever was at work before, and sleeps, can write nothing any more.
        for lane in lanes.get(table, ()):
            small.say_written(site.tables, table, fence=Fence(lane=lane, attempt=attempt))

    for table, columns in _tables(shapes).items():
        small.create(site.tables, table, columns=columns)
        fence(table)
        small.recreate(site.tables, table, columns=columns, still_mine=still_mine)
    for table in sorted(PARTITIONED_BY.keys() - shapes.tables().keys() - set(OF_THE_LEDGER)):
        # What the spec no longer asks for.
        if small.is_there(site.tables, table):
            fence(table)
            small.let_be_empty(site.tables, table, still_mine=still_mine)


def refuse_while_running(site: Site, batches: Sequence[Interval]) -> None:
    """Raise `WaitForTheBatch` where another batch is at work in the tables that are to be emptied."""
    _refuse_running(unfinished(read_ledger(site.store, site.declared.name)), batches)


def _empty_ledger(site: Site, batches: Sequence[Interval]) -> tuple[int, Mapping[str, Sequence[str]]]:
    """Take all rows out of the ledger, unless another batch has begun to run since somebody looked; returns
    the number of an attempt above all that there were, and the lanes that they may write in.
    """
    small.create(site.tables, "runs", columns=RUNS)
    small.create(site.tables, "attempts", columns=ATTEMPTS)

    def commit() -> None:
        runs = small.open_table(site.tables, "runs")
        _refuse_running(unfinished(read_rows(site.tables)), batches)
        small.overwrite(runs, [])

    def still_empty() -> None:
        if read_rows(site.tables):
            raise _overtaken(site)

    small.retried(commit, "runs")
    begun = Attempt.begun(attempts.NO_BATCH, 0, stage=OPENING, source=None, at_us=now_us())
    numbered, _ = attempts.begin(site.tables, begun, still_open=still_empty)
    return numbered.attempt, lanes_of(site.tables, site.declared)


def _refuse_if_overtaken(site: Site, attempt: int) -> None:
    """Raise `WaitForTheBatch` where others have begun since: they write in tables that they found empty."""
    if any(one.attempt > attempt for one in attempts.read(site.tables)):
        raise _overtaken(site)


def _overtaken(site: Site) -> WaitForTheBatch:
    return WaitForTheBatch(
        f"pipeline `{site.declared.name}` was run or rebuilt by somebody else while this rebuilding was "
        "under way; it has stopped, and `sash status` tells how the pipeline stands. Say it again if "
        "all is to be emptied once more",
        is_over=True,
    )


def _tables(shapes: Shapes) -> dict[str, Columns]:
    return {table: columns for table, columns in shapes.tables().items() if table not in OF_THE_LEDGER}


def _refuse_running(pending: LedgerRow | None, batches: Sequence[Interval]) -> None:
    if pending is not None and pending.status == "running" and pending.batch not in batches:
        raise WaitForTheBatch(
            f"batch {pending.batch} is running: the tables cannot be rebuilt under it. Wait until it is "
            "done, or abandon it"
        )
