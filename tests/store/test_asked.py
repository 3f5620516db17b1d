"""What delta-rs tells of a table, and what it copies into another: days, instants and types of all kinds."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql.types import ArrayType, DecimalType, DoubleType, MapType

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.store import copies, small
from pipelines.store.asked import (
    are_any,
    as_instant,
    counts_in,
    day_of,
    days_in,
    first_of,
    rows_in,
    stretches_in,
)
from pipelines.store.copies import Stored, copy, may_copy
from pipelines.store.fence import Fence
from pipelines.store.files import bytes_on, rows_on
from pipelines.store.tables import BATCH, BOUNDS, INSTANT, INT, LONG, TEXT, Columns, Folder

DAY_US = 86_400_000_000
NAMED: Columns = {'a "b" `C`': TEXT, **BOUNDS}
RESULTS: Columns = {
    "money": DecimalType(38, 9),
    "mean": DoubleType(),
    "names": ArrayType(TEXT),
    "of": MapType(TEXT, LONG),
}
PANES: Columns = {**NAMED, **RESULTS, "event_count": LONG, "batch_start": INSTANT, "revision": INT}
WINDOWS: Columns = {**NAMED, **RESULTS, "event_count": LONG, "closes_at": INSTANT, "revision": INT}
SESSIONS: Columns = {"user": TEXT, **BOUNDS, "total": LONG, "event_count": LONG}
PARTIAL: Columns = {**SESSIONS, "source": TEXT, **BATCH}
STARTS = {
    "first": (EARLIEST_US, date(1, 1, 1)),
    "before the first": (EARLIEST_US - 5 * DAY_US, date(1, 1, 1)),
    "a tick before 1970": (-1, date(1969, 12, 31)),
    "1970": (0, date(1970, 1, 1)),
    "the last tick of a day": (DAY_US - 1, date(1970, 1, 1)),
    "last": (LATEST_US, date(9999, 12, 31)),
    "of all time": (None, date(1, 1, 1)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Panes of a window that starts at each of these instants."""
    made = Folder(root=str(tmp_path / "pipeline"))
    small.create(made, "panes", columns=PANES)
    small.create(made, "windows", columns=WINDOWS)
    rows = [
        {
            'a "b" `C`': None if name == "1970" else name,
            "window": "it",
            "window_start": start_us,
            "window_end": start_us,
            "mean": float("nan"),
            "names": ["a", None],
            "of": {"a": 1},
            "event_count": 1,
            "batch_start": 7,
            "revision": 0,
        }
        for name, (start_us, _) in STARTS.items()
    ]
    small.append(small.open_table(made, "panes"), rows)
    return made


@pytest.fixture
def partial(tmp_path: Path) -> Folder:
    """Two partial sessions of one batch, one of them at the end of the day."""
    made = Folder(root=str(tmp_path / "partial"))
    small.create(made, "partial_sessions", columns=PARTIAL)
    small.create(made, "sessions", columns=SESSIONS)
    of_batch = {"batch_start": 7, "batch_end": 8, "event_count": 1, "source": "it", "window": "visits"}
    rows = [{**of_batch, "total": at, "window_start": at, "window_end": at + 9} for at in (0, DAY_US - 1)]
    small.append(small.open_table(made, "partial_sessions"), rows)
    return made


@pytest.mark.parametrize("name", STARTS)
def test_an_instant_falls_on_the_day_that_spark_would_say(folder: Folder, name: str) -> None:
    start_us, day = STARTS[name]
    where = "window_start IS NULL" if start_us is None else f"CAST(window_start AS BIGINT) = {start_us}"
    assert days_in(folder, "panes", instant="window_start", where=where) == [day]
    assert first_of(folder, "panes", instant="window_start", where=where) == start_us


