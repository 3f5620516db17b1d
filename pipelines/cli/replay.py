"""`sash replay`: batches again that have late events or quarantined rows, as restatements."""

from __future__ import annotations

from pipelines.cli.arguments import Arguments
from pipelines.cli.batches import interval_of
from pipelines.cli.place import pipeline_of, store_of
from pipelines.cli.run import carry_out
from pipelines.stages import Request
from pipelines.store.reader import rows_by_batch

TABLES = {"late": "late_events", "quarantine": "quarantine"}


def replay(arguments: Arguments) -> None:
    """Run the batches that have such rows again, and sum up."""
    pipeline = pipeline_of(arguments)
    store = store_of(arguments, pipeline)
    inside = interval_of(arguments)
    table = TABLES[arguments.what]
    found = rows_by_batch(store, pipeline.name, table=table)
    wanted = {batch: rows for batch, rows in found.items() if inside is None or inside.covers(batch)}
    if not wanted:
        where = "" if inside is None else f" of batches in {inside}"
        print(f"nothing to replay: {table} holds no rows{where}")
        return
    batches = f"{len(wanted):,} batch{'' if len(wanted) == 1 else 'es'}"
    print(f"{table}: {sum(wanted.values()):,} rows, of {batches} that run again", flush=True)
    requests = [Request(batch=batch, ignore_lateness=arguments.what == "late") for batch in sorted(wanted)]
    carry_out(arguments, pipeline, store=store, requests=requests)
