"""A transcript through the whole walk: a spec, a file, the stages of each batch once or twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from pipelines.intervals import LATEST_US, Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_stage
from tests.transcripts.reading import Batch, Standing, Told, Transcript
from tests.walk.published import rows_of

ENDLESS = "10000 days"
"""So large a disorder that the watermark is what each batch says."""
SPEC = """
name: story
source: {{format: parquet, path: data, event_time: event_time, arrival_time: arrival_time}}
key: [user]
aggregates: {{total: {{sum: number}}}}
time: {{max_disorder: {disorder}}}
windows: {{it: {window}}}
"""
ROWS = pa.schema(
    {
        "user": pa.string(),
        "number": pa.int64(),
        "event_time": pa.timestamp("us", tz="UTC"),
        "arrival_time": pa.timestamp("us", tz="UTC"),
    }
)


def by_walk(
    story: Transcript, spark: SparkSession, *, folder: Path, times: int
) -> Iterator[tuple[Batch, list[Told], Standing]]:
    """What the walk publishes, batch by batch, and what stands then; each stage runs so many times."""
    for name in ("data", "dags"):
        (folder / name).mkdir()
    disorder = story.max_disorder or ENDLESS
    (folder / "dags" / "story.yml").write_text(SPEC.format(window=story.window, disorder=disorder))
    rows = [
        {"user": it.key, "number": it.number, "event_time": it.event_us, "arrival_time": it.arrival_us}
        for batch in story.batches
        for it in batch.events
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=ROWS), folder / "data" / "rows.parquet")
    site = Site(spark, str(folder / "store"), load(folder / "dags" / "story.yml"))
    for batch in story.batches:
        is_final = batch.watermark == LATEST_US
        request = Request(
            batch=Interval(batch.start, batch.end),
            watermark_us=None if is_final or story.max_disorder else batch.watermark,
            final=is_final,
        )
        for stage in ("accumulate", "combine", "finalise", "publish"):
            for _ in range(times):
                run_stage(site, request, stage=stage, source="main" if stage == "accumulate" else None)
        store = folder / "store" / "story"
        published = [_told(row) for row in rows_of(store / "panes") if row["batch_end"] == batch.end]
        stands = {(it["user"], it["start"], it["end"]): it["total"] for it in rows_of(store / "windows")}
        yield batch, sorted(published, key=str), stands


def _told(row: dict) -> Told:
    said = (row["timing"], row["pane_index"], row["kind"], row["total"])
    flags = (row["is_final"], row["is_first"], row["restated"])
    return (row["user"], row["start"], row["end"], *said, *flags)
