"""Events that repeat an id count once: within a batch, across batches, and as far back as the spec says."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch

SECOND = 1_000_000
SPEC = """
name: sales
source:
  format: parquet
  path: data
  event_time: event_time
  arrival_time: arrival_time
  event_id: {{of: [shop, ticket]{within}}}
key: [shop]
aggregates: {{total: {{sum: number}}}}
windows: {{all: {{tumbling: 1000 s, allowed_lateness: 1000 s}}}}
"""
ROWS = pa.schema(
    {
        "shop": pa.string(),
        "ticket": pa.int64(),
        "number": pa.int64(),
        "event_time": pa.timestamp("us", tz="UTC"),
        "arrival_time": pa.timestamp("us", tz="UTC"),
    }
)
# Shop, ticket, number, happened, arrived, in seconds. Numbers are powers of two: a sum tells who counted.
SALES = [
    ("a", 1, 1, 10, 20),
    ("a", 1, 2, 9, 21),  # repeats the first, which arrived earlier
    ("b", 1, 4, 10, 20),  # another shop's ticket
    ("a", 2, 8, 12, 30),  # of one arrival the earlier event counts
    ("a", 2, 16, 11, 30),
    ("a", 3, 128, 15, 40),  # of two alike in both times the smaller row counts, as a number and not as text
    ("a", 3, 64, 15, 40),
    ("a", None, 32, 15, 50),  # half an id is none: both count
    ("a", None, 256, 15, 50),
    ("a", 4, 512, None, 60),  # quarantined: its id is not used up
    ("a", 4, 1024, 60, 70),
    ("a", 1, 2048, 100, 110),  # the next batch, 90 s after the one that counted
    ("a", 1, 4096, 130, 150),  # 130 s after it
    ("a", 5, 8192, 130, 150),
]


def site_of(spark: SparkSession, folder: Path, *, within: str = "") -> Site:
    (folder / "dags").mkdir(parents=True)
    (folder / "dags" / "sales.yml").write_text(SPEC.format(within=within))
    (folder / "data").mkdir()
    rows = [
        {
            "shop": shop,
            "ticket": ticket,
            "number": number,
            "event_time": None if at is None else at * SECOND,
            "arrival_time": arrived * SECOND,
        }
        for shop, ticket, number, at, arrived in SALES
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=ROWS), folder / "data" / "rows.parquet")
    return Site(spark, str(folder / "store"), load(folder / "dags" / "sales.yml"))


def run(spark: SparkSession, folder: Path, *, within: str = "") -> tuple[dict[str, int], list[dict], Site]:
    site = site_of(spark, folder, within=within)
    for start, final in ((0, False), (100, True)):
        batch = Interval(start * SECOND, (start + 100) * SECOND)
        list(run_batch(site, Request(batch=batch, final=final)))
    windows = DeltaTable(folder / "store" / "sales" / "windows").to_pyarrow_table().to_pylist()
    ledger = DeltaTable(folder / "store" / "sales" / "runs").to_pyarrow_table().to_pylist()
    return (
        {row["shop"]: row["total"] for row in windows},
        sorted(ledger, key=lambda it: it["batch_start"]),
        site,
    )


COUNTED = 1 + 16 + 64 + 32 + 256 + 1024 + 8192
"""Of shop a, where an id counts once for ever."""


@pytest.mark.parametrize(
    ("within", "more"),
    [
        pytest.param("", 0, marks=pytest.mark.slow),
        (", within: 100 s", 4096),
        pytest.param(", within: 130 s", 0, marks=pytest.mark.slow),
        pytest.param(", within: 89 s", 2048, marks=pytest.mark.slow),
    ],
)
def test_an_id_counts_once_as_far_back_as_the_spec_says(
    spark: SparkSession, tmp_path: Path, within: str, more: int
) -> None:
    totals, ledger, _ = run(spark, tmp_path, within=within)
    assert totals == {"a": COUNTED + more, "b": 4}
    assert [row["duplicates"] for row in ledger] == [3, 1 if more else 2]
    for row in ledger:
        fates = [row[name] for name in ("accepted", "late", "quarantined", "duplicates")]
        assert row["ingested"] == sum(fates)


@pytest.mark.slow
def test_ids_are_remembered_once_also_when_a_batch_runs_again(spark: SparkSession, tmp_path: Path) -> None:
    _, ledger, site = run(spark, tmp_path)
    list(run_batch(site, Request(batch=Interval(0, 100 * SECOND))))
    remembered = DeltaTable(tmp_path / "store" / "sales" / "event_ids").to_pyarrow_table().to_pylist()
    found = sorted((row["shop"], row["ticket"], int(row["arrival_time"].timestamp())) for row in remembered)
    assert found == [("a", 1, 20), ("a", 2, 30), ("a", 3, 40), ("a", 4, 70), ("a", 5, 150), ("b", 1, 20)]
    again = DeltaTable(tmp_path / "store" / "sales" / "runs").to_pyarrow_table()
    assert again.num_rows == len(ledger)
    # Another id and all else alike: later batches are judged by it, so it is another revision.
    file = tmp_path / "data" / "rows.parquet"
    sales = [
        {**it, "ticket": 6 if it["ticket"] == 5 else it["ticket"]} for it in pq.read_table(file).to_pylist()
    ]
    pq.write_table(pa.Table.from_pylist(sales, schema=ROWS), file)
    list(run_batch(site, Request(batch=Interval(100 * SECOND, 200 * SECOND), final=True)))
    runs = DeltaTable(tmp_path / "store" / "sales" / "runs").to_pyarrow_table().to_pylist()
    assert sorted((it["batch_start"], it["revision"]) for it in runs)[-1][1] == 1


@pytest.mark.slow
def test_a_batch_that_runs_without_ids_remembers_none(spark: SparkSession, tmp_path: Path) -> None:
    site, spec = site_of(spark, tmp_path), tmp_path / "dags" / "sales.yml"
    first, second = (Interval(start * SECOND, (start + 100) * SECOND) for start in (0, 100))
    list(run_batch(site, Request(batch=first)))
    # It runs again without them, and one of its rows arrives in the next batch after all.
    told, file = spec.read_text(), tmp_path / "data" / "rows.parquet"
    spec.write_text(told.replace("  event_id: {of: [shop, ticket]}\n", ""))
    later = [
        {**it, "arrival_time": 170 * SECOND} if it["number"] == 1024 else it
        for it in pq.read_table(file).to_pylist()
    ]
    pq.write_table(pa.Table.from_pylist(later, schema=ROWS), file)
    list(run_batch(Site(spark, site.store, load(spec)), Request(batch=first)))
    assert DeltaTable(tmp_path / "store" / "sales" / "event_ids").to_pyarrow_table().num_rows == 0
    spec.write_text(told)
    list(run_batch(Site(spark, site.store, load(spec)), Request(batch=second, final=True)))
    windows = DeltaTable(tmp_path / "store" / "sales" / "windows").to_pyarrow_table().to_pylist()
    of_first, of_second = 1 + 2 + 8 + 16 + 128 + 64 + 32 + 256, 2048 + 8192 + 1024
    assert {row["shop"]: row["total"] for row in windows} == {"a": of_first + of_second, "b": 4}


@pytest.mark.slow
def test_of_ids_that_lie_further_back_no_file_is_read(spark: SparkSession, tmp_path: Path) -> None:
    _, _, site = run(spark, tmp_path, within=", within: 100 s")
    # Whoever reads one of these fails.
    for file in (tmp_path / "store" / "sales" / "event_ids").glob("**/*.parquet"):
        file.unlink()
    again = {"shop": "a", "ticket": 1, "number": 16384, "event_time": 450 * SECOND}
    rows = [{**again, "arrival_time": at * SECOND} for at in (450, 460)]
    pq.write_table(pa.Table.from_pylist(rows, schema=ROWS), tmp_path / "data" / "rows.parquet")
    *_, published = run_batch(site, Request(batch=Interval(400 * SECOND, 500 * SECOND)))
    assert (published.counts["late"], published.counts["duplicates"]) == (1, 1)


@pytest.mark.slow
def test_an_older_batch_that_ran_later_repeats_no_id_of_one_that_runs_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    site = site_of(spark, tmp_path)
    newer, older = Interval(100 * SECOND, 200 * SECOND), Interval(0, 100 * SECOND)
    for batch in (newer, older, newer):
        list(run_batch(site, Request(batch=batch)))
    ledger = DeltaTable(tmp_path / "store" / "sales" / "runs").to_pyarrow_table().to_pylist()
    told = sorted((int(row["batch_start"].timestamp()), row["revision"], row["duplicates"]) for row in ledger)
    assert told == [(0, 0, 3), (100, 0, 1)]
