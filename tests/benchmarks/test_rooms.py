"""Tumbling windows and sessions by the rooms alone, raw Parquet to a checksum, against Spark's own windows.

No stage, ledger or pane is about them: what the two-stage aggregation itself costs. The frame table of the
tumbling windows is written to Delta and read again; with sessions nothing is written by either.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.accumulate import accumulate, partial_frames, partial_sessions
from pipelines.aggregates import finish_columns
from pipelines.ingest import fated, read_rows, to_events
from pipelines.spec import Pipeline, load
from tests.benchmarks.neighbours import Checksum, checksum
from tests.benchmarks.nexmark import BIDS, write_bids
from tests.benchmarks.test_walk import CONTESTS, DAY, SPEC, Contest

Measured = list[tuple[str, str, str]]
ROUNDS = 4
AIMS = {"tumbling": "1.2 × its time or less", "sessions": "0.5 × its time or less"}


@pytest.fixture(scope="module")
def bids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bids(tmp_path_factory.mktemp("rooms") / "bids")


def states_of(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    """The states of all bids, each event judged as in a batch."""
    (source,) = pipeline.sources
    rows = read_rows(spark, source, batch=DAY, home=pipeline.home)
    events = fated(to_events(rows, source, batch=DAY), pipeline, watermark_us=None)
    return accumulate(events, pipeline, watermark_us=None, by_substream=False)


def finished(states: DataFrame, pipeline: Pipeline) -> Checksum:
    results = finish_columns(pipeline.aggregates, states.schema)
    return checksum(states.select(*pipeline.key, *results))


def ours(spark: SparkSession, folder: Path, *, pipeline: Pipeline) -> Checksum:
    states = states_of(spark, pipeline)
    if pipeline.windows[0].name == "sessions":
        return finished(partial_sessions(states, pipeline), pipeline)
    frames = partial_frames(states, pipeline, watermark_us=None)
    frames.write.format("delta").mode("overwrite").save(str(folder))
    return finished(spark.read.format("delta").load(str(folder)), pipeline)


def theirs(spark: SparkSession, bids: Path, *, contest: Contest) -> Checksum:
    groups = spark.read.parquet(str(bids)).groupBy("bidder", contest.by_spark())
    results = [F.count("*"), F.sum("price"), F.avg("price"), F.min("price"), F.max("price")]
    return checksum(groups.agg(*results).toDF("bidder", "window", "bids", "paid", "mean", "least", "most"))


def best_of(run: Callable[[], Checksum]) -> tuple[float, Checksum]:
    """Seconds of the best warm run, and what it came to."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.monotonic()
        found = run()
        seconds.append(time.monotonic() - started)
    return min(seconds[1:]), found


@pytest.mark.parametrize("contest", CONTESTS[1:], ids=lambda it: it.what)
def test_the_rooms_against_spark_s_own_windows(
    spark: SparkSession, bids: Path, tmp_path: Path, measured: Measured, contest: Contest
) -> None:
    spec = tmp_path / "bids.yml"
    spec.write_text(SPEC.format(bids=bids, windows=contest.windows.replace("it:", f"{contest.what}:")))
    pipeline = load(spec)
    our_seconds, published = best_of(lambda: ours(spark, tmp_path / "frames", pipeline=pipeline))
    their_seconds, found = best_of(lambda: theirs(spark, bids, contest=contest))
    # Sums of doubles depend on their order.
    assert published == pytest.approx(found, rel=1e-9)
    told = f"{our_seconds / their_seconds:.2f} × its time ({our_seconds:.1f} s against {their_seconds:.1f} s)"
    measured.append(
        (f"the rooms against Spark's own, {contest.what}, {BIDS:,} bids", told, AIMS[contest.what])
    )
