"""Whoever gives a batch up, or empties all tables, and sleeps in the middle: others have gone on when it
wakes up, and it writes nothing any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import LongType, StringType

from pipelines.errors import WaitForTheBatch
from pipelines.intervals import Interval
from pipelines.spec import Pipeline, load, state_fingerprint
from pipelines.stages import abandoning, rebuilding
from pipelines.store import attempts, small
from pipelines.store.attempts import Attempt
from pipelines.store.ledger import Run, close_run, forget, mark, open_run, read_rows, still_mine
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.opening import Opening, opening_of
from pipelines.store.retention import gone_until_us, say_gone
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

    def __init__(self, home: Path) -> None:
        path = home / "dags" / "rides.yml"
        path.parent.mkdir()
        path.write_text(SPEC)
        self.pipeline: Pipeline = load(path)
        self.fingerprint = state_fingerprint(self.pipeline)
        self.store = Folder(root=str(home / "store" / "rides"))
        for table, columns in SHAPES.tables().items():
            small.create(self.store, table, columns=columns)

    def begin(self, batch: Interval) -> Run:
        def opens(rows: list[LedgerRow]) -> Opening:
            return opening_of(rows, batch, fingerprint=self.fingerprint, replace=False)

        return open_run(self.store, opens, fingerprint=self.fingerprint, stage=None, source=None)

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


def test_an_abandoning_that_wakes_up_leaves_the_frames_of_those_who_went_on(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    def others() -> None:
        rides.run("two", SECOND)
        rides.run("three", THIRD)

    monkeypatch.setattr(abandoning, "restore", sleeping_before("frames", others, abandoning.restore))
    with pytest.raises(WaitForTheBatch) as told:
        abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    assert told.value.is_over
    ran = [(batch, "published") for batch in (FIRST, SECOND, THIRD)]
    assert rides.stands() == (["three", "three and before"], ran)


def test_an_abandoning_in_peace_brings_back_what_stood_and_keeps_what_upkeep_said(rides: Rides) -> None:
    say_gone(rides.store, 5)
    abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    assert rides.stands() == (["one", "one and before"], [(FIRST, "published"), (SECOND, "abandoned")])
    assert gone_until_us(rides.store) == 5


class Place:
    """What a rebuilding knows of where it is, without a Spark."""

    def __init__(self, rides: Rides) -> None:
        self.spark = None
        self.store = str(Path(rides.store.root).parent)
        self.declared = rides.pipeline
        self.tables = rides.store


@pytest.fixture
def empty_tables(rides: Rides, monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[Interval]], None]:
    """Empties them as a rebuilding does, without a Spark."""
    # Whether spec and expectations are right asks Spark, and is not what this is about.
    monkeypatch.setattr(rebuilding, "check", lambda *_, **__: None)
    monkeypatch.setattr(rebuilding, "unfit", lambda *_, **__: ())
    monkeypatch.setattr(rebuilding, "shapes_of", lambda *_, **__: SHAPES)
    monkeypatch.setattr(rebuilding, "Site", lambda *_: Place(rides))
    return lambda batches: rebuilding.empty_tables(Place(rides), batches)  # type: ignore[arg-type]  # enough


def test_a_rebuilding_that_wakes_up_leaves_the_frames_of_those_who_went_on(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, empty_tables: Callable[[Sequence[Interval]], None]
) -> None:
    def others() -> None:
        empty_tables([FIRST])
        rides.run("one", FIRST)
        rides.run("two", SECOND)

    monkeypatch.setattr(small, "recreate", sleeping_before("frames", others, small.recreate))
    with pytest.raises(WaitForTheBatch) as told:
        empty_tables([FIRST])
    assert told.value.is_over
    ran = [(FIRST, "published"), (SECOND, "published")]
    assert rides.stands() == (["two", "two and before"], ran)


@pytest.mark.parametrize("is_first", [True, False])
def test_who_sleeps_before_its_last_write_does_not_end_the_batch_that_is_rebuilt_meanwhile(
    rides: Rides, empty_tables: Callable[[Sequence[Interval]], None], is_first: bool
) -> None:
    asleep = rides.begin(SECOND)
    with pytest.raises(WaitForTheBatch, match="the tables cannot be rebuilt under it"):
        empty_tables([FIRST])
    if is_first:
        empty_tables([SECOND])
    else:
        empty_tables([FIRST, SECOND])
        rides.run("one", FIRST)
    with pytest.raises(WaitForTheBatch):
        still_mine(rides.store, asleep)
    anew = rides.begin(SECOND)
    assert (anew.batch, anew.revision) == (asleep.batch, asleep.revision)
    stood = rides.stands()
    published = [] if is_first else [(FIRST, "published")]
    assert stood[1] == [*published, (SECOND, "running")]
    for ends in (rides.close, lambda run: forget(rides.store, run)):
        with pytest.raises(WaitForTheBatch):
            ends(asleep)
        assert rides.stands() == stood
    rides.close(anew)
    assert rides.stands()[1] == [*published, (SECOND, "published")]


def test_a_rebuilding_that_sleeps_before_it_takes_its_number_leaves_what_others_have_published_since(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, empty_tables: Callable[[Sequence[Interval]], None]
) -> None:
    begins, left = attempts.begin, [True]

    def slept(*asked: Any, **how: Any) -> tuple[Attempt, bool]:
        if left:
            left.pop()
            empty_tables([FIRST])
            rides.run("one", FIRST)
        return begins(*asked, **how)

    monkeypatch.setattr(attempts, "begin", slept)
    with pytest.raises(WaitForTheBatch) as told:
        empty_tables([SECOND])
    assert told.value.is_over
    assert rides.stands() == (["one", "one and before"], [(FIRST, "published")])


def test_an_abandoning_that_sleeps_before_its_last_write_leaves_the_batch_to_who_went_on_with_it(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    says, begun = abandoning.abandon_run, list[Run]()

    def slept(store: Folder, run: Run) -> None:
        begun.append(rides.begin(SECOND))
        says(store, run)

    monkeypatch.setattr(abandoning, "abandon_run", slept)
    with pytest.raises(WaitForTheBatch):
        abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    assert rides.stands()[1] == [(FIRST, "published"), (SECOND, "running")]
    rides.close(begun[0])
    assert rides.stands()[1] == [(FIRST, "published"), (SECOND, "published")]


def test_a_rebuilding_and_an_abandoning_fence_the_lanes_of_sources_that_the_spec_no_longer_has(
    rides: Rides, empty_tables: Callable[[Sequence[Interval]], None]
) -> None:
    assert written(rides, "partial_frames/main") is None
    (renamed,) = rides.pipeline.sources
    rides.pipeline = replace(rides.pipeline, sources=(replace(renamed, name="ewr"),))
    abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    given_up = [written(rides, f"partial_frames/{source}") for source in ("main", "ewr")]
    empty_tables([SECOND])
    emptied = [written(rides, f"partial_frames/{source}") for source in ("main", "ewr")]
    assert given_up[0] == given_up[1] and emptied[0] == emptied[1]
    assert 0 < (given_up[0] or 0) < (emptied[0] or 0)


def written(rides: Rides, lane: str) -> int | None:
    """The newest attempt that has written in a lane, or keeps others from it."""
    return small.open_table(rides.store, lane.split("/", maxsplit=1)[0]).transaction_version(lane)
