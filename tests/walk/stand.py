"""A store on disk, the walk over it, and its tables as rows that compare with the oracle's."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Report, Request, Site, run_batch
from tests.generators import Case
from tests.oracle import Batch, Event, Walk
from tests.oracle.model import Value
from tests.oracle.tables import Row, tables_of
from tests.walk.feed import spec_text, write_rows

KEY = ("key",)
OWN_ROWS = {"partial_frames": "event_count > 0"}
"""An empty partial frame is how the store says that a frame has vanished: no row of anything."""


class Stored:
    """The tables of a pipeline, as rows."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def rows(self, table: str) -> list[Row]:
        """The rows of a table with all its columns, times in microseconds."""
        whole = DeltaTable(self.root / table).to_pyarrow_table()
        for position, field in enumerate(whole.schema):
            if str(field.type).startswith("timestamp"):
                whole = whole.set_column(
                    position, field.name, whole.column(position).cast("timestamp[us]").cast("int64")
                )
        return [row for row in whole.to_pylist() if table not in OWN_ROWS or row["event_count"] > 0]


class Stand(Stored):
    """One case in a folder: `feed` puts rows there, `run` runs a batch, `rows` reads what came of it."""

    def __init__(self, spark: SparkSession, folder: Path, case: Case, *, name: str = "generated") -> None:
        super().__init__(folder / "store" / name)
        self.case = case
        self.folder = folder
        spec = folder / "dags" / f"{name}.yml"
        spec.parent.mkdir(parents=True)
        spec.write_text(spec_text(name, case.pipeline, devices=case.devices))
        self.feed(case.events)
        self.site = Site(spark, str(folder / "store"), load(spec, home=folder))

    def feed(self, events: Iterable[Event]) -> None:
        """Make these the rows of the input."""
        rows = list(events)
        for source in self.case.pipeline.sources:
            write_rows(self.folder / "data", source.name, rows)

    def run(self, batch: Batch) -> list[Report]:
        return list(run_batch(self.site, request_of(batch)))


def request_of(batch: Batch) -> Request:
    return Request(
        batch=Interval(batch.start, batch.end),
        watermark_us=batch.watermark,
        final=batch.final,
        ignore_lateness=batch.ignore_lateness,
    )


def same_tables(stored: Stored, walk: Walk) -> None:
    """Fail with the rows that only one of the two has, of the first table where they differ."""
    for table, wanted in tables_of(walk, KEY).items():
        columns = sorted({name for row in wanted for name in row})
        found = stored.rows(table) if table != "quarantine" else quarantined(stored)
        both = comparable(found, columns), comparable(wanted, columns)
        if both[0] != both[1]:
            raise AssertionError(differences(table, columns, *both))


def quarantined(stored: Stored) -> list[Row]:
    """The quarantine with the id that is inside the record."""
    return [{**row, "id": int(identity(str(row["record"])))} for row in stored.rows("quarantine")]


def identity(record: str) -> Value:
    return json.loads(record)["id"]


def comparable(rows: list[Row], columns: list[str]) -> list[tuple[str, ...]]:
    return sorted(tuple(written(row[name]) for name in columns) for row in rows)


def written(value: Value) -> str:
    """Exact, and the same for equal numbers of different types."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return str(Fraction(value)) if is_number and isfinite(value) else repr(value)


def differences(
    table: str, columns: list[str], found: list[tuple[str, ...]], wanted: list[tuple[str, ...]]
) -> str:
    """Both sides' own rows, a column name before each value."""
    lines = [f"table `{table}`:"]
    for title, rows, others in (("only Sash has", found, wanted), ("only the oracle has", wanted, found)):
        rest = list(others)
        own = [row for row in rows if row not in rest or rest.remove(row)]
        lines += [f"{title} {len(own)} of {len(rows)} rows"]
        lines += ["  " + ", ".join(map("=".join, zip(columns, row, strict=True))) for row in own[:20]]
    return "\n".join(lines)
