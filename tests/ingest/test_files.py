"""Files that Spark would not open or find, told before it is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheSpec
from pipelines.ingest.files import any_path, is_out_of_reach
from pipelines.ingest.read import read_rows
from pipelines.intervals import Interval
from pipelines.spec import Source
from tests.ingest.test_read import DAY_US, FIRST_US, source

HOUR_US = DAY_US // 24


def test_files_where_spark_does_not_look_are_not_left_out_without_a_word(
    spark: SparkSession, tmp_path: Path
) -> None:
    """With declared columns it takes them for none."""
    path = "data/{from:%Y-%m-%d}"
    rows = tmp_path / "data" / "2024-01-01" / "morning"
    spark.range(2).write.json(str(rows))
    lines = replace(source(path), format="json", schema="id LONG")

    def read(of: Source) -> int:
        return read_rows(spark, of, batch=Interval(FIRST_US, FIRST_US + DAY_US), home=tmp_path).count()

    with pytest.raises(CorrectTheSpec, match=r"lie in folders below it.*recursiveFileLookup: true"):
        read(lines)
    assert read(replace(lines, options=(("RecursiveFileLookup", "True"),))) == 2
    # Of a folder without a time they may have been moved there since they were read.
    assert read(replace(lines, path="data")) == 0
    with pytest.raises(CorrectTheSpec, match="lie in folders below it"):
        any_path(replace(lines, path="data"), tmp_path)
    assert is_out_of_reach(lines, tmp_path)
    rows.rename(rows.parent / "part=1")
    assert read(lines) == 2 and not is_out_of_reach(lines, tmp_path)


def test_a_file_with_a_colon_in_its_name_is_refused_and_a_folder_is_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(2).write.parquet(str(tmp_path / "data" / "at 00:00.parquet"))
    (tmp_path / "data" / "at 01:00.parquet").write_text("rows")

    def read(hour: int) -> int:
        begun = Interval(FIRST_US + hour * HOUR_US, FIRST_US + hour * HOUR_US + 1)
        return read_rows(spark, source("data/at {from:%R}.parquet"), batch=begun, home=tmp_path).count()

    assert read(0) == 2
    with pytest.raises(CorrectTheSpec, match="has a colon in its name"):
        read(1)
