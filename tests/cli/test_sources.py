"""Sources whose files differ from day to day, on the real walk."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from pipelines.store.ledger_rows import LedgerRow, standing
from pipelines.store.reader import read_ledger, read_table
from tests.cli.conftest import INSTANT, Place, day

DAILY = """\
name: rides
source:
  format: parquet
  path: "data/{from:%Y-%m-%d}.parquet"
  event_time: at
key: []
aggregates: {longest: {max: delay}}
windows: {daily: {tumbling: 1 day}}
"""
AT_ONCE = ("--from", "2024-01-01", "--to", "2024-01-04", "--every", "1d")
SECOND = ("--from", "2024-01-02", "--to", "2024-01-03")


def lay_spec(place: Place, written: str) -> None:
    place.spec.write_text(written)
    (place.home / "data").mkdir(exist_ok=True)


def lay_day(place: Place, number: int, delays: Sequence[float], kind: pa.DataType) -> None:
    columns = {
        "at": pa.array([day(number, 7)] * len(delays), INSTANT),
        "delay": pa.array(delays, kind),
    }
    parquet.write_table(pa.table(columns), place.home / "data" / f"2024-01-0{number}.parquet")


def sorted_ledger(place: Place) -> list[LedgerRow]:
    return sorted(standing(read_ledger(place.store, "rides")), key=lambda row: row.batch)


def statuses(place: Place) -> list[str]:
    return [row.status for row in read_ledger(place.store, "rides")]


def test_a_column_of_another_type_is_refused_also_where_newer_files_have_the_old_one(
    place: Place, spark: SparkSession
):
    lay_spec(place, DAILY)
    for number, delays, kind in ((1, [5], pa.int32()), (2, [7.9], pa.float64()), (3, [3], pa.int32())):
        lay_day(place, number, delays, kind)
    said = place.sash("run", *AT_ONCE)
    assert said.code == 2
    assert "`longest__extreme` is integer in the table partial_frames, and would be double now" in said.err
    assert statuses(place) == ["published"]


def test_a_day_that_is_still_being_written_keeps_no_other_batch_from_running(
    place: Place, spark: SparkSession
):
    lay_spec(place, DAILY)
    lay_day(place, 2, [5], pa.int32())
    (place.home / "data" / "2024-01-03.parquet").write_bytes(b"PAR1 half a file")
    said = place.sash("run", *SECOND)
    assert (said.code, said.err) == (0, "")


def test_a_declared_source_without_a_file_has_no_rows_and_holds_the_watermark_back(
    place: Place, spark: SparkSession
):
    lay_spec(
        place,
        DAILY.replace(
            "source:\n", "sources:\n  bus: {}\n  train: {path: 'data/train-{from:%Y-%m-%d}.csv'}\nsource:\n"
        )
        .replace("parquet\n", "csv\n", 1)
        .replace(".parquet", ".csv")
        .replace("event_time", "schema: at TIMESTAMP, delay INT\n  event_time"),
    )
    (place.home / "data" / "2024-01-02.csv").write_text("2024-01-02T07:00:00Z,5\n2024-01-02T08:00:00Z,x\n")
    said = place.sash("run", *SECOND)
    assert (said.code, said.err) == (0, "")
    (row,) = read_ledger(place.store, "rides")
    assert (row.status, row.ingested, row.quarantined, row.watermark_after_us) == ("published", 2, 1, None)
    assert read_table(place.store, "rides", table="partial_frames").num_rows == 1


def test_where_no_file_tells_the_columns_nothing_is_opened(place: Place, spark: SparkSession):
    lay_spec(place, DAILY)
    said = place.sash("run", *SECOND)
    assert said.code == 2
    assert "for any batch; put one there, correct `path`, or declare `schema`" in said.err
    assert statuses(place) == []


def test_expectations_about_events_see_numbers_where_sources_have_several_types_of_them(
    place: Place, spark: SparkSession
):
    sources = "sources:\n  bus: {}\n  train: {path: 'data/train.parquet'}\nsource:\n"
    lay_spec(place, DAILY.replace("source:\n", sources).replace("{max: delay}", "count"))
    place.spec.write_text(place.spec.read_text() + "expectations: suite.yml\n")
    (place.home / "suite.yml").write_text(
        "events:\n  - expect_column_max_to_be_between: {column: delay, max_value: 10}\n"
    )
    lay_day(place, 2, [5], pa.int32())
    lay_day(place, 3, [9.5], pa.float64())
    (place.home / "data" / "2024-01-03.parquet").rename(place.home / "data" / "train.parquet")
    said = place.sash("run", *SECOND[:2], "--to", "2024-01-04")
    assert (said.code, said.err) == (0, "")
    (check,) = read_table(place.store, "rides", table="checks", where="stage = 'events'").to_pylist()
    assert (check["success"], check["observed"]) == (True, "9.5")


CONVERTED = """\
name: rides
source:
  format: csv
  path: data/rides.csv
  schema: "origin STRING, at TIMESTAMP, delay STRING"
  select: {minutes: "cast(delay AS double)"}
  where: "cast(delay AS int) >= 0"
  event_time: at
  substream: "cast(delay AS int)"
