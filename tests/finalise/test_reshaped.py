"""What is taken back of windows whose definition has another shape now."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.finalise import as_brought
from pipelines.spec import load

SPEC = """
name: rides
source: {format: parquet, path: rides, event_time: at}
key: [city]
aggregates: {rides: count}
windows: {w: {cumulate: 2 hours, step: 1 hour}}
"""
PANES = "city STRING, window STRING, window_start INT, window_end INT, kind STRING, timing STRING"


def test_a_retract_has_the_timing_of_the_pane_that_brings_it_and_its_own_where_none_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "rides.yml").write_text(SPEC)
    gone = [
        (city, "w", start, start + 2, "retract", "LATE") for city, start in ((None, 0), ("a", 0), ("a", 1))
    ]
    there = [(city, "w", 0, 2, "insert", "ON_TIME") for city in (None, "a", "b")]
    brought = as_brought(
        spark.createDataFrame(gone, PANES),
        spark.createDataFrame(there, PANES),
        pipeline=load(tmp_path / "rides.yml"),
    )
    assert {(row.city, row.window_start): (row.kind, row.timing) for row in brought.collect()} == {
        (None, 0): ("retract", "ON_TIME"),
        ("a", 0): ("retract", "ON_TIME"),
        ("a", 1): ("retract", "LATE"),
    }