def test_a_day_is_told_with_the_stretch_of_its_instants(folder: Folder, partial: Folder) -> None:
    found = stretches_in(folder, "panes", instant="window_start", where="true")
    assert found == {
        date(1, 1, 1): Interval(EARLIEST_US, EARLIEST_US + 1),
        date(1969, 12, 31): Interval(-1, 0),
        date(1970, 1, 1): Interval(0, DAY_US),
        date(9999, 12, 31): Interval(LATEST_US, LATEST_US + 1),
    }
    assert stretches_in(partial, "partial_sessions", instant="window_start", where="total = 0") == {
        date(1970, 1, 1): Interval(0, 1)
    }


def test_what_is_not_there_has_no_days_and_no_first(folder: Folder) -> None:
    assert not are_any(folder, "panes", where="revision = 1")
    assert days_in(folder, "panes", instant="window_start", where="revision = 1") == []
    assert first_of(folder, "panes", instant="window_start", where="revision = 1") is None
    assert counts_in(folder, "panes", column="revision", where="revision = 1") == {}
    assert stretches_in(folder, "panes", instant="window_start", where="revision = 1") == {}
    assert rows_in(folder, "panes", where="revision = 1") == 0


def test_what_is_there_is_counted(folder: Folder) -> None:
    assert are_any(folder, "panes", where="revision = 0")
    assert counts_in(folder, "panes", column="window", where="true") == {"it": len(STARTS)}
    days = {day for _, day in STARTS.values()}
    assert days_in(folder, "panes", instant="window_start", where="true") == sorted(days)
    assert rows_on(folder, "panes", days=[date(1970, 1, 1)]) == len(STARTS)
    assert rows_on(folder, "panes", days=[date(1970, 1, 2)]) == 0
    assert bytes_on(folder, "panes", days=[date(1970, 1, 1)]) > 0


def copied(folder: Folder, attempt: int) -> None:
    at_us = f"least(coalesce(CAST(window_end AS BIGINT), {LATEST_US}) + 5, {LATEST_US})"
    columns = {"closes_at": as_instant(at_us), "day": day_of("window_start")}
    rows = Stored("panes", day=date(1970, 1, 1), where="revision = 0")
    copy(folder, "windows", rows=rows, columns=columns, fence=Fence("windows", attempt))


def test_rows_are_copied_whole_each_to_its_day(folder: Folder) -> None:
    copied(folder, 1)
    before, after = (small.read(small.open_table(folder, name)) for name in ("panes", "windows"))
    shared = [*NAMED, "names", "of", "event_count"]
    assert sorted(str([row[name] for name in shared]) for row in after) == sorted(
        str([row[name] for name in shared]) for row in before
    )
    starts = dict(STARTS.values())
    assert {row["window_start"]: row["day"] for row in after} == starts
    assert all(
        row["closes_at"] == (LATEST_US if row["window_end"] in (None, LATEST_US) else row["window_end"] + 5)
        for row in after
    )


def test_copies_are_as_small_as_what_spark_writes(folder: Folder) -> None:
    copied(folder, 1)
    assert all(path.endswith(".snappy.parquet") for path in DeltaTable(folder.path("windows")).file_uris())


def test_an_attempt_copies_once_and_none_that_was_taken_over(folder: Folder) -> None:
    copied(folder, 2)
    version = DeltaTable(folder.path("windows")).version()
    copied(folder, 2)
    copied(folder, 1)
    assert DeltaTable(folder.path("windows")).version() == version


def test_lists_maps_and_many_bytes_are_left_to_spark(
    folder: Folder, partial: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = date(1970, 1, 1)
    sessions = Stored("partial_sessions", day=day, where="true")
    assert not may_copy(folder, Stored("panes", day=day, where="true"), days=1)
    assert may_copy(partial, sessions, days=1)
    monkeypatch.setattr(copies, "MOST_BYTES_OF_MANY_DAYS", 1)
    assert may_copy(partial, sessions, days=8)
    assert not may_copy(partial, sessions, days=9)
    monkeypatch.setattr(copies, "MOST_BYTES", 1)
    assert not may_copy(partial, sessions, days=1)
    assert may_copy(partial, sessions._replace(day=date(1970, 1, 2)), days=1)
