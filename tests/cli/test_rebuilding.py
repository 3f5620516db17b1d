"""A rebuild that was cut off between two tables is told, and not run upon."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from pipelines.cli import run
from pipelines.intervals import Interval, to_us
from pipelines.store import small
from pipelines.store.reader import read_ledger, read_table
from pipelines.store.tables import Columns, Folder
from tests.cli.conftest import Place, day, days

BATCH = ("--from", "2024-01-01", "--to", "2024-01-02")
RIDES = [("Bern", 10.0, day(1, 7, 30), day(1, 8)), ("Bern", 20.0, day(1, 20), day(1, 21))]


class CutOff(Exception):
    """The process is gone."""


@pytest.mark.slow
def test_rows_that_a_rebuild_left_when_it_was_cut_off_are_not_run_upon(
    place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    place.write_rides(RIDES)
    assert place.sash("run", *BATCH).code == 0
    recreate = small.recreate

    def cut_off(store: Folder, table: str, *, columns: Columns, still_mine: Callable[[], None]) -> None:
        if table == "panes":
            raise CutOff
        recreate(store, table, columns=columns, still_mine=still_mine)

    with monkeypatch.context() as patched:
        patched.setattr(small, "recreate", cut_off)
        assert place.sash("run", *BATCH, "--rebuild", "--yes").code == 1
    assert read_ledger(place.store, "rides") == []
    for command in ("run", "plan"):
        refused = place.sash(command, *BATCH)
        assert refused.code == 4, "what was left would count twice"
        assert re.search(r"there are rows in .*\bpanes, .*\bwindows", refused.err)
        assert "it is being rebuilt, or a rebuild was cut off" in refused.err
    told = place.sash("status").out
    assert "a rebuild was cut off. If nobody is at it, say it again: `sash run " in told
    assert "--rebuild`" in told and "Next:" not in told
    assert place.sash("run", *BATCH, "--rebuild", "--yes").code == 0
    assert "Next: batch [2024-01-02" in place.sash("status").out
    rows = read_table(place.store, "rides", table="panes", where="window = 'hourly'").to_pylist()
    assert [(row["rides"], row["revision"]) for row in rows] == [(1, 0)]


@pytest.mark.slow
def test_a_batch_is_computed_anew_stage_by_stage(place: Place):
    place.write_rides([*RIDES, ("Bern", 1.0, day(2, 7), day(2, 8))])
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d").code == 0
    assert place.sash("stage", "accumulate", *BATCH, "--rebuild", "--every", "1d").code == 0
    for stage in ("combine", "finalise", "publish"):
        assert place.sash("stage", stage, *BATCH).code == 0
    assert [(row.batch.end_us, row.revision) for row in read_ledger(place.store, "rides")] == [
        (to_us(day(2)), 0)
    ]


@pytest.mark.slow
def test_batches_go_on_after_a_rebuilding_between_them_that_made_frames_longer(
    place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    place.write_rides([*RIDES, ("Bern", 1.0, day(2, 7), day(2, 8))])
    place.write_spec(
        ("hourly: {tumbling: 1 hour}", "hourly: {tumbling: 1 hour}\n  quarter: {tumbling: 15 min}")
    )
    assert place.sash("run", *BATCH).code == 0
    # Frames stay a quarter of an hour long, until somebody rebuilds.
    place.write_spec()
    describes, left = run.described, [True]

    def others(*asked: object, batch: Interval) -> str:
        if batch == days(2, 3) and left:
            left.pop()
            assert place.sash("run", *BATCH, "--rebuild", "--yes").code == 0
        return describes(place.pipeline, place.store, batch=batch)

    monkeypatch.setattr(run, "described", others)
    went_on = place.sash("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d")
    assert (went_on.code, left) == (0, [])
    frames = read_table(place.store, "rides", table="frames").to_pylist()
    assert {it["frame_end"] - it["frame_start"] for it in frames} == {timedelta(minutes=30)}
