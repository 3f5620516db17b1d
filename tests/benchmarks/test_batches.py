"""A batch of an hour with little and with ten times as much history behind it: seconds, files, bytes.

`SASH_BENCH_EVENTS` is the larger history, ten million events unless told; the other is a tenth of it.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from pipelines.store import small
from pipelines.store.ledger import read_rows
from tests.benchmarks.conftest import EVENTS

Measured = list[tuple[str, str, str]]
AN_HOUR = 100_000
"""Events."""
HOUR_US = 3_600_000_000
END_US = 438_000 * HOUR_US
MICRO_US, MICRO_BATCHES = 10_000_000, 30_000
"""Three and a half days of a batch every ten seconds."""
SPEC = """
name: hours
source: {format: parquet, path: "data/{from:%Y%m%d%H}", event_time: event_time, arrival_time: arrival_time}
key: [user]
aggregates: {events: {count: "*"}, total: {sum: number}, most: {max: number}}
windows: {rolling: {sliding: 3 hours, step: 1 hour, allowed_lateness: 2 hours}}
"""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of a batch: seconds, data files added and removed by table, bytes written in all and into `windows`,
    and the seconds that are none of its own: before its first commit, and after its last.
    """

    seconds: float
    files: Counter[str]
    written: int
    results: int
    ready: float


WITH_IDS = SPEC.replace("source: {", "source: {event_id: {of: [user, event_time]}, ")
BOUNDED = WITH_IDS.replace("event_time]}", "event_time], within: 6 hours}")


