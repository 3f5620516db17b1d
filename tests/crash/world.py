"""A pipeline with a bit of everything that is kept, its data, and its tables as they can be compared."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from pipelines.stages.rebuilding import empty_tables

SECOND = 1_000_000
SPEC = """
name: world
source:
  format: parquet
  event_time: event_time
  arrival_time: arrival_time
  event_id: {of: [ticket]}
sources:
  north: {path: data/north}
  south: {path: data/south}
key: [user]
aggregates: {total: {sum: number}, most: {max: number}}
time: {max_disorder: 10 s}
expectations: expectations/world.yml
windows:
  whole: {tumbling: 30 s, allowed_lateness: 50 s, panes: {early: each batch, mode: retracting}}
  visits: {session: 15 s, allowed_lateness: 20 s}
"""
ALONE = """
name: world
source: {format: parquet, path: data/north, event_time: event_time, arrival_time: arrival_time}
key: [user]
aggregates: {total: {sum: number}, tilt: {skewness: number}}
time: {max_disorder: 10 s}
windows:
  whole: {tumbling: 30 s}
  visits: {session: 15 s}
"""
"""Of one source and without triggers: partial states of a first batch are taken as they are."""
COARSER = ALONE.replace("  visits: {session: 15 s}\n", "").replace(
    "whole: {tumbling: 30 s}", "far: {sliding: 600 s, step: 1 s, panes: {early: each batch}}"
)
"""Windows of 600 frames: there are coarser ones beside these."""
OTHERS = """
name: world
source:
  format: parquet
  path: data/north
  event_time: event_time
  arrival_time: arrival_time
  event_id: {of: [ticket]}
key: [user]
aggregates: {total: {sum: number}}
time: {max_disorder: 10 s, allowed_lateness: 60 s}
expectations: expectations/world.yml
windows:
  grown: {cumulate: 60 s, step: 20 s, panes: {early: each batch, mode: retracting}}
  bounded: {session: 15 s, max: 40 s, panes: {early: {rows: 2}, mode: discarding}}
  shifted: {tumbling: 30 s, unaligned: number % 7, panes: {late: {rows: 2}, mode: retracting}}
  own: {tumbling: number}
  ever: {global: true, panes: {early: {every: 100 s}, mode: discarding}}
  threes: {custom: "tests.windows.bursts:AT_MOST_THREE", panes: {early: each batch}}
  came: {tumbling: 40 s, time: arrival, panes: {early: each batch, mode: retracting}}
"""
"""The kinds of windows that the others have not, and the other triggers and modes."""
EXPECTATIONS = """
events:
  - expect_column_values_to_be_between: {column: number, min_value: 0}
    on_failure: quarantine
panes:
  - expect_column_max_to_be_between: {column: total, max_value: 1000}
    on_failure: warn
