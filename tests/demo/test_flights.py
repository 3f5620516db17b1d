"""The feed holds every flight of the year, in the file and at the instant that the rules say."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from demo.flights import COMPLETE, SCHEMA, feed_of, prepare
from pipelines.spec.reserved import LATE_EVENT_COLUMNS, RESULT_COLUMNS

AIRPORTS = pd.DataFrame(
    {
        "faa": ["BOS", "LAX"],
        "name": ["General Edward Lawrence Logan Intl", "Los Angeles Intl"],
        "tzone": ["America/New_York", "America/Los_Angeles"],
    }
)


def test_every_flight_of_the_year_is_a_row_that_arrives(flights: pd.DataFrame) -> None:
    assert len(flights) == 336_776
    assert flights["arrival_time"].notna().all()
    assert flights["event_time"].notna().sum() == 328_063


def test_a_flight_that_is_not_whole_arrives_when_it_was_due_to_leave(flights: pd.DataFrame) -> None:
    broken = flights[flights["event_time"].isna()]
    assert (broken["arrival_time"] == broken["sched_dep"]).all()
    assert (broken["dep_clock"].isna() | broken["arr_clock"].isna()).all()


def test_a_whole_flight_arrives_within_21_hours_of_its_departure(events: pd.DataFrame) -> None:
    elapsed = events["arrival_time"] - events["event_time"]
    assert (elapsed.min(), elapsed.max()) == (pd.Timedelta("33min"), pd.Timedelta("20h25min"))


def test_a_flight_is_never_in_the_air_for_longer_than_it_took(events: pd.DataFrame) -> None:
    elapsed = (events["arrival_time"] - events["event_time"]).dt.total_seconds() / 60
    assert (elapsed[events["air_time"].notna()] > events["air_time"].dropna()).all()


def test_the_clock_in_new_york_shows_the_recorded_departure(events: pd.DataFrame) -> None:
    local = events["event_time"].dt.tz_convert("America/New_York").dt
    assert (local.hour * 100 + local.minute == events["dep_clock"] % 2400).all()


def test_nine_of_ten_events_come_after_a_later_one(events: pd.DataFrame) -> None:
    in_order = events.sort_values("arrival_time", kind="stable")["event_time"]
    assert (in_order < in_order.cummax()).mean() == pytest.approx(0.90, abs=0.005)


def test_carrier_flight_schedule_and_origin_name_a_flight_once(flights: pd.DataFrame) -> None:
    assert not flights.duplicated(["carrier", "flight", "sched_dep", "origin"]).any()


def test_a_file_holds_the_arrivals_of_its_origin_and_day_and_no_others(flights: pd.DataFrame) -> None:
    assert (flights["origin"] == flights["file_origin"]).all()
    assert (flights["arrival_time"].dt.strftime("%Y-%m-%d") == flights["file_day"]).all()
    assert flights.groupby(["file_origin", "file_day"]).ngroups == 3 * 366


def test_every_file_has_the_same_columns_and_none_of_sash(feed_folder: Path) -> None:
    files = list(feed_folder.glob("*/*/part-0.parquet"))
    assert all(pq.read_schema(file).equals(SCHEMA) for file in files)
    assert not set(SCHEMA.names) & (LATE_EVENT_COLUMNS | RESULT_COLUMNS)


def test_a_feed_that_is_whole_is_left_alone(feed_folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in feed_folder.rglob("*")}
    assert not prepare(feed_folder)
    assert {path: path.stat().st_mtime_ns for path in feed_folder.rglob("*")} == before


def test_a_feed_that_is_not_whole_is_written_anew(tmp_path: Path) -> None:
    flights = tmp_path / "flights.csv"
    flights.write_text(
        "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,arr_delay,carrier,flight,tailnum,origin,dest,"
        "air_time,distance\n2013,1,1,,600,,,,XX,1,,LGA,BOS,,184\n"
    )
    airports = tmp_path / "airports.csv"
    AIRPORTS.to_csv(airports, index=False)
    folder = tmp_path / "feed"
    (folder / "EWR").mkdir(parents=True)
    (folder / "EWR" / "half of a file").touch()
    assert prepare(folder, (flights, airports))
    assert not prepare(folder, (flights, airports))
    paths = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    assert paths == ["LGA/arrival_day=2013-01-01/part-0.parquet", COMPLETE]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["airports.csv", "feed", "flights.csv"]


@pytest.mark.parametrize(
    ("scheduled", "dep_delay", "arr_time", "dest", "event_time", "arrival_time"),
    [
        # winter: New York is 5 hours behind, Los Angeles 8, Puerto Rico 4
        ("01-01 0600", 0, 731, "BOS", "01-01 11:00", "01-01 12:31"),
        ("01-01 0600", -5, 731, "BOS", "01-01 10:55", "01-01 12:31"),
        ("01-01 0600", 0, 731, "LAX", "01-01 11:00", "01-01 15:31"),
        ("01-01 0600", 0, 1031, "SJU", "01-01 11:00", "01-01 14:31"),
        # summer: 4, 7 and still 4
        ("07-01 0600", 0, 731, "LAX", "07-01 10:00", "07-01 14:31"),
        ("07-01 0600", 0, 1031, "SJU", "07-01 10:00", "07-01 14:31"),
        # the first such clock time at or after departure
        ("01-01 2300", 0, 2301, "BOS", "01-02 04:00", "01-02 04:01"),
        ("01-01 2300", 0, 2300, "BOS", "01-02 04:00", "01-02 04:00"),
        ("01-01 2300", 0, 2259, "BOS", "01-02 04:00", "01-03 03:59"),
        ("01-01 2300", 120, 130, "BOS", "01-02 06:00", "01-02 06:30"),
        # midnight, written as people write it and as clocks do
        ("01-01 2300", 0, 2400, "BOS", "01-02 04:00", "01-02 05:00"),
        ("01-01 2300", 0, 0, "BOS", "01-02 04:00", "01-02 05:00"),
        ("12-31 2300", 0, 2400, "BOS", "01-01 04:00 2014", "01-01 05:00 2014"),
        # 1:40 comes twice in the night of November 3rd
        ("11-03 0035", 0, 140, "BOS", "11-03 04:35", "11-03 05:40"),
        ("11-03 0035", 70, 140, "BOS", "11-03 05:45", "11-03 06:40"),
        ("11-03 0035", 70, 500, "BOS", "11-03 05:45", "11-03 10:00"),
        # and the hour after 2:00 is left out on March 10th
        ("03-10 0100", 0, 300, "BOS", "03-10 06:00", "03-10 07:00"),
        # no departure, or no landing
        ("01-01 0600", None, None, "BOS", None, "01-01 11:00"),
        ("01-01 0600", 45, None, "BOS", None, "01-01 11:00"),
    ],
)
def test_the_times_of_a_flight(
    scheduled: str,
    dep_delay: float | None,
    arr_time: float | None,
    dest: str,
    event_time: str | None,
    arrival_time: str,
) -> None:
    feed = feed_of(a_flight(scheduled, dep_delay=dep_delay, arr_time=arr_time, dest=dest), AIRPORTS)
    assert instant(feed["event_time"][0]) == event_time
    assert instant(feed["arrival_time"][0]) == arrival_time


def test_an_airport_that_is_not_listed_has_no_name() -> None:
    feed = feed_of(a_flight("01-01 0600", dep_delay=0, arr_time=1031, dest="SJU"), AIRPORTS)
    assert feed["dest_name"].isna().all()


def a_flight(scheduled: str, *, dep_delay: float | None, arr_time: float | None, dest: str) -> pd.DataFrame:
    """One flight as the package has it; `scheduled` is month, day and clock in New York."""
    row = {
        "year": 2013,
        "month": int(scheduled[:2]),
        "day": int(scheduled[3:5]),
        "sched_dep_time": int(scheduled[6:]),
        "dep_time": None,
        "dep_delay": dep_delay,
        "arr_time": arr_time,
        "dest": dest,
    }
    missing = ("carrier", "flight", "tailnum", "origin", "arr_delay", "air_time", "distance")
    return pd.DataFrame([{**dict.fromkeys(missing), **row}]).astype({"dep_delay": float, "arr_time": float})


def instant(at: pd.Timestamp | None) -> str | None:
    """Without its year where that is 2013."""
    if at is None or pd.isna(at):
        return None
    return f"{at:%m-%d %H:%M}" if at.year == 2013 else f"{at:%m-%d %H:%M %Y}"
