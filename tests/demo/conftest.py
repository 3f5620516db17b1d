"""The feed as it lies on disk, written once for all tests, and the events in it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from demo.flights import prepare


@pytest.fixture(scope="session")
def feed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "flights"
    prepare(folder)
    return folder


@pytest.fixture(scope="session")
def flights(feed_folder: Path) -> pd.DataFrame:
    """Every row of every file, with `file_origin` and `file_day`, what its path says of it."""
    tables = []
    for file in sorted(feed_folder.glob("*/*/part-0.parquet")):
        rows = pq.read_table(file, partitioning=None)
        told = {"file_origin": file.parts[-3], "file_day": file.parts[-2].removeprefix("arrival_day=")}
        for name, value in told.items():
            rows = rows.append_column(name, pa.array([value] * rows.num_rows))
        tables.append(rows)
    flights: pd.DataFrame = pa.concat_tables(tables).to_pandas()
    return flights


@pytest.fixture(scope="session")
def events(flights: pd.DataFrame) -> pd.DataFrame:
    """The flights that have an event time."""
    return flights[flights["event_time"].notna()].reset_index(drop=True)
