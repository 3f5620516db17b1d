"""Empties a pipeline's tables, so that its batches can be computed anew under a changed spec."""

from __future__ import annotations

from pipelines.checks import load_suite, unknown_names
from pipelines.errors import CorrectTheSpec, WaitForTheBatch
from pipelines.ingest.verify import check
from pipelines.intervals import Interval
from pipelines.stages.expected import unfit
from pipelines.stages.shapes import shapes_of
from pipelines.stages.site import Site
from pipelines.store import small
from pipelines.store.attempts import say_versions
from pipelines.store.ledger_rows import unfinished
from pipelines.store.reader import read_ledger
from pipelines.store.retention import say_gone
from pipelines.store.tables import ATTEMPTS

KEPT = "attempts"
"""Numbers only rise, so that whoever was at work before can write nothing any more."""


def empty_tables(site: Site, batch: Interval) -> None:
    """Empty all tables of the pipeline, in the shapes of the spec as it now is, for a first batch.

    Raises `CorrectTheSpec` where spec or expectations are wrong, `WaitForTheBatch` while a batch is running.
    What was in them stays in their history for a week. Cut off in the middle, the ledger is empty and some
    tables are not: the next run refuses then, until it is said again.
    """
    check(site.spark, site.declared, batch=batch)
    suite = load_suite(site.declared.expectations)
    refuse_while_running(site)
    anew = Site(site.spark, site.store, site.declared)
    shapes = shapes_of(anew, batch=batch)
    unknown = unknown_names(suite) if suite.expectations else ()
    problems = (*unfit(anew, suite, shapes=shapes, batch=batch), *unknown)
    if problems:
        raise CorrectTheSpec(site.declared.path.name, problems)
    small.create(site.tables, KEPT, columns=ATTEMPTS)
    say_versions(site.tables, None)
    for table, columns in shapes.tables().items():
        if table != KEPT:
            small.recreate(site.tables, table, columns=columns)
    say_gone(site.tables, None)


def refuse_while_running(site: Site) -> None:
    """Raise `WaitForTheBatch` where a batch is at work in the tables that are to be emptied."""
    pending = unfinished(read_ledger(site.store, site.declared.name))
    if pending is not None and pending.status == "running":
        raise WaitForTheBatch(
            f"batch {pending.batch} is running: the tables cannot be rebuilt under it. Wait until it is "
            "done, or abandon it"
        )
