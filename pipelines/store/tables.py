"""The tables of a pipeline: their columns, where they lie, and how they are cut on disk.

Delta, at `<store>/<pipeline>/<table>`. A table is partitioned by what its writers replace: so that two
that write side by side name different partitions, and a late row rewrites the days that it falls on and
no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

TEXT, LONG, INT, FLAG, INSTANT = StringType(), LongType(), IntegerType(), BooleanType(), TimestampType()

Columns = Mapping[str, DataType]

BATCH: Columns = {"batch_start": INSTANT, "batch_end": INSTANT}
FRAME: Columns = {"grid": TEXT, "frame_start": INSTANT, "frame_end": INSTANT}
BOUNDS: Columns = {"window": TEXT, "window_start": INSTANT, "window_end": INSTANT}

RUNS: Columns = {
    **BATCH,
    "revision": INT,
    "status": TEXT,
    "spec_fingerprint": TEXT,
    **dict.fromkeys(("ingested", "accepted", "late", "quarantined", "duplicates", "panes"), LONG),
    "watermark_before": INSTANT,
    "watermark_after": INSTANT,
    "started_at": INSTANT,
    "finished_at": INSTANT,
    "stage_seconds": MapType(TEXT, DoubleType()),
}
ATTEMPTS: Columns = {
    "attempt": LONG,
    **BATCH,
    "revision": INT,
    **dict.fromkeys(("what", "stage", "source"), TEXT),
    "counts": MapType(TEXT, LONG),
    "seconds": DoubleType(),
    "at": INSTANT,
}
WATERMARKS: Columns = {
    "source": TEXT,
    "substream": TEXT,
    "newest_event_time": INSTANT,
    "newest_arrival_time": INSTANT,
    "watermark": INSTANT,
    "is_idle": FLAG,
    **BATCH,
}
PANE: Columns = {
    "kind": TEXT,
    "timing": TEXT,
    "pane_index": INT,
    **dict.fromkeys(("is_first", "is_final", "restated"), FLAG),
}
LOSS: Columns = {"window": TEXT, "missed": LONG, "kept": LONG, "watermark": INSTANT}
QUARANTINE: Columns = {"record": TEXT, "rules": ArrayType(TEXT), "source": TEXT, **BATCH}
CHECKS: Columns = {
    **dict.fromkeys(("stage", "expectation", "column", "on_failure"), TEXT),
    "success": FLAG,
    "observed": TEXT,
    "unexpected_count": LONG,
    **BATCH,
    "revision": INT,
}

PARTITIONED_BY = {
    "partial_frames": ("source", "day"),
    "frames": ("day", "grid"),
    "partial_sessions": ("source", "day"),
    "sessions": ("day",),
    "watermarks": ("source", "day"),
    "panes": ("day",),
    "windows": ("day",),
    "event_ids": ("source", "day"),
    "late_events": ("source", "day"),
    "quarantine": ("source", "day"),
    "checks": ("day",),
    "runs": (),
    "attempts": (),
}
DAY_OF = {"frames": "frame_start", "sessions": "window_start", "windows": "window_start"}
"""Which instant a table's `day` is of; of the others, `batch_start`: they are replaced by batch."""

SEARCHED_BY = ("batch_start", "batch_end", "frame_start", "frame_end", "window_start", "window_end")
"""What readers narrow a table down by: of other columns no file keeps its least and largest values."""


COMMITS = 100
COMMITS_OF_SMALL = {"runs": 20, "attempts": 20, "watermarks": 20, "checks": 20}
"""Between two checkpoints of a table's log. Of large tables Spark writes them, which takes it a second; of
small ones delta-rs, in milliseconds, and who opens the table is twice as quick.
"""


def properties(table: str, *, columns: Columns) -> dict[str, str]:
    """Delta's own settings of a table with these columns."""
    searched = [name for name in SEARCHED_BY if name in columns]
    return {
        "delta.checkpointInterval": str(COMMITS_OF_SMALL.get(table, COMMITS)),
        # Whoever writes a checkpoint would delete what an unfinished batch goes back to: upkeep does it.
        "delta.enableExpiredLogCleanup": "false",
        "delta.dataSkippingStatsColumns": ",".join(searched),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """The columns that a spec gives its tables.

    Of the key, of the parts of a state, of the results, of an event as read.
    """

    key: Columns
    parts: Columns
    results: Columns
    event: Columns
    event_id: Columns

    def tables(self) -> dict[str, Columns]:
        """Every table with its columns, in order, without `day`."""
        frames = {**self.key, **FRAME, **self.parts, "event_count": LONG}
        sessions = {**self.key, **BOUNDS, **self.parts, "event_count": LONG}
        results = {**self.key, **BOUNDS, **self.results, "event_count": LONG}
        of_run = {**BATCH, "revision": INT}
        return {
            "runs": RUNS,
            "attempts": ATTEMPTS,
            "partial_frames": {**frames, "source": TEXT, **BATCH},
            "frames": frames,
            "partial_sessions": {**sessions, "source": TEXT, **BATCH},
            "sessions": sessions,
            "watermarks": WATERMARKS,
            "panes": {**results, **PANE, **of_run},
            "windows": {**results, "timing": TEXT, "pane_index": INT, "closes_at": INSTANT, **of_run},
            "late_events": {**self.event, **LOSS, "source": TEXT, **BATCH},
            "quarantine": QUARANTINE,
            "checks": CHECKS,
            **({"event_ids": self._event_ids} if self.event_id else {}),
        }

    @property
    def _event_ids(self) -> Columns:
        return {**self.event_id, "arrival_time": INSTANT, "source": TEXT, **BATCH}


@dataclass(frozen=True, kw_only=True)
class Folder:
    """Where a pipeline's tables lie: `root` is `<store>/<pipeline>`, a path or URI that Spark can write."""

    root: str

    def path(self, table: str) -> str:
        return f"{self.root}/{table}"


@dataclass(frozen=True, kw_only=True)
class Store(Folder):
    """The tables of a pipeline and the session that reads and writes the large ones."""

    spark: SparkSession

    def read(self, table: str, *, version: int | None = None) -> DataFrame:
        """A table as it now is, or as it was at a version, with `day`."""
        reader = self.spark.read.format("delta")
        reader = reader if version is None else reader.option("versionAsOf", version)
        return reader.load(self.path(table))


def schema_of(columns: Columns) -> StructType:
    """A Spark schema of these columns, all nullable."""
    schema = StructType()
    for name, kind in columns.items():
        schema = schema.add(name, kind)
    return schema


def quote(name: str) -> str:
    """A name as SQL takes it whatever is in it."""
    return "`" + name.replace("`", "``") + "`"
