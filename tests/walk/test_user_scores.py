"""The walk gives the published answers of the user scores, from their own file."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load, parse_instant
from pipelines.stages import Request, Site, run_batch

Totals = dict[tuple[str, str], int]
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
  by_arrival: {tumbling: 2 minutes, time: arrival}
  sessions: {session: 1 minute}
  split: {session: 1 minute, touching: split}
  bounded: {session: 1 minute, max: 3 minutes}
  unshifted: {tumbling: 2 minutes, unaligned: "0"}
  shifted: {tumbling: 2 minutes, unaligned: "60"}
"""
# At 10, 70 and 130 seconds after noon.
OTHERS = """Ann,TeamY,1,2020-01-01 12:00:10,2020-01-01 12:00:10
Bob,TeamY,2,2020-01-01 12:01:10,2020-01-01 12:01:10
Cem,TeamY,4,2020-01-01 12:02:10,2020-01-01 12:02:10
"""


@pytest.fixture(scope="module")
def windows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Totals]:
    """Of each window definition the totals, by where windows start and end; of the other team, behind it."""
    home = tmp_path_factory.mktemp("user_scores")
    (home / "dags").mkdir()
    (home / "user_scores.csv").write_text(SCORES.read_text() + OTHERS)
    (home / "dags" / "user_scores.yml").write_text(SPEC)
    site = Site(spark, str(home / "store"), load(home / "dags" / "user_scores.yml", home=home))
    noon_us, end_us = parse_instant("2020-01-01 12:00"), parse_instant("2020-01-01 12:10")
    list(run_batch(site, Request(batch=Interval(noon_us, end_us), final=True)))
    found: dict[str, Totals] = {}
    for row in DeltaTable(home / "store" / "user_scores" / "windows").to_pyarrow_table().to_pylist():
        bounds = f"{row['window_start']:%M:%S}", f"{row['window_end']:%M:%S}"
        name = row["window"] if row["team"] == "TeamX" else f"{row['window']} of others"
        found.setdefault(name, {})[bounds] = row["total"]
    return found


def test_two_minutes_of_event_time_over_all_data(windows: dict[str, Totals]) -> None:
    assert {start: total for (start, _), total in windows["two_minutes"].items()} == {
        "00:00": 14,
        "02:00": 18,
        "04:00": 4,
        "06:00": 12,
    }


def test_two_minutes_of_processing_time_by_ingress(windows: dict[str, Totals]) -> None:
    totals = {start: total for (start, _), total in windows["by_arrival"].items()}
    assert totals == {"04:00": 12, "06:00": 18, "08:00": 18}


#   12:00:26  1:26  2:26 3:06 3:39 4:19        6:39  7:26 7:46     a gap of a minute, met exactly twice
def test_sessions_that_touch_merge(windows: dict[str, Totals]) -> None:
    assert windows["sessions"] == {("00:26", "05:19"): 36, ("06:39", "08:46"): 12}


def test_sessions_that_touch_stay_apart_where_they_are_split(windows: dict[str, Totals]) -> None:
    assert windows["split"] == {
        ("00:26", "01:26"): 5,
        ("01:26", "02:26"): 9,
        ("02:26", "05:19"): 22,
        ("06:39", "08:46"): 12,
    }


def test_bounded_sessions_begin_anew_before_they_get_too_long(windows: dict[str, Totals]) -> None:
    assert windows["bounded"] == {("00:26", "02:26"): 14, ("02:26", "05:19"): 22, ("06:39", "08:46"): 12}


#   12:00:10   1:10   2:10        shifted by a minute the first window begins at 11:59
def test_windows_that_are_not_aligned_begin_where_their_shift_says(windows: dict[str, Totals]) -> None:
    assert windows["unshifted of others"] == {("00:00", "02:00"): 3, ("02:00", "04:00"): 4}
    assert windows["shifted of others"] == {("59:00", "01:00"): 1, ("01:00", "03:00"): 6}
