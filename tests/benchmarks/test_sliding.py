"""Sliding windows at every minute over bids, against neighbours in the same run and to the same checksum.

Raw Parquet goes in; out come the number of windows and the sum of each result column, which must be equal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from pipelines.aggregates import (
    accumulate_columns,
    event_values,
    finish_columns,
    operation_of,
    part_columns,
)
from pipelines.aggregates.sharing import shared
from pipelines.aggregates.sums import ROWS
from pipelines.finalise.parts import StatePart
from pipelines.finalise.planner import plan_of
from pipelines.finalise.sliding import sliding_states
from pipelines.spec import Aggregate, Sliding
from tests.benchmarks.neighbours import (
    CHANGES,
    EVERY_STEP,
    MINUTE_US,
    Checksum,
    checksum,
    duckdb_checksum,
    polars_checksum,
    spark_windows,
)
from tests.benchmarks.nexmark import BIDS, write_bids

Measured = list[tuple[str, str, str]]

ROUNDS = 4
AGGREGATES = [
    Aggregate(name="bids", op="count"),
    Aggregate(name="paid", op="sum", of="price"),
    Aggregate(name="mean", op="avg", of="price"),
    Aggregate(name="least", op="min", of="price"),
    Aggregate(name="most", op="max", of="price"),
]


@dataclass
class Cost:
    """What the runs of one contender took, beside the windows that it found and the sums of their results."""

    sums: Checksum = ()
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The best of the warm runs: others share the machine."""
        return min(self.wall[1:] or self.wall)

    @property
    def cpu_seconds(self) -> float:
        return min(self.cpu[1:] or self.cpu)

    @property
    def windows(self) -> float:
        return self.sums[0]


@pytest.fixture(scope="session")
def bids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bids(tmp_path_factory.mktemp("nexmark") / "bids")


def frames_of(spark: SparkSession, bids: Path) -> DataFrame:
    """Frames of a minute, with the parts of all aggregates."""
    at_us = F.unix_micros("event_time")
    values = [column.alias(name) for name, column in event_values(AGGREGATES, at_us).items()]
    frame_us = (at_us - F.pmod(at_us, F.lit(MINUTE_US))).alias("_frame_us")
    events = spark.read.parquet(str(bids)).select("bidder", frame_us, *values)
    return events.groupBy("bidder", "_frame_us").agg(*accumulate_columns(AGGREGATES))


def sash_windows(spark: SparkSession, bids: Path, *, size: int) -> DataFrame:
    """The windows by the planner's choice, results and all."""
    frames, repeated = frames_of(spark, bids), shared(AGGREGATES)
    parts = [
        StatePart(column=f"{aggregate.name}__{part.name}", part=part, kind=LongType())
        for aggregate in AGGREGATES
        for part in operation_of(aggregate).parts
        if f"{aggregate.name}__{part.name}" not in repeated
    ]
    parts.append(StatePart(column="event_count", part=ROWS, kind=LongType()))
    sliding = Sliding(size_us=size * MINUTE_US, step_us=MINUTE_US)
    plan = plan_of(parts, shape=sliding, frame_us=MINUTE_US)
    states = sliding_states(frames, parts, key=["bidder"], plan=plan)
    whole = [F.col(repeated.get(column, column)).alias(column) for column in part_columns(AGGREGATES)]
    wide = states.select("bidder", "window_start_us", *whole)
    return wide.select("bidder", "window_start_us", *finish_columns(AGGREGATES, wide.schema))


def race(contenders: dict[str, Callable[[], Checksum]], *, rounds: int = ROUNDS) -> dict[str, Cost]:
    """Every contender in turn, round after round; all must come to the same."""
    costs = {name: Cost() for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            cpu, started = cpu_seconds(), time.monotonic()
            costs[name].sums = run()
            costs[name].wall.append(time.monotonic() - started)
            costs[name].cpu.append(cpu_seconds() - cpu)
    agree(*costs.values())
    return costs


def agree(first: Cost, *others: Cost) -> None:
    """Fail unless all have found the same windows and events, and sums as near as doubles come."""
    for other in others:
        near = [math.isclose(*pair, rel_tol=1e-9) for pair in zip(first.sums, other.sums, strict=True)]
        assert other.sums[:2] == first.sums[:2] and all(near), (other.sums, first.sums)


def cpu_seconds() -> float:
    """Of this process and of the JVM under it."""
    here = psutil.Process()
    times = [process.cpu_times() for process in [here, *here.children(recursive=True)]]
    return sum(it.user + it.system for it in times)


@pytest.mark.parametrize(("size", "duckdb_aim", "polars_aim"), [(100, 1.5, 2.5), (1000, 5.0, 2.0)])
def test_against_duckdb_and_polars(
    spark: SparkSession, bids: Path, measured: Measured, *, size: int, duckdb_aim: float, polars_aim: float
) -> None:
    costs = race(
        {
            "Sash": lambda: checksum(sash_windows(spark, bids, size=size)),
            "DuckDB given change points": partial(duckdb_checksum, bids, size, query=CHANGES),
            "Polars given change points": partial(polars_checksum, bids, size),
        }
    )
    costs |= race({"DuckDB": partial(duckdb_checksum, bids, size, query=EVERY_STEP)}, rounds=1)
    ours = costs["Sash"]
    agree(ours, costs["DuckDB"])
    told = ", ".join(
        f"{name} {cost.seconds:.1f} s ({cost.cpu_seconds:.1f} of CPU)" for name, cost in costs.items()
    )
    measured.append((f"{size:,} frames a window, {ours.windows:,.0f} windows", told, ""))
    faster = costs["DuckDB"].seconds / ours.seconds
    measured.append(
        (f"DuckDB's RANGE window against ours, {size:,} frames", f"{faster:.1f} ×", f"{duckdb_aim} ×")
    )
    faster = costs["DuckDB given change points"].seconds / ours.seconds
    measured.append(("the same given our change points", f"{faster:.1f} ×", ""))
    slower = ours.seconds / costs["Polars given change points"].seconds
    measured.append((f"ours against Polars, {size:,} frames", f"{slower:.1f} ×", f"{polars_aim} × or less"))


@pytest.mark.parametrize("share", [10, 1])
def test_against_spark_s_own_window(
    spark: SparkSession, tmp_path: Path, measured: Measured, share: int
) -> None:
    bids = write_bids(tmp_path / "bids", bids=BIDS // share)
    ours = race({"Sash": lambda: checksum(sash_windows(spark, bids, size=100))})["Sash"]
    theirs = race({"F.window": lambda: checksum(spark_windows(spark, bids, size=100))}, rounds=1)["F.window"]
    agree(ours, theirs)
    told = f"{theirs.seconds / ours.seconds:.0f} × ({theirs.seconds:.0f} s against {ours.seconds:.1f} s)"
    measured.append((f"F.window against ours, 100 frames, {BIDS // share:,} bids", told, "25 ×"))


def test_a_result_costs_no_more_where_windows_are_longer(
    spark: SparkSession, bids: Path, measured: Measured
) -> None:
    costs = {
        size: race({"it": lambda size=size: checksum(sash_windows(spark, bids, size=size))})["it"]
        for size in (10, 1000)
    }
    each = {size: 1e6 * cost.cpu_seconds / cost.windows for size, cost in costs.items()}
    told = f"{each[1000] / each[10]:.2f} × ({each[1000]:.2f} against {each[10]:.2f} µs)"
    measured.append(("CPU a result at 1,000 frames a window against 10", told, "1 × or less"))
