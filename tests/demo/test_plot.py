"""The picture is of the windows that there are: no line leads over hours without any."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from demo.plot import draw, in_days, middle, with_gaps

START = pd.Timestamp("2013-02-05", tz="UTC")


def windows(name: str, *, hours: list[float], size: str) -> pd.DataFrame:
    starts = pd.Series([START + pd.Timedelta(hours=hour) for hour in hours])
    return pd.DataFrame(
        {
            "window": name,
            "window_start": starts,
            "window_end": starts + pd.Timedelta(size),
            "flights": 12,
            "delayed": 3,
            "mean_delay": 4.5,
        }
    )


#      0     0.5    1     1.5    2     2.5    3
#      |------|------|                  |------|
def test_the_line_ends_where_a_window_does_not_follow_on_the_one_before() -> None:
    line = with_gaps(windows("rolling", hours=[0, 0.5, 1, 2.5, 3], size="2h"))
    assert list(line["mean_delay"].isna()) == [False, False, False, True, False, False]


def test_the_line_is_whole_where_every_window_follows_on_the_one_before() -> None:
    rolling = windows("rolling", hours=[0, 0.5, 1], size="2h")
    assert with_gaps(rolling).equals(rolling)


def test_a_window_is_drawn_at_its_middle() -> None:
    noon = in_days(pd.Series([START + pd.Timedelta(hours=12)]))
    assert middle(windows("hourly", hours=[11.5], size="1h")).iloc[0] == pytest.approx(noon.iloc[0])


def test_a_picture_is_a_png_of_more_than_a_thousand_pixels(tmp_path: Path) -> None:
    both = pd.concat(
        [
            windows("hourly", hours=[0, 1, 30], size="1h"),
            windows("rolling", hours=[0, 0.5, 1, 30], size="2h"),
        ]
    )
    picture = tmp_path / "windows.png"
    draw(both, picture, title="Three hours", told="Of two days.")
    content = picture.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(content[16:20], "big") > 1000
