"""The walk gives the published answers of the user scores, from their own file."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load, parse_instant
from pipelines.stages import Request, Site, run_batch

SCORES = Path(__file__).parent.parent / "cases" / "user_scores.csv"
SPEC = """
name: user_scores
source:
  format: csv
  path: user_scores.csv
  options: {header: true}
  schema: "name STRING, team STRING, score INT, event_time TIMESTAMP, arrival_time TIMESTAMP"
  event_time: event_time
  arrival_time: arrival_time
key: [team]
aggregates:
  total: {sum: score}
windows:
  two_minutes: {tumbling: 2 minutes}
"""


def test_two_minutes_of_event_time_over_all_data(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "user_scores.csv").write_text(SCORES.read_text())
    (tmp_path / "dags" / "user_scores.yml").write_text(SPEC)
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "user_scores.yml", home=tmp_path))
    noon_us, end_us = parse_instant("2020-01-01 12:00"), parse_instant("2020-01-01 12:10")
    list(run_batch(site, Request(batch=Interval(noon_us, end_us), final=True)))
    windows = DeltaTable(tmp_path / "store" / "user_scores" / "windows").to_pyarrow_table().to_pylist()
    found = {(row["team"], row["window_start"].minute): row["total"] for row in windows}
    assert found == {("TeamX", 0): 14, ("TeamX", 2): 18, ("TeamX", 4): 4, ("TeamX", 6): 12}