key: [origin]
aggregates: {minutes: {sum: minutes}, more: {max: "cast(delay AS int) + 1"}}
windows: {daily: {tumbling: 1 day}}
expectations: suite.yml
"""
RULES = """\
events:
  - expect_column_values_to_be_between: {column: minutes, min_value: 0}
    on_failure: quarantine
  - expect_column_values_to_not_be_null:
      {column: origin, row_condition: "cast(delay AS int) > 5", condition_parser: spark}
    on_failure: quarantine
"""
FIRST = ("--from", "2024-01-01", "--to", "2024-01-02")


def test_expressions_look_at_no_row_that_does_not_fit_its_schema(place: Place, spark: SparkSession):
    lay_spec(place, CONVERTED)
    (place.home / "suite.yml").write_text(RULES)
    rows = place.home / "data" / "rides.csv"
    rows.write_text("EWR,2024-01-01 05:00:00,12\nEWR,oops,2024-01-01 05:10:00,7\n")
    said = place.sash("run", *FIRST)
    assert (said.code, said.err) == (0, "")
    (row,) = read_ledger(place.store, "rides")
    assert (row.ingested, row.accepted, row.quarantined) == (2, 1, 1)
    (kept,) = read_table(place.store, "rides", table="quarantine").to_pylist()
    assert kept["record"] == '{"unreadable":"EWR,oops,2024-01-01 05:10:00,7"}'


def test_a_value_that_does_not_convert_is_told_with_its_expression(place: Place, spark: SparkSession):
    plain = CONVERTED.replace('  where: "cast(delay AS int) >= 0"\n', "")
    plain = plain.replace('  substream: "cast(delay AS int)"\n', "").replace("expectations: suite.yml\n", "")
    lay_spec(place, plain.replace(', more: {max: "cast(delay AS int) + 1"}', ""))
    rows = place.home / "data" / "rides.csv"
    rows.write_text("EWR,2024-01-01 05:00:00,12\nEWR,2024-01-01 05:10:00,n/a\n")
    said = place.sash("run", *FIRST)
    assert said.code == 2
    assert "rides.yml: `cast(delay AS double)` fails on a value: [CAST_INVALID_INPUT] " in said.err
    assert "'n/a'" in said.err and "with `try_cast`, `try_to_timestamp` or" in said.err
    assert statuses(place) == ["failed"]
    place.spec.write_text(place.spec.read_text().replace("cast(", "try_cast("))
    assert place.sash("run", *FIRST).code == 0
    (frame,) = read_table(place.store, "rides", table="frames").to_pylist()
    assert (frame["minutes__total"], frame["event_count"]) == (12.0, 2)


@pytest.mark.slow
def test_rows_that_were_out_of_range_are_counted_where_they_arrive_once_the_spec_is_right(
    place: Place, spark: SparkSession
):
    seconds = DAILY.replace("{from:%Y-%m-%d}", "all").replace(
        "event_time: at", "event_time: timestamp_seconds(ms)"
    )
    lay_spec(place, seconds.replace("{longest: {max: delay}}", "{rows: count}"))
    stamps = pa.array([round(day(number, 7).timestamp() * 1000) for number in (1, 2, 3)], pa.int64())
    parquet.write_table(pa.table({"ms": stamps}), place.home / "data" / "all.parquet")
    assert place.sash("run", *AT_ONCE).code == 0
    assert [row.quarantined for row in sorted_ledger(place)] == [3, 0, 0]
    place.spec.write_text(place.spec.read_text().replace("timestamp_seconds", "timestamp_millis"))
    said = place.sash("replay", "quarantine")
    assert said.code == 0, said.err
    assert "rows now arrive in 2 batches more, which run again too" in said.out
    assert [(row.accepted, row.quarantined) for row in sorted_ledger(place)] == [(1, 0)] * 3


@pytest.mark.slow
def test_rows_without_a_time_are_quarantined_once_also_when_select_is_changed(
    place: Place, spark: SparkSession
):
    lay_spec(place, DAILY.replace("{from:%Y-%m-%d}", "all"))
    times = pa.array([None, None, None, day(1, 7)], INSTANT)
    columns = {"at": times, "delay": pa.array([5, 5, 7, 9], pa.int32())}
    parquet.write_table(pa.table(columns), place.home / "data" / "all.parquet")
    assert place.sash("run", *FIRST).code == 0
    spec = place.spec.read_text()
    place.spec.write_text(spec.replace("event_time: at", "event_time: at\n  select: {more: delay + 1}"))
    assert place.sash("run", *SECOND).code == 0
    columns["delay"] = pa.array([5, 5, 8, 9], pa.int32())
    parquet.write_table(pa.table(columns), place.home / "data" / "all.parquet")
    assert place.sash("run", "--from", "2024-01-03", "--to", "2024-01-04").code == 0
    assert [row.quarantined for row in sorted_ledger(place)] == [3, 0, 1]
