"""What Spark writes is fenced: an older attempt that comes after a newer one in its lane changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from pipelines.store import small
from pipelines.store.fence import Fence
from pipelines.store.tables import FRAME, LONG, TEXT, Columns, Store
from pipelines.store.writes import TXN, Place, append, merge, replace

COLUMNS: Columns = {"city": TEXT, **FRAME, "event_count": LONG}
ROWS = "city STRING, grid STRING, frame_start TIMESTAMP, frame_end TIMESTAMP, event_count LONG"
START, END = datetime(2024, 1, 1, 7, tzinfo=UTC), datetime(2024, 1, 1, 8, tzinfo=UTC)
LANE = "combine/frames"

Write = Callable[[Store, DataFrame, Fence], object]


def adds(store: Store, rows: DataFrame, fence: Fence) -> None:
    append(store, "frames", rows=rows, fence=fence)


def replaces(store: Store, rows: DataFrame, fence: Fence) -> None:
    replace(store, "frames", rows=rows, where="city <> 'Chur'", fence=fence)


def merges(store: Store, rows: DataFrame, fence: Fence) -> int:
    place = Place(on=("city", "grid", "frame_start"), days=(date(2024, 1, 1),))
    return merge(store, "frames", rows=rows, place=place, fence=fence)


def merges_nothing(store: Store, rows: DataFrame, fence: Fence) -> int:
    return merge(store, "frames", rows=rows.limit(0), place=Place(on=("city",), days=()), fence=fence)


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    made = Store(root=str(tmp_path / "pipeline"), spark=spark)
    small.create(made, "frames", columns=COLUMNS)
    return made


def frame(store: Store, city: str, count: int) -> DataFrame:
    return store.spark.createDataFrame([(city, "aligned", START, END, count)], ROWS)


def stands(store: Store) -> list[tuple[object, object]]:
    rows = small.read(small.open_table(store, "frames"))
    return sorted((str(row["city"]), row["event_count"]) for row in rows)


@pytest.mark.parametrize(
    ("newer", "older", "stood"),
    [
        (adds, adds, [("Bern", 2)]),
        (replaces, replaces, [("Bern", 2)]),
        (merges, merges, [("Bern", 2)]),
        # Another attempt may find nothing to write where the older one did.
        (merges_nothing, merges, []),
    ],
)
def test_a_write_of_an_older_attempt_after_one_of_a_newer_leaves_the_table_as_it_is(
    store: Store, newer: Write, older: Write, stood: list[tuple[object, object]]
):
    newer(store, frame(store, "Bern", 2), Fence(LANE, 2))
    assert not older(store, frame(store, "Bern", 1), Fence(LANE, 1))
    assert stands(store) == stood
    # The number says nothing in another lane, and what carries no fence has none left over.
    assert store.spark.conf.get(f"{TXN}.txnAppId", None) is None
    adds(store, frame(store, "Chur", 3), Fence("another", 1))
    assert stands(store) == [*stood, ("Chur", 3)]


@pytest.mark.slow
@pytest.mark.parametrize("writes", [merges, replaces])
def test_a_write_that_meets_upkeep_is_done_again(store: Store, writes: Write):
    for number, city in enumerate(("Bern", "Chur")):
        adds(store, frame(store, city, 1), Fence(f"of {city}", number + 1))
    path = store.path("frames")

    def compacted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        DeltaTable(path).optimize.compact()
        yield from batches

    rows = frame(store, "Bern", 2)
    meanwhile = rows.coalesce(1).mapInArrow(compacted, rows.schema)
    writes(store, meanwhile, Fence(LANE, 1))
    assert stands(store) == [("Bern", 2), ("Chur", 1)]
    done = [it["operation"] for it in reversed(DeltaTable(path).history())]
    assert done[:4] == ["CREATE TABLE", "WRITE", "WRITE", "OPTIMIZE"] and len(done) == 5
