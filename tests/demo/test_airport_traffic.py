"""The demo's spec and expectations are about the flights as they are: each figure that they name is true."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from demo.flights import SCHEMA
from demo.place import ROOT, SPEC
from pipelines.checks import load_suite
from pipelines.spec import frame_us, load

EXPECTATIONS = ROOT / "expectations" / "airport_traffic.yml"
HALF_HOUR_US = 30 * 60 * 1_000_000


@pytest.fixture(scope="module")
def told() -> str:
    """The comments of the expectations, in one line."""
    lines = EXPECTATIONS.read_text().splitlines()
    return " ".join(line.strip(" #") for line in lines if line.strip().startswith("#"))


def test_the_spec_has_a_source_for_each_airport_and_one_frame_for_both_windows() -> None:
    pipeline = load(SPEC)
    assert [source.name for source in pipeline.sources] == ["ewr", "jfk", "lga"]
    assert frame_us(pipeline) == HALF_HOUR_US
    assert pipeline.expectations == EXPECTATIONS


def test_the_spec_finds_the_files_of_every_day(feed_folder: Path) -> None:
    pipeline = load(SPEC)
    year = {f"{day:%Y-%m-%d}" for day in pd.date_range("2013-01-01", "2014-01-01")}
    for source in pipeline.sources:
        pattern = str(source.path).removeprefix("data/flights/").replace("{from:%Y-%m-%d}", "*")
        assert {path.name.partition("=")[2] for path in feed_folder.glob(pattern)} == year


def test_the_expectations_are_about_columns_that_the_events_have() -> None:
    selected = {name for name, _ in load(SPEC).sources[0].select}
    for expectation in load_suite(EXPECTATIONS).at("events"):
        assert set(expectation.columns) <= {*SCHEMA.names, *selected}


def test_every_figure_in_the_comments_is_one_that_is_checked_here(told: str) -> None:
    figures = {
        "8,713",
        "336,776",
        "8,255",
        "458",
        "7,560",
        "2400",
        "29",
        "150",
        "4",
        "8",
        "717",
        "25",
        "2013",
    }
    assert set(re.findall(r"\d+(?:,\d{3})*", told)) == figures


def test_cancelled_flights(flights: pd.DataFrame) -> None:
    broken = flights[flights["event_time"].isna()]
    assert len(flights) == 336_776
    assert len(broken) == 8_713
    assert broken["dep_clock"].isna().sum() == 8_255
    assert broken["dep_clock"].notna().sum() == 458


def test_guards_that_find_nothing(events: pd.DataFrame) -> None:
    assert set(events["origin"]) == {"EWR", "JFK", "LGA"}
    assert (events["arrival_time"] >= events["event_time"]).all()


def test_unknown_airports(events: pd.DataFrame) -> None:
    unknown = events[events["dest_name"].isna()]
    assert set(unknown["dest"]) == {"BQN", "PSE", "SJU", "STT"}
    assert len(unknown) == 7_560


def test_clocks_that_show_2400(events: pd.DataFrame) -> None:
    assert (events["dep_clock"] > 2359).sum() == (events["dep_clock"] == 2400).sum() == 29
    assert (events["arr_clock"] > 2359).sum() == (events["arr_clock"] == 2400).sum() == 150


def test_implausible_speeds(events: pd.DataFrame) -> None:
    miles_per_hour = 60 * events["distance"] / events["air_time"]
    assert (miles_per_hour > 600).sum() == 4
    assert (miles_per_hour < 100).sum() == 8


def test_flights_that_landed_elsewhere(events: pd.DataFrame) -> None:
    assert events["arr_delay"].isna().sum() == 717


def test_the_most_that_left_in_half_an_hour(events: pd.DataFrame) -> None:
    assert events.groupby(["origin", events["event_time"].dt.floor("30min")]).size().max() == 25


def test_hours_of_the_night_with_one_flight_that_left_very_late(events: pd.DataFrame) -> None:
    hours = events.groupby(["origin", events["event_time"].dt.floor("1h")])["arr_delay"].agg(["mean", "size"])
    very_late = hours[hours["mean"] > 600]
    assert 0 < len(very_late) < 5
    assert (very_late["size"] == 1).all()
