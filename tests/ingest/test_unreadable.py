"""What is told of files that Spark cannot read: which, why, and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql import SparkSession

from pipelines.errors import RunAgain
from pipelines.ingest.unreadable import unreadable_file
from pipelines.stages import Request
from pipelines.stages.planning import plan_batches
from tests.crash.world import ALONE, FIRST, SPEC, World

OF_A_PAGE = """An error occurred while calling o97.save.
: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file \
file:///data/a%20b.v1.parquet.  SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:911)
Caused by: java.io.IOException: can not read class org.apache.parquet.format.PageHeader: Socket is closed.
Caused by: shaded.parquet.org.apache.thrift.transport.TTransportException: Socket is closed by peer.
"""
OF_A_FOOTER = """Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Encountered error \
while reading file file:/data/x y.parquet. Could not read footer. Please ensure that the file is in either \
ORC or Parquet format.
Caused by: java.lang.RuntimeException: footer is too large: 2939662190to be read
"""
OF_A_COLUMN = (
    "[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] Encountered error while reading file s3a://in/1.parquet."
    " Data type mismatches when reading Parquet column [number]. Expected Spark type string, actual Parquet "
    "type INT64. SQLSTATE: KD001"
)
ADVICE = "put a whole one in its place, or take it away, and run the batch again"


@pytest.mark.parametrize(
    ("told", "path", "reason"),
    [
        (
            OF_A_PAGE,
            "/data/a%20b.v1.parquet",
            "can not read class org.apache.parquet.format.PageHeader: Socket is closed.",
        ),
        (OF_A_FOOTER, "/data/x y.parquet", "it is no whole Parquet or ORC file"),
        (
            OF_A_COLUMN,
            "s3a://in/1.parquet",
            "Data type mismatches when reading Parquet column [number]. Expected Spark type string, actual "
            "Parquet type INT64",
        ),
        (
            "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3a://in/1.",
            "s3a://in/1",
            "Spark does not say why",
        ),
    ],
)
def test_a_file_is_told_with_the_reason(told: str, path: str, reason: str) -> None:
    assert unreadable_file(ValueError(told)) == f"the file {path} cannot be read: {reason}; {ADVICE}"


def test_over_connect_the_reason_stands_beside_what_failed() -> None:
    first, _, causes = OF_A_PAGE.partition("\nCaused by")
    failed = SparkConnectGrpcException(first.splitlines()[1], server_stacktrace=f"Caused by{causes}")
    assert unreadable_file(failed) == unreadable_file(ValueError(OF_A_PAGE))


def test_a_file_of_a_table_is_nothing_to_take_away() -> None:
    told = unreadable_file(ValueError(OF_A_PAGE), tables=["/clones/rides", "/data"])
    assert told is not None and told.endswith("put it back from a copy, or compute all anew, with --rebuild")
    # Raw files may lie beside the tables.
    beside = unreadable_file(ValueError(OF_A_PAGE), tables=["/data/a"])
    assert beside is not None and beside.endswith(ADVICE)


@pytest.mark.parametrize("told", ["[CAST_INVALID_INPUT] The value cannot be cast. SQLSTATE: 22018", ""])
def test_other_errors_are_not_about_files(told: str) -> None:
    assert unreadable_file(ValueError(told)) is None


@pytest.mark.parametrize("harm", ["cut", "empty", "noise", "noise in the middle"])
def test_a_batch_with_a_broken_file_names_it_and_runs_once_it_is_whole(
    spark: SparkSession, tmp_path: Path, harm: str
) -> None:
    calm, world = (World.make(tmp_path / name, spec=ALONE) for name in ("calm", "world"))
    calm.run(spark, FIRST)
    file = world.home / "data" / "north" / "rows.parquet"
    whole = file.read_bytes()
    broken = {
        "cut": whole[: len(whole) // 2],
        "empty": b"",
        "noise": os.urandom(4000),
        "noise in the middle": whole[:4] + os.urandom(200) + whole[204:],
    }
    file.write_bytes(broken[harm])
    with pytest.raises(RunAgain, match=f"the file {file} cannot be read: .+; {ADVICE}"):
        world.run(spark, FIRST)
    file.write_bytes(whole)
    world.run(spark, FIRST)
    assert world.contents() == calm.contents()


def test_a_broken_file_of_a_table_is_told_as_one(spark: SparkSession, tmp_path: Path) -> None:
    world = World.make(tmp_path / "world", spec=SPEC)
    world.run(spark, FIRST)
    for file in (world.store / "world" / "partial_frames").rglob("*.parquet"):
        if "_delta_log" not in file.parts:
            file.write_bytes(b"PAR1" + os.urandom(len(file.read_bytes()) - 8) + b"PAR1")
    told = "it is one of a table: put it back from a copy"
    with pytest.raises(RunAgain, match=told):
        world.run(spark, FIRST)
    # A plan reads the same files, through clones.
    with pytest.raises(RunAgain, match=f"{world.store}/world/partial_frames/.+ {told}"):
        list(plan_batches(world.site(spark), [Request(batch=FIRST)], leaves_out=print))
