"""Tables as they were before a run, whose first attempt has written down their versions.

What a run writes may depend on what stood before it, and an attempt that was cut off, or had other data, may
have changed that since.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.accumulate import at_places, changed_places
from pipelines.stages.site import Work
from pipelines.store.asked import are_any
from pipelines.store.attempts import first_of
from pipelines.store.history import undo
from pipelines.store.ledger import still_mine
from pipelines.store.progress import begun_stages
from pipelines.store.retention import gone_from, say_gone
from pipelines.store.rows import has_any
from pipelines.store.sql import is_batch, is_inside


def stood_before(work: Work, table: str) -> DataFrame | None:
    """The table's rows before the run; `None` where nobody wrote down its version."""
    version = version_before(work, table)
    return None if version is None else work.tables.read(table, version=version)


def is_tried_before(work: Work) -> bool:
    """Whether other attempts at the run may have written partial states, be it of another source: under
    another spec that may have stood for this one.
    """
    return any(one.stage in (None, "accumulate") for one in begun_stages(work.tables, work.run))


def version_before(work: Work, table: str) -> int | None:
    """The version that a table had before the run; `None` where nobody wrote it down."""
    first = first_of(work.tables, work.batch, revision=work.run.revision)
    return None if first is None else first.counts.get(table)


def without_cut_off(work: Work, partials: DataFrame, *, table: str, bounds: Sequence[str]) -> DataFrame:
    """Partial states without the empty ones of the batch that only take back what an earlier attempt at this
    run has written: nobody was told of that, so it touches nothing.
    """
    empty = f"{is_batch(work.batch)} AND event_count = 0"
    begun = work.run.begun
    # The first attempt at one stage may come after several at the stage before.
    is_clean = work.run.is_first and begun.stage is None
    stood = None if is_clean or not are_any(work.tables, table, where=empty) else stood_before(work, table)
    if stood is None:
        return partials
    there = stood.where(f"{is_inside(work.batch)} AND event_count > 0")
    taken_back = at_places(partials.where(empty), there, place=(*work.pipeline.key, *bounds))
    return partials.where(f"NOT ({empty})").unionByName(taken_back)


def that_changed(work: Work, touched: DataFrame, *, table: str, bounds: Sequence[str]) -> DataFrame:
    """Of the partial states of a batch those that are others than before it; all where nobody knows."""
    others = changed_before(work, touched, table=table, bounds=bounds)
    return touched if others is None else at_places(touched, others, place=others.columns)


def changed_before(work: Work, touched: DataFrame, *, table: str, bounds: Sequence[str]) -> DataFrame | None:
    """Key and bounds of the partial states of a batch that are others than before it, or have vanished.

    `None` where all count as such: the batch never ran, covers others, or nobody wrote down what stood there.
    What a source had that is called otherwise now has vanished.
    """
    opening, stood = work.run.opening, stood_before(work, table)
    if opening.before is None or opening.covered or stood is None:
        return None
    earlier = stood.where(is_batch(work.batch))
    others = changed_places(touched, earlier, pipeline=work.pipeline, bounds=(*bounds, "source"))
    # Whatever source they are of: the rows of one that the spec no longer has are another's now.
    return others.select(*work.pipeline.key, *bounds)


def keeps_others(work: Work, table: str, *, where: str) -> bool:
    """Whether other rows of a table than before the run, or another number of the same, are where a predicate
    is true. Of a table that has come since all are others.
    """
    first = first_of(work.tables, work.batch, revision=work.run.revision)
    if first is None:
        return False
    version = first.counts.get(table)
    stand = are_any(work.tables, table, where=where)
    stood = version is not None and are_any(work.tables, table, where=where, version=version)
    if not (stood and stand):
        return stood or stand
    sides = ((work.tables.read(table), 1), (work.tables.read(table, version=version), -1))
    more = [
        # As texts, for maps cannot be compared; a column that has come since is nothing in older rows.
        rows.where(where).select(
            F.to_json(F.struct(*sorted(rows.columns))).alias("row"), F.lit(by).alias("by")
        )
        for rows, by in sides
    ]
    others = more[0].unionByName(more[1]).groupBy("row").agg(F.sum("by").alias("by")).where("by <> 0")
    return has_any(others)


def put_back(work: Work, table: str) -> None:
    """Let the table be as it was before the run, if an earlier attempt at it has written there."""
    first = first_of(work.tables, work.batch, revision=work.run.revision)
    if first is None or table not in first.counts or work.run.is_first:
        return

    def mine() -> None:
        still_mine(work.tables, work.run)

    mine()
    gone, fence = gone_from(work.tables) if table == "frames" else None, work.run.fence(table)
    undo(work.tables, table, version=first.counts[table], since=first.attempt, fence=fence)
    if gone is not None:
        # Upkeep may have said so since, and an older version does not.
        say_gone(work.tables, gone, still_mine=mine)