"""
ROWS = pa.schema(
    {
        "ticket": pa.int64(),
        "user": pa.string(),
        "number": pa.int64(),
        "event_time": pa.timestamp("us", tz="UTC"),
        "arrival_time": pa.timestamp("us", tz="UTC"),
    }
)
Rows = Sequence[tuple[int, str, int, int | None, int]]
"""Ticket, user, number, happened, arrived, in seconds: batches are of 100 s."""

NORTH = [
    (1, "ann", 1, 10, 12),
    (2, "ann", 2, 22, 25),
    (3, "bob", 4, 40, 40),
    (1, "ann", 1, 10, 50),  # came before
    (4, "bob", -1, 60, 61),  # breaks a rule
    (5, "ann", 8, 99, 99),
    (6, "ann", 16, 105, 110),  # joins two sessions of two batches
    (7, "bob", 32, 35, 120),  # late for the session, news for the tumbling window
    (8, "bob", 64, 170, 180),
    (2, "ann", 2, 22, 190),  # came in the batch before
    (9, "ann", 128, None, 150),
    (10, "bob", 256, 2, 199),  # late for all
]
SOUTH = [(1, "ann", 512, 15, 20), (2, "cat", 1024, 99, 99), (3, "cat", 2048, 150, 151)]
NORTH_LATER = [
    *NORTH,
    (12, "ann", 3, 60, 250),  # late for all
    (13, "bob", 5, 100, 260),  # late for the session
    (14, "cat", 6, 298, 299),
    (15, "ann", 9, 310, 320),
    (16, "bob", 10, 250, 340),  # late for the session
    (17, "cat", 11, 390, 395),
]
SOUTH_LATER = [*SOUTH, (4, "cat", 7, 297, 298), (5, "cat", 12, 380, 385)]
"""Two batches more, each with rows that are late."""
CHANGED = [*NORTH[:2], (3, "bob", 5, 41, 40), (11, "ann", 7, 70, 75), *NORTH[3:]]
"""The first batch as it is restated: a row changed, a row came, so that a session is cut anew."""

FIRST, SECOND_BATCH = Interval(0, 100 * SECOND), Interval(100 * SECOND, 200 * SECOND)
THIRD, FOURTH = Interval(200 * SECOND, 300 * SECOND), Interval(300 * SECOND, 400 * SECOND)
BOTH = Interval(FIRST.start_us, SECOND_BATCH.end_us)
CLOCKS = ("started_at", "finished_at", "stage_seconds")
TABLES = (
    *("partial_frames", "frames", "partial_sessions", "sessions", "watermarks", "panes", "windows"),
    *("event_ids", "late_events", "quarantine", "checks", "runs"),
)

Contents = dict[str, list[str]]


class World:
    """A folder with all of it; `copy` makes another one that has run as far."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.spec = home / "dags" / "world.yml"
        self.store = home / "store"

    @classmethod
    def make(cls, home: Path, *, spec: str = SPEC) -> World:
        made = cls(home)
        for path, written in ((made.spec, spec), (home / "expectations" / "world.yml", EXPECTATIONS)):
            path.parent.mkdir(parents=True)
            path.write_text(written)
        made.feed(NORTH)
        return made

    def feed(self, north: Rows, south: Rows = SOUTH) -> None:
        """Let these be the rows of the two sources."""
        for source, told in (("north", north), ("south", south)):
            rows = [dict(zip(ROWS.names, row, strict=True)) for row in told]
            for row in rows:
                for name in ("event_time", "arrival_time"):
                    row[name] = None if row[name] is None else int(str(row[name])) * SECOND
            folder = self.home / "data" / source
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist(rows, schema=ROWS), folder / "rows.parquet")

    def copy(self, home: Path) -> World:
        shutil.copytree(self.home, home)
        return World(home)

    def add_window(self) -> None:
        """Let the spec ask for windows that the frames of older batches serve."""
        self.spec.write_text(f"{self.spec.read_text()}  long: {{sliding: 60 s, step: 30 s}}\n")

    def site(self, spark: SparkSession) -> Site:
        return Site(spark, str(self.store), load(self.spec, home=self.home))

    def run(
        self, spark: SparkSession, batch: Interval, *, replace: bool = False, ignore_lateness: bool = False
    ) -> None:
        """Run a batch in a session that is open."""
        request = Request(batch=batch, replace=replace, ignore_lateness=ignore_lateness)
        list(run_batch(self.site(spark), request))

    def rebuild(self, spark: SparkSession, batch: Interval) -> None:
        """Empty all tables, and run a batch as the first."""
        empty_tables(self.site(spark), [batch])
        self.run(spark, batch)

    def contents(self) -> Contents:
        """Every table that there is, as sorted rows; what clocks said is left out."""
        return contents_of(self.store / "world")


def contents_of(tables: Path) -> Contents:
    """Every table that there is in a folder, as sorted rows; what clocks said is left out."""
    return {table: _rows(tables / table) for table in TABLES if (tables / table).exists()}


def _rows(table: Path) -> list[str]:
    rows = DeltaTable(table).to_pyarrow_table().to_pylist(maps_as_pydicts="strict")
    return sorted(
        str(sorted((name, str(it)) for name, it in row.items() if name not in CLOCKS)) for row in rows
    )
