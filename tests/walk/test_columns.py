"""Every table has exactly the columns of the contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.generators import Case
from tests.oracle import Aggregate, Batch, Event, Pipeline, Source, Window
from tests.walk import Stand
from tests.walk.feed import ROWS

BATCH = ["batch_start", "batch_end"]
FRAME = ["key", "grid", "frame_start", "frame_end", "rows__rows", "mean__total", "mean__rows", "event_count"]
RESULTS = ["key", "window", "window_start", "window_end", "rows", "mean", "event_count"]
SESSION = [
    *("key", "window", "window_start", "window_end", "rows__rows", "mean__total", "mean__rows"),
    "event_count",
]
COLUMNS = {
    "partial_frames": [*FRAME, "source", *BATCH],
    "frames": FRAME,
    "partial_sessions": [*SESSION, "source", *BATCH],
    "sessions": SESSION,
    "watermarks": [
        *("source", "substream", "newest_event_time", "newest_arrival_time", "watermark", "is_idle"),
        *BATCH,
    ],
    "panes": [
        *RESULTS,
        "kind",
        "timing",
        "pane_index",
        "is_first",
        "is_final",
        "restated",
        *BATCH,
        "revision",
    ],
    "windows": [*RESULTS, "timing", "pane_index", "closes_at", *BATCH, "revision"],
    "late_events": [*ROWS.names, "window", "missed", "kept", "watermark", "source", *BATCH],
    "quarantine": ["record", "rules", "source", *BATCH],
    "checks": [
        *("stage", "expectation", "column", "on_failure", "success", "observed", "unexpected_count"),
        *BATCH,
        "revision",
    ],
    "runs": [
        *BATCH,
        *(
            "revision",
            "status",
            "spec_fingerprint",
            "ingested",
            "accepted",
            "late",
            "quarantined",
            "duplicates",
        ),
        *("panes", "watermark_before", "watermark_after", "started_at", "finished_at", "stage_seconds"),
    ],
}


@pytest.fixture(scope="module")
def store(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables after one batch of one event."""
    pipeline = Pipeline(
        sources=(Source(),),
        aggregates=(Aggregate(name="rows", op="count"), Aggregate(name="mean", op="avg", of="number")),
        windows=(Window(name="ten", size=10, step=10),),
    )
    event = Event(id=1, key=("a",), event_us=5, values={"number": 1, "money": None, "real": None})
    case = Case(pipeline=pipeline, devices=False, events=[event], batches=[])
    folder = tmp_path_factory.mktemp("columns")
    Stand(spark, folder, case, name="columns").run(Batch(start=0, end=100, final=True))
    return folder / "store" / "columns"


@pytest.mark.parametrize("table", COLUMNS)
def test_a_table_has_the_columns_of_the_contract_and_perhaps_a_day(store: Path, table: str) -> None:
    found = [field.name for field in DeltaTable(store / table).schema().fields]
    assert sorted(set(found) - {"day"}) == sorted(COLUMNS[table])


@pytest.mark.parametrize("table", COLUMNS)
def test_a_table_asks_of_its_readers_nothing_that_other_readers_lack(store: Path, table: str) -> None:
    features = DeltaTable(store / table).protocol().reader_features or []
    assert not {"deletionVectors", "v2Checkpoint", "typeWidening"} & set(features)