class Hours:
    """A pipeline whose batches are hours, in a folder; each of its frames has `of_a_frame` events."""

    def __init__(
        self, spark: SparkSession, folder: Path, *, history: int, spec: str = SPEC, of_a_frame: int = 10
    ) -> None:
        (folder / "dags").mkdir(parents=True)
        (folder / "dags" / "hours.yml").write_text(spec)
        self.spark, self.folder, self.keys = spark, folder, AN_HOUR // of_a_frame
        self.site = Site(spark, str(folder / "store"), load(folder / "dags" / "hours.yml", home=folder))
        hours = history // AN_HOUR
        self.run(Interval(END_US - hours * HOUR_US, END_US))

    def run(self, batch: Interval, *, again: bool = False) -> Cost:
        if not again:
            self.write(batch)
        before, started = set(self.commits()), time.time()
        list(run_batch(self.site, Request(batch=batch)))
        ended = time.time()
        mine = [it for it in self.commits() if it not in before]
        adds = [
            (it.parents[1].name, action["add"]["size"])
            for it in mine
            for action in actions(it)
            if "add" in action
        ]
        removed = [it.parents[1].name for it in mine for action in actions(it) if "remove" in action]
        written = [it.stat().st_mtime for it in mine]
        return Cost(
            seconds=ended - started,
            files=Counter([table for table, _ in adds] + removed),
            written=sum(size for _, size in adds),
            results=sum(size for table, size in adds if table == "windows"),
            ready=min(written) - started + ended - max(written),
        )

    def commits(self) -> list[Path]:
        return list((self.folder / "store").glob("hours/*/_delta_log/*.json"))

    def write(self, batch: Interval) -> None:
        """The events of a batch, in the folder that it reads."""
        count = (batch.end_us - batch.start_us) // HOUR_US * AN_HOUR
        at = F.timestamp_micros(F.lit(batch.start_us) + F.col("id") * F.lit(HOUR_US // AN_HOUR))
        folder = self.folder / "data" / time.strftime("%Y%m%d%H", time.gmtime(batch.start_us // 1_000_000))
        self.spark.range(count).select(
            F.pmod("id", F.lit(self.keys)).alias("user"),
            F.pmod(F.xxhash64("id"), F.lit(1000)).alias("number"),
            at.alias("event_time"),
            at.alias("arrival_time"),
        ).write.parquet(str(folder))


def actions(commit: Path) -> Iterator[dict]:
    return map(json.loads, commit.read_text().splitlines())


@pytest.mark.parametrize("of_a_frame", [10, 1])
def test_an_hour_costs_the_same_whatever_is_behind_it(
    spark: SparkSession, tmp_path: Path, measured: Measured, of_a_frame: int
) -> None:
    little = Hours(spark, tmp_path / "little", history=EVENTS // 10, of_a_frame=of_a_frame)
    much = Hours(spark, tmp_path / "much", history=EVENTS, of_a_frame=of_a_frame)
    hours = [Interval(END_US + it * HOUR_US, END_US + (it + 1) * HOUR_US) for it in range(4)]
    pairs = [(little.run(hour), much.run(hour)) for hour in hours]
    # The first of each warms up.
    few, many = (min(costs, key=lambda it: it.seconds) for costs in zip(*pairs[1:], strict=True))
    behind = f"{EVENTS // of_a_frame:,} frames behind it against {EVENTS // 10 // of_a_frame:,}"
    what = f"a batch of {AN_HOUR:,} events with {behind}"
    told = f"{many.seconds / few.seconds:.2f} × ({many.seconds:.1f} s against {few.seconds:.1f} s)"
    measured.append((what, told, "1.3 × or less"))
    assert many.files == few.files
    measured.append(("its data files added and removed", f"{many.files.total()}, the same", "the same"))
    # The first of these warms up as well.
    _, *costs = [little.run(hours[-1], again=True) for _ in range(4)]
    again = min(costs, key=lambda it: it.seconds)
    told = f"{again.seconds / few.seconds:.2f} × ({again.seconds:.1f} s, {again.files.total()} files)"
    measured.append(("the same batch once more with the same data", told, "0.5 × or less"))
    measured.append(("from the last commit of a batch to the first of the next", f"{few.ready:.1f} s", ""))
    measured.append(("bytes written for a byte of `windows`", f"{few.written / few.results:.1f}", ""))


def test_a_batch_costs_the_same_however_many_ran_before(
    spark: SparkSession, tmp_path: Path, measured: Measured
) -> None:
    few, many = (Hours(spark, tmp_path / name, history=AN_HOUR) for name in ("few", "many"))
    (row,) = read_rows(many.site.tables)
    ends_us = [row.batch.start_us - it * MICRO_US for it in range(MICRO_BATCHES)]
    older = [replace(row, batch=Interval(end_us - MICRO_US, end_us)) for end_us in ends_us]
    small.append(small.open_table(many.site.tables, "runs"), [it.values() for it in older])
    hours = [Interval(END_US + it * HOUR_US, END_US + (it + 1) * HOUR_US) for it in range(6)]
    pairs = [(few.run(hour), many.run(hour)) for hour in hours]
    # The first of each warms up.
    alone, behind = (min(cost.seconds for cost in costs) for costs in zip(*pairs[1:], strict=True))
    told = f"{behind / alone:.2f} × ({behind:.1f} s against {alone:.1f} s)"
    measured.append((f"a batch after {MICRO_BATCHES:,} others against after one", told, "1.3 × or less"))


def test_what_it_costs_to_know_duplicates(spark: SparkSession, tmp_path: Path, measured: Measured) -> None:
    plain = Hours(spark, tmp_path / "plain", history=EVENTS // 10)
    knowing = Hours(spark, tmp_path / "knowing", history=EVENTS // 10, spec=WITH_IDS)
    bounded = Hours(spark, tmp_path / "bounded", history=EVENTS // 10, spec=BOUNDED)
    hours = [Interval(END_US + it * HOUR_US, END_US + (it + 1) * HOUR_US) for it in range(4)]
    ran = [(plain.run(hour), knowing.run(hour), bounded.run(hour)) for hour in hours]
    bare, dear, near = (min(costs, key=lambda it: it.seconds) for costs in zip(*ran[1:], strict=True))
    for what, cost in {f"{EVENTS // 10:,} ids remembered": dear, "those of six hours": near}.items():
        told = f"{cost.seconds / bare.seconds:.2f} × ({cost.seconds:.1f} s against {bare.seconds:.1f} s)"
        measured.append((f"the same with event_id, {what}", told, ""))
    told = f"{dear.written / bare.written:.1f} ×"
    measured.append(("bytes that it writes, against without", told, ""))
