"""A picture of one airport's windows: how many flights left in each hour, and how late they landed.

It is drawn from rows of the table `windows` and nothing else, as anyone who reads that table could.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, SOFT, LINES = "#1f2d3a", "#73808c", "#e4e9ed"
PALE, SEA, EMBER = "#c5d5e0", "#4a90b8", "#d1495b"
EPOCH = pd.Timestamp(0, tz="UTC")
HOUR = 1 / 24
"""Everything along the time axis is in days since 1970."""


def draw(windows: pd.DataFrame, picture: Path, *, title: str, told: str) -> None:
    """Writes a PNG of one key's windows `hourly` and `rolling`: a title, and a line told below it."""
    hourly, rolling = (
        windows[windows["window"] == name].sort_values("window_start") for name in ("hourly", "rolling")
    )
    figure = Figure(figsize=(13, 7.4), dpi=130, facecolor="white")
    counts, delays = figure.subplots(2, 1, sharex=True, height_ratios=(2, 3))
    figure.subplots_adjust(left=0.06, right=0.985, top=0.84, bottom=0.06, hspace=0.22)
    draw_counts(counts, hourly)
    draw_delays(delays, hourly, rolling=rolling)
    for axes in (counts, delays):
        dress(axes)
    mark_days(delays, hourly)
    figure.text(0.06, 0.95, title, fontsize=19, fontweight="bold", color=INK)
    figure.text(0.06, 0.912, told, fontsize=11.5, color=SOFT)
    figure.savefig(picture)


def draw_counts(axes: Axes, hourly: pd.DataFrame) -> None:
    """A bar for each hour, with those of its flights that landed late at the foot."""
    starts = in_days(hourly["window_start"])
    late = "landed more than 15 minutes late"
    axes.bar(starts, hourly["flights"], width=HOUR, align="edge", color=PALE, label="flights")
    axes.bar(starts, hourly["delayed"], width=HOUR, align="edge", color=EMBER, label=late)
    axes.set_title("Departures an hour", loc="left", fontsize=11.5, color=INK, pad=8)


def draw_delays(axes: Axes, hourly: pd.DataFrame, *, rolling: pd.DataFrame) -> None:
    """A dot for each hour, larger for more flights, under the line of the rolling mean."""
    axes.axhline(0, color=SOFT, linewidth=0.9, zorder=1)
    axes.scatter(
        middle(hourly),
        hourly["mean_delay"],
        s=6 + 2.2 * hourly["flights"],
        color=SEA,
        alpha=0.5,
        linewidths=0,
        zorder=2,
        label="hourly windows, larger with more flights",
    )
    line = with_gaps(rolling)
    axes.plot(
        middle(line),
        line["mean_delay"],
        color=INK,
        linewidth=1.7,
        zorder=3,
        label="rolling windows, 2 hours every 30 minutes",
    )
    axes.set_title("Mean delay at landing, minutes", loc="left", fontsize=11.5, color=INK, pad=8)


def in_days(instants: pd.Series[pd.Timestamp]) -> pd.Series[float]:
    """Days since 1970."""
    return (instants - EPOCH).dt.total_seconds() / 86_400


def middle(windows: pd.DataFrame) -> pd.Series[float]:
    """Where a window is drawn."""
    return (in_days(windows["window_start"]) + in_days(windows["window_end"])) / 2


def with_gaps(rolling: pd.DataFrame) -> pd.DataFrame:
    """The windows, with an empty row wherever one does not follow on the one before: there the line ends."""
    pause = rolling["window_start"].diff()
    empty = rolling[pause > pause.min()].assign(mean_delay=float("nan"))
    both: pd.DataFrame = pd.concat([empty, rolling])
    return both.sort_values("window_start", kind="stable")


def dress(axes: Axes) -> None:
    """Light lines behind, no frame, and the legend out of the way of the data."""
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=LINES, linewidth=0.9)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelcolor=SOFT, labelsize=10)
    axes.margins(y=0.06)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1.0, 0.985),
        ncols=2,
        frameon=False,
        fontsize=10,
        labelcolor=SOFT,
        borderaxespad=0.2,
        handlelength=1.4,
    )


def mark_days(axes: Axes, hourly: pd.DataFrame) -> None:
    """Whole days of UTC, each named at its middle."""
    starts = pd.date_range(hourly["window_start"].min().floor("D"), hourly["window_end"].max().ceil("D"))
    edges = in_days(starts.to_series())
    axes.set_xlim(edges.iloc[0], edges.iloc[-1])
    axes.set_xticks(edges.iloc[:-1] + 12 * HOUR, [f"{day:%a, %b} {day.day}" for day in starts[:-1]])
    for panel in axes.figure.axes:
        for edge in edges:
            panel.axvline(edge, color=LINES, linewidth=0.9, zorder=0)
