"""What this run and others have published: a batch holds its windows against what others have."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from pipelines.finalise import last_published
from pipelines.stages.site import Work
from pipelines.store.asked import are_any
from pipelines.store.ledger import Run
from pipelines.store.sql import NONE, is_batch, on_days_of


def told_before(work: Work, reach: Sequence[str]) -> str:
    """The predicate on panes that other runs published where one of these holds; `NONE` if there are none:
    most batches in turn tell of windows that none has told of.
    """
    reached = " OR ".join(f"({it})" for it in reach)
    where = f"({reached}) AND NOT ({is_this(work.run)})"
    return where if are_any(work.tables, "panes", where=where) else NONE


def last_of(work: Work, told: str) -> DataFrame:
    """What was last published, of the panes of which a predicate is true."""
    panes, runs = work.tables.read("panes").where(told), work.tables.read("runs")
    return last_published(panes, work.pipeline, runs=runs)


def is_this(run: Run) -> str:
    """The predicate that a row was written by this run."""
    return f"{is_batch(run.batch)} AND revision = {run.revision}"


def of_run(work: Work) -> str:
    """The predicate that panes, or checks, were written by the run."""
    return f"{on_days_of(work.batch)} AND {is_this(work.run)}"
