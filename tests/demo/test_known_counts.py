"""The feed gives the known counts of these flights, by plain arithmetic and without Spark."""

from __future__ import annotations

import pandas as pd
import pytest

SIZE, STEP = pd.Timedelta("2h"), pd.Timedelta("30min")


def sliding(events: pd.DataFrame) -> pd.DataFrame:
    """Each event once per window of 2 hours each 30 minutes that holds it, with `window_start`."""
    newest = events["event_time"].dt.floor(STEP)
    starts = [newest - step * STEP for step in range(SIZE // STEP)]
    return pd.concat([events.assign(window_start=start) for start in starts])


@pytest.mark.parametrize(
    ("key", "hourly", "rolling"),
    [
        (["origin"], 21_103, 44_152),
        (["origin", "dest"], 277_253, 931_353),
        (["carrier"], 63_883, 149_123),
    ],
)
def test_windows_with_data(events: pd.DataFrame, key: list[str], hourly: int, rolling: int) -> None:
    assert events.groupby([*key, events["event_time"].dt.floor("1h")]).ngroups == hourly
    memberships = sliding(events[[*key, "event_time"]])
    assert memberships.groupby([*key, "window_start"]).ngroups == rolling
    assert len(memberships) == 1_312_252


@pytest.mark.parametrize(
    ("key", "gap", "merged", "split"),
    [
        (["origin"], "1h", 1_348, 1_362),
        (["origin", "dest"], "3h", 119_910, 120_370),
        (["carrier"], "30min", 31_711, 33_124),
    ],
)
def test_sessions(events: pd.DataFrame, key: list[str], gap: str, merged: int, split: int) -> None:
    pause = events.sort_values("event_time").groupby(key)["event_time"].diff()
    assert (pause.isna() | (pause > pd.Timedelta(gap))).sum() == merged
    assert (pause.isna() | (pause >= pd.Timedelta(gap))).sum() == split


def test_totals(events: pd.DataFrame) -> None:
    assert events["distance"].sum() == 344_081_194
    assert events["arr_delay"].sum() == 2_257_174
    assert events["arr_delay"].notna().sum() == 327_346


@pytest.mark.parametrize(("lateness", "dropped"), [("6h", 795), ("12h", 1), ("24h", 0)])
def test_rows_dropped_in_hourly_batches_of_one_hour_windows(
    events: pd.DataFrame, lateness: str, dropped: int
) -> None:
    # A batch is judged by the newest event time of all batches before it.
    batch = events["arrival_time"].dt.floor("1h")
    watermark_after = events.groupby(batch)["event_time"].max().cummax()
    watermark = batch.map(watermark_after.shift())
    closes_at = events["event_time"].dt.floor("1h") + pd.Timedelta("1h") + pd.Timedelta(lateness)
    assert (watermark >= closes_at).sum() == dropped
