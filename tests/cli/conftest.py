"""A place to call `sash` in: a small pipeline with its spec, its data and its store, all below one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

from pipelines.cli.main import main
from pipelines.intervals import Interval, to_us
from pipelines.spec import Pipeline, load
from pipelines.store.ledger_rows import LedgerRow, Status
from pipelines.store.reader import table_path

INSTANT = pa.timestamp("us", tz="UTC")
INSTANTS = ("batch_start", "batch_end", "watermark_before", "watermark_after", "started_at", "finished_at")

SPEC = """\
name: rides
source:
  format: parquet
  path: data/rides
  event_time: at
  arrival_time: arrived
key: [city]
aggregates:
  rides: count
  mean_fare: {avg: fare}
windows:
  hourly: {tumbling: 1 hour}
  rolling: {sliding: 2 hours, step: 30 minutes}
schedule: {start: 2024-01-01}
"""

Ride = tuple[str | None, float | None, datetime | None, datetime | None]


def day(number: int, hour: int = 0, minute: int = 0) -> datetime:
    """An instant of January 2024."""
    return datetime(2024, 1, number, hour, minute, tzinfo=UTC)


def days(start: int, end: int) -> Interval:
    """From one day of January 2024 to another."""
    return Interval(to_us(day(start)), to_us(day(end)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command said, and what it left with."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folder, and the capture of what is printed."""

    home: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def spec(self) -> Path:
        return self.home / "dags" / "rides.yml"

    @property
    def pipeline(self) -> Pipeline:
        return load(self.spec)

    @property
    def store(self) -> str:
        return str(self.home / "var" / "store")

    def write_spec(self, *changes: tuple[str, str]) -> None:
        """Write the spec, each `old` in it replaced by `new`."""
        written = SPEC
        for old, new in changes:
            assert old in written, f"the spec has no {old!r}"
            written = written.replace(old, new)
        self.spec.parent.mkdir(exist_ok=True)
        self.spec.write_text(written)

    def write_rides(self, rides: Sequence[Ride], name: str = "rides") -> None:
        """Write the data: city, fare, event time and arrival time of each ride."""
        cities, fares, events, arrivals = zip(*rides, strict=True)
        columns = {
            "city": pa.array(cities, pa.string()),
            "fare": pa.array(fares, pa.float64()),
            "at": pa.array(events, INSTANT),
            "arrived": pa.array(arrivals, INSTANT),
        }
        folder = self.home / "data" / name
        folder.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(columns), folder / "part-0.parquet")

    def write_run(
        self, start: datetime, end: datetime, status: Status, *, fingerprint: str, revision: int = 0
    ) -> None:
        """Put a row into the ledger, as a run would have."""
        batch = Interval(to_us(start), to_us(end))
        row = LedgerRow(batch=batch, revision=revision, status=status, spec_fingerprint=fingerprint)
        kinds: dict[str, pa.DataType] = {**dict.fromkeys(row.values(), pa.int64())}
        kinds |= {
            **dict.fromkeys(INSTANTS, INSTANT),
            **dict.fromkeys(("status", "spec_fingerprint"), pa.string()),
        }
        kinds |= {"stage_seconds": pa.map_(pa.string(), pa.float64())}
        values = {**row.values(), "stage_seconds": None}
        runs = pa.table({name: pa.array([values[name]], kind) for name, kind in kinds.items()})
        write_deltalake(table_path(self.store, "rides", table="runs"), runs, mode="append")

    def sash(self, command: str, *words: str) -> Said:
        """Run a command on the spec, in this process."""
        self.capsys.readouterr()
        code = main([command, str(self.spec), *words])
        said = self.capsys.readouterr()
        return Said(code=code, out=said.out, err=said.err)


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in ("SASH_HOME", "SASH_STORE", "SASH_SPARK"):
        monkeypatch.delenv(name, raising=False)
    there = Place(home=tmp_path, capsys=capsys)
    there.write_spec()
    return there
