"""Where a source's columns are learned: from the newest files, however many days have some."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.errors import CorrectTheCall, CorrectTheSpec
from pipelines.ingest.declared import declared_schema
from pipelines.ingest.events import ARRIVAL_US, IS_BROKEN, SUBSTREAM, to_events
from pipelines.ingest.files import any_path, is_there, local_bytes
from pipelines.ingest.read import read_rows, schema_of
from pipelines.intervals import Interval, to_us
from pipelines.spec import Source

DAILY = "data/day={from:%Y-%m-%d}"


def source(path: str) -> Source:
    return Source(name="rides", format="parquet", path=path, event_time="at")


def lay(home: Path, *files: str) -> None:
    for file in files:
        path = home / "data" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("rows")


def test_the_newest_day_tells_the_columns(tmp_path: Path) -> None:
    lay(tmp_path, "day=2024-01-01/a.parquet", "day=2024-01-03/a.parquet", "day=2024-01-02/a.parquet")
    assert any_path(source(DAILY), tmp_path) == str(tmp_path / "data" / "day=2024-01-03")


def test_a_day_without_a_file_tells_none(tmp_path: Path) -> None:
    lay(tmp_path, "day=2024-01-01/hour=1/part/a.parquet", "day=2024-01-02/part/a.parquet")
    lay(tmp_path, "day=2024-01-02/_SUCCESS", "day=2024-01-02/.a.parquet.crc")
    (tmp_path / "data" / "day=2024-01-03").mkdir()
    assert any_path(source(DAILY), tmp_path) == str(tmp_path / "data" / "day=2024-01-01")


def test_a_day_that_another_job_still_writes_tells_none(tmp_path: Path) -> None:
    lay(tmp_path, "day=2024-01-01/hour=1/a.parquet", "day=2024-01-02/_temporary/0/a.parquet")
    lay(tmp_path, "day=2024-01-03/.staging/a.parquet")
    assert any_path(source(DAILY), tmp_path) == str(tmp_path / "data" / "day=2024-01-01")


def test_a_glob_behind_the_day_is_a_file(tmp_path: Path) -> None:
    lay(tmp_path, "day=2024-01-01/a.parquet", "day=2024-01-01/b.parquet")
    path = any_path(source(f"{DAILY}/*.parquet"), tmp_path)
    assert path == str(tmp_path / "data" / "day=2024-01-01" / "b.parquet")


def test_folders_that_are_named_otherwise_tell_none(tmp_path: Path) -> None:
    lay(tmp_path, "2024-01-01/a.parquet", "lookup/a.parquet", "archive/2023-01-01/a.parquet")
    path = any_path(source("data/{from:%Y-%m-%d}"), tmp_path)
    assert path == str(tmp_path / "data" / "2024-01-01")


def test_a_day_may_be_folders_in_each_other(tmp_path: Path) -> None:
    lay(tmp_path, "2024/01/02/a.parquet", "2024/01/10/a.parquet", "2024/01/a/a.parquet")
    for day in ("{from:%Y/%m/%d}", "{from:%Y}/{from:%-m}/{from:%-d}", "{from:%Y}/01/{from:%d}"):
        assert any_path(source(f"data/{day}"), tmp_path).endswith(("/01/10", "/2024/1/10")), day


def test_only_what_spark_would_read_is_counted(tmp_path: Path) -> None:
    lay(tmp_path, "a.parquet", "_temporary", ".b.parquet.crc")
    (tmp_path / "data" / ".#a.parquet").symlink_to(tmp_path / "nowhere")
    counted = {"batch": THREE_DAYS, "home": tmp_path, "most": 100}
    for path in ("data", "data/*"):
        assert local_bytes(source(path), **counted) == len("rows")
    (tmp_path / "data" / "gone.parquet").symlink_to(tmp_path / "nowhere")
    assert local_bytes(source("data"), **counted) is None


def test_a_doubled_star_is_left_to_spark(tmp_path: Path) -> None:
    assert any_path(source("data/**.parquet"), tmp_path).endswith("data/**.parquet")
    assert local_bytes(source("data/**.parquet"), batch=THREE_DAYS, home=tmp_path, most=100) is None


def test_folders_that_are_links_are_looked_into(tmp_path: Path) -> None:
    lay(tmp_path, "day=2024-01-01/a.parquet", "../archive/hour=1/a.parquet", "day=2024-01-02/_SUCCESS")
    day = tmp_path / "data" / "day=2024-01-02"
    (day / "again").symlink_to(day)
    assert not is_there(str(day), goes_down=False)
    (day / "hour=1").symlink_to(tmp_path / "archive" / "hour=1")
    assert is_there(str(day), goes_down=False)


@pytest.mark.parametrize(
    "path",
    ["s3a://lake/{from:%Y}/*", "data/{a,b}/{from:%Y}", "data/{from:%Y}/[^_]*", "data/{from:%Y}/\\[a]*"],
)
def test_what_only_spark_can_list_is_left_to_it(tmp_path: Path, path: str) -> None:
    assert any_path(source(path), tmp_path).endswith(path.replace("{from:%Y}", "[0-9]" * 4))


@pytest.mark.parametrize("there", [(), ("day=2024-01-02/_SUCCESS",)], ids=["no folder", "an empty one"])
def test_remote_days_without_files_are_left_out(
    spark: SparkSession, tmp_path: Path, there: tuple[str, ...]
) -> None:
    for day in ("01", "03"):
        spark.range(2).write.parquet(str(tmp_path / "data" / f"day=2024-01-{day}"))
    lay(tmp_path, *there)
    remote = source(f"{tmp_path.as_uri()}/{DAILY}")
    day_us, first_us = 86_400_000_000, 1_704_067_200_000_000  # 2024-01-01
    rows = {
        days: read_rows(
            spark,
            remote,
            batch=Interval(first_us + days[0] * day_us, first_us + days[1] * day_us),
            home=tmp_path,
        ).count()
        for days in ((0, 3), (0, 1), (1, 2))
    }
    assert rows == {(0, 3): 4, (0, 1): 2, (1, 2): 0}


DAY_US, FIRST_US = 86_400_000_000, 1_704_067_200_000_000  # 2024-01-01
THREE_DAYS = Interval(FIRST_US, FIRST_US + 3 * DAY_US)


def test_a_day_whose_folder_has_no_file_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(2).write.parquet(str(tmp_path / "data" / "day=2024-01-01"))
    lay(tmp_path, "day=2024-01-02/_SUCCESS")
    second = Interval(FIRST_US + DAY_US, FIRST_US + 2 * DAY_US)
    assert read_rows(spark, source(DAILY), batch=second, home=tmp_path).count() == 0
    assert read_rows(spark, source(DAILY), batch=THREE_DAYS, home=tmp_path).count() == 2


def test_days_with_folders_of_columns_are_read_together(spark: SparkSession, tmp_path: Path) -> None:
    days = [f"2024-01-0{day}/hour={hour}" for day in (1, 2) for hour in (0, 1)]
    lay(tmp_path, *[f"{day}/a.json" for day in days])
    for number, day in enumerate(days):
        (tmp_path / "data" / day / "a.json").write_text(f'{{"number": {number}}}')
    of_days = replace(source("data/{from:%Y-%m-%d}"), format="json")
    rows = read_rows(spark, of_days, batch=THREE_DAYS, home=tmp_path).collect()
    assert sorted((row["number"], row["hour"]) for row in rows) == [(0, 0), (1, 1), (2, 0), (3, 1)]
    with pytest.raises(CorrectTheSpec, match="CONFLICTING_DIRECTORY_STRUCTURES"):
        read_rows(spark, replace(of_days, path="data/*"), batch=THREE_DAYS, home=tmp_path)


def test_tables_of_several_days_are_read_together(spark: SparkSession, tmp_path: Path) -> None:
    for day, rows in (("01", 2), ("03", 5)):
        table = spark.range(rows) if day == "01" else spark.range(rows).withColumn("more", F.lit("x"))
        table.write.format("delta").save(str(tmp_path / "data" / f"day=2024-01-{day}"))
    tables = replace(source(DAILY), format="delta")
    found = read_rows(spark, tables, batch=THREE_DAYS, home=tmp_path)
    assert (found.count(), found.columns) == (7, ["id", "more"])


def test_lengths_of_texts_are_let_go(spark: SparkSession, tmp_path: Path) -> None:
    declared = "origin CHAR(3), name STRUCT<first: VARCHAR(9), all: ARRAY<CHAR(1)>>, at TIMESTAMP"
    found = schema_of(spark, replace(source("x"), format="json", schema=declared), home=tmp_path)
    plain = "struct<origin:string,name:struct<first:string,all:array<string>>,at:timestamp>"
    assert found.simpleString() == plain
    lay(tmp_path, "rows.json")
    (tmp_path / "data" / "rows.json").write_text('{"origin": "JFK", "name": {"first": "a", "all": ["b"]}}\n')
    told = replace(source("data/rows.json"), format="json", schema=declared)
    (row,) = read_rows(spark, told, batch=THREE_DAYS, home=tmp_path).collect()
    assert (row.origin, row.name.first, row._unreadable) == ("JFK", "a", None)


def test_no_file_on_any_day_is_told(tmp_path: Path) -> None:
    with pytest.raises(CorrectTheSpec, match=r"there is no file at .*day=\{from:%Y-%m-%d\} for any batch"):
        any_path(source(DAILY), tmp_path)


def test_types_that_are_nested_too_deeply_are_refused_before_a_parser_has_them() -> None:
    with pytest.raises(CorrectTheSpec, match="found types nested 5000 deep, and 100 are allowed"):
        declared_schema(replace(source("x"), schema="a " + 5000 * "ARRAY<" + "INT" + 5000 * ">"))


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_names_of_folders_that_nobody_declared_are_no_columns(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    rows = spark.sql("SELECT 1 AS at, 'ewr' AS window")
    rows.write.format(format_).partitionBy("window").save(str(tmp_path / "data"))
    declared = Source(name="rides", format=format_, path="data", schema="at INT", event_time="at")
    found = read_rows(spark, declared, batch=Interval(0, 1), home=tmp_path)
    assert [name for name in found.columns if not name.startswith("_")] == ["at"]
    assert found.first().at == 1


def test_who_writes_nanoseconds_is_told_how_to_write_microseconds(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({"at": pa.array([0], pa.timestamp("ns"))}), tmp_path / "data" / "a.parquet")
    with pytest.raises(CorrectTheSpec, match=r"in microseconds: write the file so \(pandas: `to_parquet"):
        read_rows(spark, source("data"), batch=THREE_DAYS, home=tmp_path)


def test_a_file_that_several_globs_of_a_batch_meet_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for hour, name in ((1, "1-a"), (10, "10-a"), (11, "11-a"), (12, "12-a[2]")):
        pq.write_table(pa.table({"at": [hour]}), tmp_path / "data" / f"{name}.parquet")
    day = Interval(0, 86_400_000_000)
    rows = read_rows(spark, source("data/{from:%-H}*.parquet"), batch=day, home=tmp_path)
    assert sorted(row["at"] for row in rows.collect()) == [1, 10, 11, 12]


@pytest.mark.parametrize("path", ["data/{from:%-H}*.{parquet,gone}", "file:{home}/data/{from:%-H}*.parquet"])
def test_globs_that_only_spark_looks_at_are_refused_where_two_find_one_file(
    spark: SparkSession, tmp_path: Path, path: str
) -> None:
    (tmp_path / "data").mkdir()
    day = Interval(0, 86_400_000_000)
    for hour in (1, 2, 10):
        for name in (f"{hour}-a", f"n-{hour:02}-a"):
            pq.write_table(pa.table({"at": [hour]}), tmp_path / "data" / f"{name}.parquet")

    def read(path: str) -> list[int]:
        whole = source(path.replace("{home}", str(tmp_path)))
        rows = read_rows(spark, whole, batch=day, home=tmp_path)
        return sorted(row["at"] for row in rows.collect())

    with pytest.raises(CorrectTheCall, match=r"both find file:.*10-a.parquet, whose rows would count twice"):
        read(path)
    # That they may meet is nothing where no file says so.
    assert read(path.replace("{from:%-H}*", "*-{from:%H}-*")) == [1, 2, 10]


def test_substreams_that_are_not_the_same_have_names_of_their_own(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [(b"text", "x, y", "z"), (b"\x80", "x", "y, z"), (b"\x81", None, "z"), (b"\x81", "null", "z")],
        "raw BINARY, one STRING, other STRING",
    ).withColumn("at", F.timestamp_micros(F.lit(0)))

    def names(substream: str) -> list[str]:
        split = replace(source("data"), substream=substream)
        return [row[SUBSTREAM] for row in to_events(rows, split, batch=Interval(0, 1)).collect()]

    assert names("raw") == ["text", "0x80", "0x81", "0x81"]
    assert names("one") == ["x, y", "x", None, "null"]
    assert names("struct(one, other)")[2] == '{"one":null,"other":"z"}'
    assert len(set(names("struct(one, other)"))) == len(set(names("array(one, other)"))) == 4


def test_a_row_that_is_cut_off_stays_with_its_file_whatever_date_is_left_of_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    rows = [
        "NYC,2013-01-15 10:00:00,1",
        "NYC,2013-01-14 10:00:00,2",
        "NYC,2013-01-15 11:00:00,oops",
        "NYC,2013-01-1",
    ]
    (tmp_path / "data" / "2013-01-15.csv").write_text("\n".join(rows))
    daily = replace(
        source("data/{from:%F}.csv"), format="csv", schema="city STRING, at TIMESTAMP, fare DOUBLE"
    )
    day = Interval(*(to_us(datetime(2013, 1, number, tzinfo=UTC)) for number in (15, 16)))
    events = to_events(read_rows(spark, daily, batch=day, home=tmp_path), daily, batch=day)
    found = [(row[ARRIVAL_US] is None, row[IS_BROKEN]) for row in events.collect()]
    # The second is of another batch, though none reads it; of the last two one tells its time, and one none.
    assert sorted(found) == [(False, False), (False, True), (True, True)]
