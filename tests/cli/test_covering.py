"""A batch in the place of several, with other data: the tables are those of one that ran so at first."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.store.reader import read_ledger, table_path
from tests.cli.conftest import Place, Ride, day, days

WHOLE, COVERED = (
    ("--from", "2024-01-01", "--to", "2024-01-05"),
    ("--from", "2024-01-02", "--to", "2024-01-04"),
)
RIDES: list[Ride] = [
    ("Bern", 1.0, day(1, 7, 30), day(1, 8)),
    ("Bern", 2.0, day(1, 20), day(1, 21)),
    ("Bern", 3.0, day(1, 7), day(2, 1)),  # late whoever judges it
    ("Bern", 4.0, day(2, 8), day(2, 9)),
    ("Chur", 5.0, day(2, 9), day(2, 10)),
    ("Chur", 6.0, day(2, 20), day(2, 21)),
    ("Bern", 7.0, day(2, 8, 30), day(3, 1)),  # late by what the batch before has seen
    ("Bern", 8.0, day(3, 8), day(3, 9)),
    ("Bern", 9.0, day(3, 20), day(3, 21)),
    ("Bern", 10.0, day(3, 8), day(4, 1)),  # late, and its batch is not covered
    ("Chur", 11.0, day(4, 8), day(4, 9)),
]
CHANGED: list[Ride] = [
    *RIDES[:4],
    # Chur at nine is gone.
    *RIDES[5:7],
    ("Bern", 80.0, day(3, 8), day(3, 9)),
    *RIDES[8:],
    ("Genf", 12.0, day(2, 12), day(3, 9)),
]
OF_VALUES = ("city", "window", "window_start", "window_end", "rides", "mean_fare", "event_count")
TOLD = [
    ("Bern", day(2, 8), "insert", 2, 5.5, "LATE", 1, True),
    ("Bern", day(2, 8), "retract", 1, 4.0, "LATE", 1, True),
    ("Bern", day(3, 8), "insert", 1, 80.0, "LATE", 1, True),
    ("Bern", day(3, 8), "retract", 1, 8.0, "LATE", 1, True),
    ("Chur", day(2, 9), "retract", 1, 5.0, "LATE", 1, True),
    ("Genf", day(2, 12), "insert", 1, 12.0, "LATE", 0, True),
]
COMPARED = {
    "windows": OF_VALUES,
    "frames": ("city", "grid", "frame_start", "rides__rows", "event_count"),
    "partial_frames": ("city", "grid", "frame_start", "rides__rows", "batch_start", "batch_end"),
    "late_events": ("city", "fare", "window", "missed", "kept", "watermark", "batch_start", "batch_end"),
}


def rows(place: Place, table: str) -> list[dict]:
    return DeltaTable(table_path(place.store, "rides", table=table)).to_pyarrow_table().to_pylist()


def compared(place: Place) -> dict[str, list[str]]:
    return {
        table: sorted(
            str([row[name] for name in names]) for row in rows(place, table) if row.get("event_count") != 0
        )
        for table, names in COMPARED.items()
    }


def told(place: Place, start: datetime) -> list[tuple]:
    """The panes of the windows by the hour that the batch which begins then has published."""
    names = ("city", "window_start", "kind", "rides", "mean_fare", "timing", "pane_index", "restated")
    mine = [
        it
        for it in rows(place, "panes")
        if it["window"] == "hourly" and it["batch_start"] == start and it["batch_end"] == day(4)
    ]
    return sorted(tuple(it[name] for name in names) for it in mine)


@pytest.mark.slow
def test_batches_that_one_covers_with_other_data_are_abandoned_and_their_windows_corrected(
    place: Place, spark: SparkSession
):
    calm = replace(place, home=place.home / "calm")
    calm.home.mkdir()
    calm.write_spec()
    calm.write_rides(CHANGED)
    place.write_rides(RIDES)
    assert place.sash("run", *WHOLE, "--every", "1d").code == 0
    late = {(it["fare"], it["batch_start"]) for it in rows(place, "late_events")}
    assert late == {(3.0, day(2)), (7.0, day(3)), (10.0, day(4))}
    before = {str(it) for it in rows(place, "panes")}
    place.write_rides(CHANGED)
    refused = place.sash("run", *COVERED)
    assert refused.code == 4 and "--replace" in refused.err

    assert place.sash("run", *COVERED, "--replace").code == 0
    statuses = sorted((it.batch, it.revision, it.status) for it in read_ledger(place.store, "rides"))
    assert statuses == [
        (days(1, 2), 0, "published"),
        (days(2, 3), 0, "abandoned"),
        (days(2, 4), 0, "published"),
        (days(3, 4), 0, "abandoned"),
        (days(4, 5), 0, "published"),
    ]
    assert before < {str(it) for it in rows(place, "panes")}
    assert told(place, day(2)) == TOLD
    late = {(it["fare"], it["batch_start"], it["batch_end"]) for it in rows(place, "late_events")}
    assert late == {(3.0, day(2), day(4)), (10.0, day(4), day(5))}

    for batch in (("2024-01-01", "2024-01-02"), ("2024-01-02", "2024-01-04"), ("2024-01-04", "2024-01-05")):
        assert calm.sash("run", "--from", batch[0], "--to", batch[1]).code == 0
    assert compared(place) == compared(calm)
    # Again the same: nothing changes.
    stood, panes = compared(place), len(rows(place, "panes"))
    assert place.sash("run", *COVERED).code == 0
    assert (compared(place), len(rows(place, "panes"))) == (stood, panes)
