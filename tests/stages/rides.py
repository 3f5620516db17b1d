"""A pipeline whose batches write frames without a Spark, as far as the ledger and fences are concerned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StringType

from pipelines.intervals import Interval
from pipelines.spec import Pipeline, load, state_fingerprint
from pipelines.stages import rebuilding
from pipelines.stages.site import on_stored_frames
from pipelines.store import small
from pipelines.store.ledger import Asked, Run, close_run, mark, open_run, read_rows
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.opening import Opening, opening_of
from pipelines.store.tables import Folder, Shapes

DAY = 86_400_000_000
FIRST, SECOND, THIRD = (Interval(it * DAY, (it + 1) * DAY) for it in range(3))
SPEC = """
name: rides
source: {format: parquet, path: data/rides, event_time: at}
key: [city]
aggregates: {rides: count}
windows: {hourly: {tumbling: 1 hour}}
"""
SHAPES = Shapes(
    key={"city": StringType()},
    parts={"rides__rows": LongType()},
    results={"rides": LongType()},
    event={"city": StringType()},
    event_id={},
)


class Rides:
    """A pipeline whose batches write one frame each, as far as the ledger is concerned."""

    def __init__(self, home: Path, *, spec: str = SPEC) -> None:
        path = home / "dags" / "rides.yml"
        path.parent.mkdir()
        path.write_text(spec)
        self.pipeline: Pipeline = load(path)
        self.fingerprint = state_fingerprint(self.pipeline)
        self.store = Folder(root=str(home / "store" / "rides"))
        for table, columns in SHAPES.tables().items():
            small.create(self.store, table, columns=columns)

    def begin(self, batch: Interval, asked: Asked = Asked()) -> Run:  # noqa: B008  # it is frozen
        def opens(rows: list[LedgerRow]) -> Opening:
            return opening_of(rows, batch, fingerprint=self.fingerprint, replace=False)

        return open_run(self.store, opens, fingerprint=self.fingerprint, asked=asked)

    def write(self, city: str, batch: Interval) -> None:
        frame = {"grid": "aligned", "frame_start": batch.start_us, "frame_end": batch.end_us}
        row = {"city": city, **frame, "rides__rows": 1, "event_count": 1, "day": date(1970, 1, 1)}
        small.append(small.open_table(self.store, "frames"), [row])

    def run(self, city: str, batch: Interval) -> None:
        run = self.begin(batch)
        small.overwrite(small.open_table(self.store, "frames"), [])
        for name, its in ((f"{city} and before", FIRST), (city, batch)):
            self.write(name, its)
        self.close(run)

    def close(self, run: Run) -> None:
        at_us = run.opening.started_at_us or 0
        row = run.opening.row(fingerprint=self.fingerprint, started_at_us=at_us)
        after_us = run.batch.end_us
        close_run(self.store, run, row=replace(row, status="published", watermark_after_us=after_us))

    def stands(self) -> tuple[list[str], list[tuple[Interval, str]]]:
        """The frames, and the ledger."""
        frames = sorted(str(it["city"]) for it in small.read(small.open_table(self.store, "frames")))
        return frames, sorted((it.batch, it.status) for it in read_rows(self.store))


@pytest.fixture
def rides(tmp_path: Path) -> Rides:
    """One batch has run, and the next one has failed."""
    made = Rides(tmp_path)
    made.run("one", FIRST)
    run = made.begin(SECOND)
    made.write("half", SECOND)
    mark(made.store, run, status="failed")
    return made


def sleeping_before(table: str, work: Callable[[], None], does: Callable[..., None]) -> Callable[..., None]:
    """The same, but that once, before it comes to a table, others do their work."""
    left = [work]

    def slept(store: Folder, name: str, **how: object) -> None:
        if name == table and left:
            left.pop()()
        does(store, name, **how)

    return slept


def _ledger(store: Folder) -> list[LedgerRow]:
    return read_rows(store) if small.is_there(store, "runs") else []


class Place:
    """What a rebuilding and a run know of where they are, without a Spark."""

    def __init__(self, rides: Rides) -> None:
        self.spark = self.suite = None
        self.pipeline = on_stored_frames(rides.pipeline, _ledger(rides.store))
        self.store = str(Path(rides.store.root).parent)
        self.declared = rides.pipeline
        self.tables = rides.store


@pytest.fixture
def empty_tables(rides: Rides, monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[Interval]], None]:
    """Empties them as a rebuilding does, without a Spark."""
    # Whether spec and expectations are right asks Spark, and is not what this is about.
    monkeypatch.setattr(rebuilding, "schemas_of", lambda *_, **__: {})
    monkeypatch.setattr(rebuilding, "check", lambda *_, **__: None)
    monkeypatch.setattr(rebuilding, "unfit", lambda *_, **__: ())
    monkeypatch.setattr(rebuilding, "shapes_of", lambda *_, **__: SHAPES)
    monkeypatch.setattr(rebuilding, "Site", lambda *_: Place(rides))
    return lambda batches: rebuilding.empty_tables(Place(rides), batches)  # type: ignore[arg-type]  # enough
