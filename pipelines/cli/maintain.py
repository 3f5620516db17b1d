"""`sash maintain`: compaction, old files, retention. No Spark is needed."""

from __future__ import annotations

import sys

from pipelines.cli.arguments import Arguments
from pipelines.cli.place import pipeline_of, store_of
from pipelines.cli.written import table
from pipelines.spec import hide
from pipelines.stages.site import folder_of
from pipelines.store.upkeep import maintain_table, tables_of, why_states_stay


def maintain(arguments: Arguments) -> None:
    """Go through the tables, and print what each came to."""
    pipeline = pipeline_of(arguments)
    store = store_of(arguments, pipeline)
    folder = folder_of(store, pipeline)
    told = [maintain_table(folder, name, pipeline=pipeline) for name in tables_of(folder)]
    if not told:
        print(f"{pipeline.name} has no tables in {hide(store, ())}: no batch has run there")
        return
    headers = ("table", "files before", "after", "rows let go", "old files deleted")
    if why := why_states_stay(folder, pipeline=pipeline):
        print(f"warning: {why}", file=sys.stderr)
    print(table(headers, [[one.table, one.before, one.after, one.let_go, one.deleted] for one in told]))
