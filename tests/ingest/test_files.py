"""Files that Spark would not open or find, told before it is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.errors import CorrectTheSpec, RunAgain
from pipelines.ingest.files import any_path, exists, is_out_of_reach, is_there
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


LOOK = """
import sys
from pipelines.errors import RunAgain
from pipelines.ingest.files import is_there
for pattern in sys.argv[1:]:
    try:
        print(is_there(pattern, goes_down=False))
    except RunAgain as refused:
        print(refused)
"""


@pytest.mark.parametrize("name", ["rides[1]", "a{x}*b?", "back\\slash"])
def test_a_name_with_signs_of_a_glob_tells_the_columns_of_batches_without_files(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    days = tmp_path / "data" / "2024-01-01"
    days.mkdir(parents=True)
    pq.write_table(pa.table({"at": [1]}), days / f"{name}.parquet")

    def read(day: int) -> DataFrame:
        batch = Interval(FIRST_US + day * DAY_US, FIRST_US + (day + 1) * DAY_US)
        return read_rows(spark, source("data/{from:%Y-%m-%d}/*.parquet"), batch=batch, home=tmp_path)

    for day, rows in ((0, 1), (1, 0)):
        assert (read(day).columns, read(day).count()) == (["at"], rows)


def test_a_folder_that_may_not_be_entered_does_not_pass_for_no_rows(tmp_path: Path) -> None:
    rides = tmp_path / "rides"
    rides.mkdir()
    (rides / "2024.csv").write_text("rows")
    patterns = [str(tmp_path / it) for it in ("rides/2024.csv", "rides/*.csv", "ri*/2024.csv", "rides", "*")]
    # A superuser enters all, unless this is taken from it.
    plainly = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []

    def looked() -> list[str]:
        command = [*plainly, sys.executable, "-c", LOOK, *patterns]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    assert looked() == ["True"] * 5
    rides.chmod(0)
    try:
        for said in looked():
            assert f"{rides}" in said and "cannot be looked into: Permission denied; let the user" in said
        # What a disk keeps for itself is nobody's rows.
        rides.rename(rides.with_name("lost+found"))
        patterns[:] = [str(tmp_path / "*" / "2024.csv")]
        assert looked() == ["False"]
    finally:
        for it in tmp_path.iterdir():
            it.chmod(0o700)


@pytest.mark.parametrize("path", ["mounted/2024.csv", "mounted", "m*/2024.csv", "mounted/*"])
def test_a_link_that_leads_nowhere_does_not_pass_for_no_rows(tmp_path: Path, path: str) -> None:
    (tmp_path / "mounted").symlink_to(tmp_path / "disk")
    pattern = str(tmp_path / path)
    with pytest.raises(RunAgain, match=f"mounted cannot be looked into: it leads to {tmp_path}/disk, where"):
        is_there(pattern, goes_down=False)
    with pytest.raises(RunAgain, match="cannot be looked into"):
        exists(pattern)
    (tmp_path / "disk").mkdir()
    assert not is_there(pattern, goes_down=False)
    (tmp_path / "disk" / "2024.csv").write_text("rows")
    assert is_there(pattern, goes_down=False)


def test_what_has_come_in_part_only_is_no_file_yet(tmp_path: Path) -> None:
    (tmp_path / "2024.csv._COPYING_").write_text("ro")
    (tmp_path / ".#2024.csv").symlink_to("somebody@host.1234")
    assert not is_there(f"{tmp_path}/*", goes_down=False)
    assert not is_there(str(tmp_path), goes_down=False)


def test_a_path_may_be_of_very_many_parts(tmp_path: Path) -> None:
    assert not is_there(str(tmp_path.joinpath(*["a"] * 1500)), goes_down=False)
