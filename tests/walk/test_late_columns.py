"""Late events keep all columns as read, also where sources have other ones, or get others as time goes on."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheSpec
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch, run_stage

SPEC = """
name: gates
source: {format: parquet, event_time: at, arrival_time: came}
sources: {ewr: {path: ewr}, jfk: {path: jfk}}
key: [user]
aggregates: {times: {count: "*"}}
windows: {short: {tumbling: 10 us}}
"""
INSTANT = pa.timestamp("us", tz="UTC")
BATCHES = [Interval(start, start + 100) for start in (0, 100, 200, 300)]


def write(folder: Path, source: str, *, batch: int, **columns: pa.Array) -> None:
    """A row that happens first of all, and one that happens late in the batch, both with these columns."""
    rows = {
        "user": pa.array(["ann", "ann"]),
        "at": pa.array([1, BATCHES[batch].end_us - 1], INSTANT),
        "came": pa.array([BATCHES[batch].end_us - 2, BATCHES[batch].end_us - 1], INSTANT),
        **columns,
    }
    (folder / source).mkdir(exist_ok=True)
    pq.write_table(pa.table(rows), folder / source / "rows.parquet")


@pytest.mark.slow
def test_late_events_have_the_columns_of_all_sources(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "gates.yml").write_text(SPEC)
    late = tmp_path / "store" / "gates" / "late_events"

    def run(batch: int) -> list[tuple[object, ...]]:
        site = Site(spark, str(tmp_path / "store"), load(tmp_path / "gates.yml", home=tmp_path))
        list(run_batch(site, Request(batch=BATCHES[batch])))
        rows = [row for row in DeltaTable(late).to_pyarrow_table().to_pylist() if is_of(row, batch)]
        return sorted((row["source"], row["Gate"], row.get("crew")) for row in rows)

    #   gates    texts of one source, numbers of the other, under a name that differs in case alone
    texts, numbers = pa.array(["B12", "B13"]), pa.array([7, 8])
    for batch in (0, 1):
        write(tmp_path, "ewr", batch=batch, Gate=texts)
        write(tmp_path, "jfk", batch=batch, gate=numbers)
        found = run(batch)
    assert found == [("ewr", "B12", None), ("jfk", "7", None)]

    #   a column that comes later
    write(tmp_path, "ewr", batch=2, Gate=texts, crew=pa.array([3, 4], pa.int32()))
    write(tmp_path, "jfk", batch=2, gate=numbers)
    assert run(2) == [("ewr", "B12", 3), ("jfk", "7", None)]

    #   and gets a type that does not fit any more
    write(tmp_path, "ewr", batch=3, Gate=texts, crew=pa.array(["C3", "C4"]))
    told = "`crew` is integer in the table late_events, and would be string"
    with pytest.raises(CorrectTheSpec, match=told):
        run(3)


@pytest.mark.slow
def test_a_column_of_any_type_may_be_spelled_otherwise_and_hold_what_is_called_an_interval(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "gates.yml").write_text(SPEC.replace(", jfk: {path: jfk}", ""))
    kept = {"born": pa.array([None, date(2024, 1, 2)]), "set": pa.array([{"poll_interval_ms": 5}] * 2)}
    for batch in (0, 1, 2):
        spelled = {name.title() if batch == 2 else name: values for name, values in kept.items()}
        write(tmp_path, "ewr", batch=batch, **spelled)
        site = Site(spark, str(tmp_path / "store"), load(tmp_path / "gates.yml", home=tmp_path))
        list(run_batch(site, Request(batch=BATCHES[batch])))
    late = DeltaTable(tmp_path / "store" / "gates" / "late_events").to_pyarrow_table().to_pylist()
    assert [(row["born"], row["set"]) for row in late] == [(None, {"poll_interval_ms": 5})] * 2


@pytest.mark.slow
def test_a_batch_that_was_cut_off_may_come_again_with_other_types(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "gates.yml").write_text(SPEC.replace(", jfk: {path: jfk}", ""))

    def site() -> Site:
        return Site(spark, str(tmp_path / "store"), load(tmp_path / "gates.yml", home=tmp_path))

    write(tmp_path, "ewr", batch=0)
    list(run_batch(site(), Request(batch=BATCHES[0])))
    write(tmp_path, "ewr", batch=1, crew=pa.array([3, 4], pa.int32()))
    run_stage(site(), Request(batch=BATCHES[1]), stage="accumulate", source="ewr")
    write(tmp_path, "ewr", batch=1, crew=pa.array(["C3", "C4"]))
    list(run_batch(site(), Request(batch=BATCHES[1])))
    late = DeltaTable(tmp_path / "store" / "gates" / "late_events").to_pyarrow_table().to_pylist()
    assert [row["crew"] for row in late] == ["C3"]


@pytest.mark.slow
def test_frames_of_a_file_that_was_wrong_go_where_its_columns_go(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "gates.yml").write_text(SPEC.replace(", jfk: {path: jfk}", ""))

    def site() -> Site:
        return Site(spark, str(tmp_path / "store"), load(tmp_path / "gates.yml", home=tmp_path))

    def write_in_time() -> None:
        at = pa.array([BATCHES[1].end_us - 1], INSTANT)
        pq.write_table(pa.table({"user": ["ann"], "at": at, "came": at}), tmp_path / "ewr" / "rows.parquet")

    def contents() -> list[list[str]]:
        tables = ("frames", "windows", "panes", "late_events", "runs")
        there = [DeltaTable(tmp_path / "store" / "gates" / it).to_pyarrow_table() for it in tables]
        of_events = [[it for it in rows.to_pylist() if it.get("event_count") != 0] for rows in there]
        return [sorted(str({**row, "crew": None}) for row in rows) for rows in of_events]

    write(tmp_path, "ewr", batch=0)
    list(run_batch(site(), Request(batch=BATCHES[0])))
    write_in_time()
    list(run_batch(site(), Request(batch=BATCHES[1])))
    stood = contents()
    write(tmp_path, "ewr", batch=1, user=pa.array(["ann", "bob"]), crew=pa.array([3, 4], pa.int32()))
    for stage, source in (("accumulate", "ewr"), ("combine", None)):
        run_stage(site(), Request(batch=BATCHES[1]), stage=stage, source=source)
    write_in_time()
    list(run_batch(site(), Request(batch=BATCHES[1])))
    assert contents() == stood


def is_of(row: dict, batch: int) -> bool:
    return row["batch_end"].microsecond == BATCHES[batch].end_us
