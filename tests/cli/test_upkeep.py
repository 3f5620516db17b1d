"""`sash maintain` in the middle of a batch, when all files are old enough to be deleted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.cli.conftest import Place, Ride, day
from tests.crash.aging import age

FIRST, SECOND, THIRD = (("--from", f"2024-01-0{it}", "--to", f"2024-01-0{it + 1}") for it in (1, 2, 3))
RIDES: list[Ride] = [
    ("Bern", 10.0, day(1, 7, 30), day(1, 8)),
    ("Bern", 20.0, day(1, 20), day(1, 21)),
    ("Bern", 40.0, day(1, 20, 10), day(2, 1)),
    ("Chur", 5.0, day(2, 1), day(2, 2)),
    ("Bern", 80.0, day(2, 1, 30), day(3, 2)),
    ("Chur", 6.0, day(3, 1), day(3, 2)),
]
COUNTED = ("started_at", "finished_at", "stage_seconds")
TABLES = (
    *("partial_frames", "frames", "partial_sessions", "sessions", "watermarks", "panes", "windows"),
    *("late_events", "quarantine", "checks", "runs"),
)


def contents(place: Place) -> dict[str, list[str]]:
    found = {}
    for table in TABLES:
        rows = DeltaTable(f"{place.store}/rides/{table}").to_pyarrow_table().to_pylist()
        found[table] = sorted(
            str(sorted((name, str(it)) for name, it in row.items() if name not in COUNTED)) for row in rows
        )
    return found


def maintain(place: Place) -> dict[str, tuple[int, int, int]]:
    """By table the files before and after, and how many old ones were deleted."""
    age(Path(place.store) / "rides")
    said = place.sash("maintain")
    assert (said.code, said.err) == (0, "")
    lines = [line.split() for line in said.out.splitlines()[2:]]
    return {name: (int(before), int(after), int(old)) for name, before, after, _, old in lines}


@pytest.mark.slow
def test_a_batch_goes_on_or_is_given_up_after_upkeep_in_its_middle(place: Place, spark: SparkSession):
    calm = replace(place, home=place.home / "calm")
    for there in (place, calm):
        there.home.mkdir(exist_ok=True)
        there.write_spec(("  hourly:", "  visits: {session: 1 hour}\n  hourly:"))
        there.write_rides(RIDES)
        assert there.sash("run", *FIRST).code == 0
    assert calm.sash("run", *SECOND).code == 0
    wanted = contents(calm)

    for stage in ("accumulate", "combine"):
        assert place.sash("stage", stage, *SECOND).code == 0
    assert all(old == 0 for *_, old in maintain(place).values())
    assert place.sash("run", *SECOND).code == 0
    assert contents(place) == wanted
    # Now that nothing is unfinished, old files go.
    upkept = maintain(place)
    assert sum(old for *_, old in upkept.values()) > 0
    assert contents(place) == wanted

    for stage in ("accumulate", "combine", "finalise"):
        assert place.sash("stage", stage, *THIRD).code == 0
    assert all(old == 0 for *_, old in maintain(place).values())
    assert place.sash("abandon", *THIRD).code == 0
    given_up = contents(place)
    assert [row for row in given_up.pop("runs") if "abandoned" not in row] == wanted.pop("runs")
    assert given_up == wanted
