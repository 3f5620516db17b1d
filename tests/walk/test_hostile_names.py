"""Names and values that would mean something to SQL, to a path or to a pattern mean nothing here."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyarrow import parquet
from pyspark.sql import SparkSession

from tests.cli.conftest import INSTANT, Place, day, place

__all__ = ["place"]

TOWN, SUM = "a\"b'c--\\$x%2F", "sum'of\"it--\\1"
VALUES = [
    "' OR 1=1 --",
    '"; DROP TABLE windows',
    "../../x",
    "line\nbreak",
    "day=2024-01-01",
    "{to}",
    "💧",
    "",
]
SPEC = f"""\
name: rides
source: {{format: parquet, path: data/rides, event_time: at, arrival_time: arrived}}
key: [{json.dumps(TOWN)}]
aggregates:
  {json.dumps(SUM)}: {{sum: fare}}
windows:
  1h: {{tumbling: 1 hour, panes: {{early: each batch, mode: retracting}}}}
  per-visit: {{session: 1 hour}}
schedule: {{start: 2024-01-01}}
"""


def write(place: Place, fare: int, *, column: str = TOWN) -> None:
    """A ride in each town on each of two days, and on the second a late one."""
    rides = [(town, fare, day(it, 7), day(it, 8)) for it in (1, 2) for town in VALUES]
    rides += [(town, 100, day(1, 5), day(2, 9)) for town in VALUES]
    towns, fares, events, arrivals = zip(*rides, strict=True)
    kinds = (pa.string(), pa.int64(), INSTANT, INSTANT)
    names = (column, "fare", "at", "arrived")
    arrays = [pa.array(it, kind) for it, kind in zip((towns, fares, events, arrivals), kinds, strict=True)]
    path = place.home / "data" / "rides" / "part-0.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(dict(zip(names, arrays, strict=True))), path)


def totals(place: Place) -> set[tuple[str, str, str, int]]:
    rows = DeltaTable(Path(place.store) / "rides" / "windows").to_pyarrow_table().to_pylist()
    return {(it["window"], f"{it['window_start']:%d %H}", it[TOWN], it[SUM]) for it in rows}


def wanted(fare: int) -> set[tuple[str, str, str, int]]:
    return {
        (window, f"0{it} 07", town, fare)
        for window in ("1h", "per-visit")
        for it in (1, 2)
        for town in VALUES
    }


@pytest.mark.slow
def test_they_go_through_every_command(place: Place, spark: SparkSession):
    place.spec.write_text(SPEC)
    write(place, 1)
    both = ("--from", "2024-01-01", "--to", "2024-01-03")
    assert place.sash("validate").code == 0
    assert place.sash("explain").code == 0
    ran = place.sash("run", *both, "--every", "1d", "--final", "--yes")
    assert ran.code == 0, ran.err
    assert totals(place) == wanted(1)
    late = DeltaTable(Path(place.store) / "rides" / "late_events").to_pyarrow_table().to_pylist()
    assert {(it["window"], it[TOWN]) for it in late} == {
        (window, town) for window in ("1h", "per-visit") for town in VALUES
    }
    write(place, 2)
    for number in (1, 2):
        bounds = ("--from", f"2024-01-0{number}", "--to", f"2024-01-0{number + 1}")
        assert place.sash("plan", *bounds).code == 0
        assert place.sash("run", *bounds).code == 0
    assert totals(place) == wanted(2)
    quoted = TOWN.replace('"', '""')
    for town in VALUES:
        text = town.replace("'", "''")
        shown = place.sash("show", "windows", "--where", f"\"{quoted}\" = '{text}'", "--format", "json")
        assert shown.code == 0, shown.err
        assert [json.loads(line)[SUM] for line in shown.out.splitlines()] == [2] * 4
    assert place.sash("maintain").code == 0
    assert place.sash("replay", "late").code == 0
    healed = {(window, "01 05", town, 100) for window in ("1h", "per-visit") for town in VALUES}
    assert totals(place) == wanted(2) | healed
    assert sorted(path.name for path in place.home.iterdir()) == ["dags", "data", "var"]
    assert [path.name for path in Path(place.store).iterdir()] == ["rides"]


@pytest.mark.slow
def test_names_that_sash_s_own_columns_begin_or_end_with_are_nobody_s(place: Place, spark: SparkSession):
    source = "arrival_time: arrived, event_id: {of: [us], within: 1 day}}"
    spec = SPEC.replace(json.dumps(TOWN), "at").replace("arrival_time: arrived}", source)
    spec = spec.replace("event_time: at", "event_time: then").replace("mode: retracting", "mode: discarding")
    place.spec.write_text(spec)
    instants, numbers = ([day(1, 7), day(1, 7), day(2, 7)], INSTANT), ([1, 1, 2], pa.int64())
    columns = {"at": numbers, "us": numbers, "fare": numbers, "then": instants, "arrived": instants}
    path = place.home / "data" / "rides" / "part-0.parquet"
    path.parent.mkdir(parents=True)
    parquet.write_table(pa.table({name: pa.array(*column) for name, column in columns.items()}), path)
    ran = place.sash("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d", "--final", "--yes")
    assert ran.code == 0, ran.err
    rows = DeltaTable(Path(place.store) / "rides" / "windows").to_pyarrow_table().to_pylist()
    assert sorted((it["window"], it["at"], it[SUM]) for it in rows) == [
        (window, number, number) for window in ("1h", "per-visit") for number in (1, 2)
    ]


@pytest.mark.slow
def test_a_column_that_delta_cannot_hold_is_refused_before_anything_is_written(
    place: Place, spark: SparkSession
):
    place.spec.write_text(SPEC.replace(json.dumps(TOWN), "city"))
    write(place, 1, column="city); DROP TABLE x; --")
    refused = place.sash("run", "--from", "2024-01-01", "--to", "2024-01-02")
    assert refused.code == 2, refused.out
    assert "city); DROP TABLE x; --" in refused.err
    assert not list(Path(place.store).glob("*/windows"))
