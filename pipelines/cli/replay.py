"""`sash replay`: batches again that have late events or quarantined rows, as restatements."""

from __future__ import annotations

from pipelines.cli.arguments import Arguments
from pipelines.cli.batches import interval_of
from pipelines.cli.place import pipeline_of, store_of
from pipelines.cli.run import carry_out
from pipelines.intervals import show_instant
from pipelines.spec import Pipeline
from pipelines.stages import Request
from pipelines.stages.site import folder_of
from pipelines.store.ledger_rows import newest
from pipelines.store.reader import read_ledger, rows_by_batch
from pipelines.store.retention import whole_from_us

TABLES = {"late": "late_events", "quarantine": "quarantine"}


def replay(arguments: Arguments) -> None:
    """Run the batches that have such rows again, and sum up."""
    pipeline = pipeline_of(arguments)
    store = store_of(arguments, pipeline)
    inside = interval_of(arguments)
    table = TABLES[arguments.what]
    found = rows_by_batch(store, pipeline.name, table=table)
    kept_us = _kept_from_us(pipeline, store)
    beyond = [batch for batch in found if kept_us is not None and batch.end_us <= kept_us]
    wanted = {
        batch: rows
        for batch, rows in found.items()
        if batch not in beyond and (inside is None or inside.covers(batch))
    }
    if beyond and kept_us is not None:
        print(f"left out: {len(beyond):,} older than what `retention` keeps, from {show_instant(kept_us)} on")
    if not wanted:
        where = "" if inside is None else f" of batches in {inside}"
        print(f"nothing to replay: {table} holds no rows{where}")
        return
    batches = f"{len(wanted):,} batch{'' if len(wanted) == 1 else 'es'}"
    print(f"{table}: {sum(wanted.values()):,} rows, of {batches} that run again", flush=True)
    requests = [Request(batch=batch, ignore_lateness=arguments.what == "late") for batch in sorted(wanted)]
    carry_out(arguments, pipeline, store=store, requests=requests)


def _kept_from_us(pipeline: Pipeline, store: str) -> int | None:
    last = newest(row for row in read_ledger(store, pipeline.name) if row.status == "published")
    if last is None:
        return None
    return whole_from_us(
        folder_of(store, pipeline),
        pipeline,
        watermark_us=last.watermark_after_us,
        newest_end_us=last.batch.end_us,
    )
