"""The published answers of the user scores, pane by pane: processing time by triggers, modes, retractions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load, parse_instant
from pipelines.stages import Request, Site, run_batch

CASES = Path(__file__).parent.parent / "cases"
# So much disorder that nothing is ever due.
SPEC = """
name: user_scores
source:
  format: csv
  path: scores.csv
  options: {{header: true}}
  schema: "{schema}"
  event_time: event_time
  arrival_time: arrival_time
key: [team]
aggregates: {{total: {{sum: score}}}}
time: {{max_disorder: 1 day}}
panes: {{early: each batch}}
windows:
{windows}
"""
BY_TRIGGERS = """
  ever: {global: true, panes: {early: each batch, mode: discarding}}
  discarding: {tumbling: 2 minutes, panes: {early: each batch, mode: discarding}}
  accumulating: {tumbling: 2 minutes, panes: {early: each batch, mode: accumulating}}
  retracting: {tumbling: 2 minutes, panes: {early: each batch, mode: retracting}}
"""
SESSIONS = "  sessions: {session: 1 minute, panes: {early: each batch, mode: retracting}}"
SCHEMA = "team STRING, score INT, event_time TIMESTAMP, arrival_time TIMESTAMP"

Said = tuple[str, str, str, str, int]


def in_another_order(scores: str) -> str:
    """The same scores of another team: the 7 arrives alone, then all but the 5, then that."""
    told = [line.split(",") for line in scores.splitlines()[1:]]
    came = {"7": "12:05:00", "5": "12:09:00"}
    rows = [
        [name, "TeamY", score, happened, f"2020-01-01 {came.get(score, '12:07:00')}"]
        for name, _, score, happened, _ in told
    ]
    return "".join(",".join(row) + "\n" for row in rows)


def panes(
    spark: SparkSession, home: Path, *, scores: str, windows: str, ends: Sequence[str]
) -> list[list[Said]]:
    """Of each batch, by the time after noon when it ends: team, window, bounds and signed total of panes."""
    (home / "dags").mkdir()
    schema = f"name STRING, {SCHEMA}" if scores.startswith("name") else SCHEMA
    (home / "scores.csv").write_text(scores)
    (home / "dags" / "user_scores.yml").write_text(SPEC.format(schema=schema, windows=windows))
    site = Site(spark, str(home / "store"), load(home / "dags" / "user_scores.yml", home=home))
    clocks = ["4:00", *ends]
    instants = [parse_instant(f"2020-01-01 12:{clock:0>5}") for clock in clocks]
    for start_us, end_us in pairwise(instants):
        list(run_batch(site, Request(batch=Interval(start_us, end_us))))
    rows = DeltaTable(home / "store" / "user_scores" / "panes").to_pyarrow_table().to_pylist()
    return [sorted(said(row) for row in rows if f"{row['batch_end']:%-M:%S}" == end) for end in ends]


def said(row: dict) -> Said:
    start, end = (f"{row[name]:%-M:%S}" if row[name] else "" for name in ("window_start", "window_end"))
    total = row["total"] if row["kind"] == "insert" else -row["total"]
    return row["team"], row["window"], start, end, total


def test_processing_time_by_triggers_and_the_three_modes(spark: SparkSession, tmp_path: Path) -> None:
    scores = (CASES / "user_scores.csv").read_text()
    both = scores + in_another_order(scores)
    found = panes(spark, tmp_path, scores=both, windows=BY_TRIGGERS, ends=("6:00", "8:00", "10:00"))
    assert [[it[4] for it in rows if it[:2] == ("TeamX", "ever")] for rows in found] == [[12], [18], [18]]
    # By triggers the answer depends on the order of arrival.
    assert [[it[4] for it in rows if it[:2] == ("TeamY", "ever")] for rows in found] == [[7], [36], [5]]
    of_six = {
        mode: [[it[4] for it in rows if it[:3] == ("TeamX", mode, "6:00")] for rows in found]
        for mode in ("discarding", "accumulating", "retracting")
    }
    assert of_six == {
        "discarding": [[], [3], [9]],
        "accumulating": [[], [3], [12]],
        "retracting": [[], [3], [-3, 12]],
    }


@pytest.mark.slow
def test_session_panes_with_retractions(spark: SparkSession, tmp_path: Path) -> None:
    told = [
        ("5:20", [("0:26", "1:26", 5)]),
        ("5:40", [("2:26", "3:26", 7)]),
        ("6:14", [("3:39", "4:39", 3)]),
        ("6:47", [("3:39", "4:39", -3), ("3:39", "5:19", 7)]),
        ("7:20", [("6:39", "7:39", 3)]),
        ("7:34", [("2:26", "3:26", -7), ("2:26", "5:19", 22), ("3:39", "5:19", -7)]),
        ("8:14", [("6:39", "7:39", -3), ("6:39", "8:26", 11)]),
        ("8:20", [("0:26", "1:26", -5), ("0:26", "5:19", 36), ("2:26", "5:19", -22)]),
        ("9:01", [("6:39", "8:26", -11), ("6:39", "8:46", 12)]),
    ]
    ends = [end for end, _ in told]
    scores = (CASES / "user_scores_sessions.csv").read_text()
    found = panes(spark, tmp_path, scores=scores, windows=SESSIONS, ends=ends)
    assert [[it[2:] for it in rows] for rows in found] == [rows for _, rows in told]
