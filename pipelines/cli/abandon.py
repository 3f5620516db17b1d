"""`sash abandon`: gives an unfinished batch up. No Spark is needed: Delta's own history undoes it."""

from __future__ import annotations

from pipelines.cli.arguments import Arguments
from pipelines.cli.batches import interval_of
from pipelines.cli.place import pipeline_of, store_of
from pipelines.errors import CorrectTheCall
from pipelines.stages.abandoning import abandon_batch
from pipelines.stages.site import folder_of
from pipelines.store.reader import read_ledger


def abandon(arguments: Arguments) -> None:
    """Undo the batch, and print what it was."""
    pipeline = pipeline_of(arguments)
    batch = interval_of(arguments)
    if batch is None:
        raise CorrectTheCall("say which batch, with --from and --to; `sash status` tells which it is")
    store = store_of(arguments, pipeline)
    if not read_ledger(store, pipeline.name):
        raise CorrectTheCall(f"batch {batch} cannot be abandoned: no batch of {pipeline.name} is in {store}")
    row = abandon_batch(folder_of(store, pipeline), pipeline, batch=batch)
    print(f"batch {batch}, which was {row.status}, is abandoned: the tables are as they were before it began")
