"""Repeated ids against a plain loop: in whatever order rows come, with and without `within` and what earlier
batches knew; also where one id is on all rows.
"""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from pipelines.ingest.duplicates import KNOWN_US, with_duplicates
from pipelines.ingest.events import ARRIVAL_US, EVENT_US
from pipelines.ingest.fate import ACCEPTED, DUPLICATE, FATE, LATE, QUARANTINED
from pipelines.spec import Source
from pipelines.spec.model import EventId

pytestmark = pytest.mark.spark

EVENTS = f"id STRING, number INT, {EVENT_US} BIGINT, {ARRIVAL_US} BIGINT, {FATE} INT"
KNOWN = f"_known_id STRING, {KNOWN_US} BIGINT"
FATES = (ACCEPTED, ACCEPTED, LATE, QUARANTINED)
Row = tuple[str | None, int, int, int, int]


def source(within_us: int | None) -> Source:
    told = EventId(of=("id",), within_us=within_us)
    return Source(name="main", format="parquet", path="data", event_time="at", event_id=told)


def repeats(rows: list[Row], known: dict[str, int], *, within_us: int | None) -> set[int]:
    last, found = dict(known), set()
    for id_, number, _, arrival_us, fate in sorted(rows, key=lambda it: (it[3], it[2], it[1])):
        if id_ is None or fate >= DUPLICATE:
            continue
        if id_ in last and (within_us is None or arrival_us - last[id_] <= within_us):
            found.add(number)
        else:
            last[id_] = arrival_us
    return found


def found(spark: SparkSession, rows: list[Row], known: dict[str, int], *, within_us: int | None) -> set[int]:
    events = spark.createDataFrame(rows, EVENTS)
    told = with_duplicates(events, source(within_us), known=spark.createDataFrame([*known.items()], KNOWN))
    assert told.columns == events.columns
    fates = {row["number"]: row[FATE] for row in told.collect()}
    assert all(fates[number] in (fate, DUPLICATE) for _, number, _, _, fate in rows)
    assert len(fates) == len(rows)
    return {number for number, fate in fates.items() if fate == DUPLICATE}


@pytest.mark.parametrize("within_us", [None, 3, 15, 35, 200])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_all_but_those_that_count_are_duplicates(
    spark: SparkSession, seed: int, within_us: int | None
) -> None:
    """Arrivals lie from 100 to 130, and ties in all else are common."""
    chosen = random.Random(seed)
    ids = [None, "", *"abcdefgh"]
    rows: list[Row] = [
        (chosen.choice(ids), number, chosen.randint(0, 2), chosen.randint(100, 130), chosen.choice(FATES))
        for number in range(120)
    ]
    known = {id_: chosen.randint(80, 99) for id_ in "abc"}
    wanted = repeats(rows, known, within_us=within_us)
    assert wanted and found(spark, rows, known, within_us=within_us) == wanted


@pytest.mark.parametrize("within_us", [None, 1_000_000])
def test_an_id_may_be_on_all_rows(spark: SparkSession, within_us: int | None) -> None:
    """As where producers write a word for none; an array of its arrivals on each row was 8 GB."""
    rows: list[Row] = [("N/A", number, 0, number, ACCEPTED) for number in range(32_000)]
    assert len(found(spark, rows, {}, within_us=within_us)) == len(rows) - 1
