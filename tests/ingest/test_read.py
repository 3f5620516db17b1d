"""Where a source's columns are learned: from the newest files, however many days have some."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheSpec
from pipelines.ingest.read import any_path, read_rows
from pipelines.intervals import Interval
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
    lay(tmp_path, "day=2024-01-01/part/a.parquet", "day=2024-01-02/_SUCCESS", "day=2024-01-02/.a.parquet.crc")
    (tmp_path / "data" / "day=2024-01-03").mkdir()
    assert any_path(source(DAILY), tmp_path) == str(tmp_path / "data" / "day=2024-01-01")


def test_a_glob_behind_the_day_is_a_file(tmp_path: Path) -> None:
    lay(tmp_path, "day=2024-01-01/a.parquet", "day=2024-01-01/b.parquet")
    path = any_path(source(f"{DAILY}/*.parquet"), tmp_path)
    assert path == str(tmp_path / "data" / "day=2024-01-01" / "b.parquet")


@pytest.mark.parametrize("path", ["s3a://lake/{from:%Y}/*", "data/{a,b}/{from:%Y}"])
def test_what_only_spark_can_list_is_left_to_it(tmp_path: Path, path: str) -> None:
    assert any_path(source(path), tmp_path).endswith(path.replace("{from:%Y}", "*"))


def test_remote_days_without_files_are_left_out(spark: SparkSession, tmp_path: Path) -> None:
    for day in ("01", "03"):
        spark.range(2).write.parquet(str(tmp_path / "data" / f"day=2024-01-{day}"))
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


def test_no_file_on_any_day_is_told(tmp_path: Path) -> None:
    with pytest.raises(CorrectTheSpec, match=r"there is no file at .*day=\* for any batch"):
        any_path(source(DAILY), tmp_path)
