"""Definitions that are put together in one pass have the windows that each has alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.accumulate import accumulate, partial_frames
from pipelines.combine import TOUCHED, combine
from pipelines.finalise import Concern, concern_of, window_states, windows
from pipelines.finalise.windows import CORRECTED
from pipelines.ingest import fated, to_events
from pipelines.intervals import LATEST_US, Interval
from pipelines.spec import Pipeline, load
from pipelines.windows import grid_of

pytestmark = pytest.mark.spark

MINUTE, HOUR = 60_000_000, 3_600_000_000
ROWS = "user STRING, number BIGINT, event_us BIGINT, arrival_us BIGINT"
SPEC = """
name: clicks
source: {format: parquet, path: data, event_time: event_time, arrival_time: arrival_time}
key: [user]
aggregates:
  clicks: count
  total: {sum: number}
  most: {max: number}
  mean: {avg: number * 1.0D}
  spread: {variance: number}
  kinds: {distinct: number}
windows:
  hour: {sliding: 1 hour, step: 10 minutes}
  odd: {sliding: 50 minutes, step: 7 minutes, offset: 3 minutes}
  long: {sliding: 24 hours, step: 4 minutes}
  longer: {sliding: 22 hours, step: 10 minutes}
  thin: {sliding: 70 minutes, step: 2 hours, offset: 1 minute}
  few: {sliding: 20 minutes, step: 10 minutes}
  each: {sliding: 5 minutes, step: 1 minute}
  every: {sliding: 9 minutes, step: 1 minute}
  slow: {sliding: 2 hours, step: 5 minutes, allowed_lateness: 3 hours}
  tardy: {sliding: 90 minutes, step: 15 minutes, allowed_lateness: 3 hours}
  held: {sliding: 2 hours, step: 12 minutes, allowed_lateness: 2 hours, panes: {late: {rows: 9}}}
  kept: {sliding: 40 minutes, step: 6 minutes, allowed_lateness: 2 hours, panes: {late: {every: 1 day}}}
  soon: {sliding: 30 minutes, step: 2 minutes, panes: {early: each batch}}
  eager: {sliding: 45 minutes, step: 9 minutes, panes: {early: each batch}}
  came: {sliding: 5 minutes, step: 1 minute, time: arrival}
  so_far: {cumulate: 1 hour, step: 5 minutes}
"""


def pipeline_in(folder: Path) -> Pipeline:
    (folder / "dags").mkdir()
    (folder / "dags" / "clicks.yml").write_text(SPEC)
    return load(folder / "dags" / "clicks.yml")


def partials_of(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    """Partial frames around 1970, of keys from dense to sparse; null is one. Every third is touched."""
    chance = random.Random(7)
    rows = [
        (user, chance.randrange(-9, 9), chance.randrange(-reach, reach) * MINUTE, 0)
        for user, reach, many in ((None, 900, 300), ("ann", 200, 120), ("bob", 900, 9))
        for _ in range(many)
    ]
    raw = spark.createDataFrame([(*row[:3], row[2] + 1) for row in rows], ROWS)
    named = {f"{it}_time": F.timestamp_micros(f"{it}_us") for it in ("event", "arrival")}
    day = Interval(-20 * HOUR, 20 * HOUR)
    events = fated(
        to_events(raw.withColumns(named), pipeline.sources[0], batch=day), pipeline, watermark_us=None
    )
    states = accumulate(events, pipeline, watermark_us=None, by_substream=False)
    partials = partial_frames(states, pipeline, watermark_us=None)
    return partials.withColumn(TOUCHED, F.pmod(F.hash("user", "frame_start"), F.lit(3)) == 0)


def concerns_of(
    pipeline: Pipeline, *, before: int | None, after: int, restated: bool, coarser: bool
) -> list[Concern]:
    """Between two watermarks; of two definitions older frames are gone."""

    def concern(name: str) -> Concern:
        (window,) = [it for it in pipeline.windows if it.name == name]
        found = concern_of(window, before_us=before, after_us=after, restated=restated)
        coarser_us = grid_of(pipeline, name).coarser_us if coarser else None
        made = replace(found, coarser_us=coarser_us)
        return made.whole_from(-2 * HOUR) if name in ("hour", "odd") else made

    return [concern(it.name) for it in pipeline.windows]


def in_order(states: DataFrame) -> list[str]:
    return sorted(str(tuple(row)) for row in states.select(*sorted(states.columns)).collect())


SLOW = [
    (-4 * HOUR, 3 * HOUR, True, False),
    (None, 3 * HOUR, False, False),
    (-HOUR, LATEST_US, False, False),
]
CASES = [(-4 * HOUR, 3 * HOUR, False, True), *[pytest.param(*it, marks=pytest.mark.slow) for it in SLOW]]
ALIKE = [
    ("each", "every"),
    ("hour", "odd", "long", "longer"),
    ("slow", "tardy"),
    ("soon", "eager"),
    ("held", "kept"),
]


@pytest.mark.parametrize(("before", "after", "restated", "coarser"), CASES)
def test_definitions_together_give_what_each_gives_alone(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: int | None,
    after: int,
    restated: bool,
    coarser: bool,
) -> None:
    pipeline = pipeline_in(tmp_path)
    partials = partials_of(spark, pipeline).persist()
    frames = combine(partials, pipeline).drop(TOUCHED).persist()
    is_other = F.pmod(F.hash("frame_start"), F.lit(2)) == 0
    marks = partials.where(TOUCHED).withColumn(CORRECTED, is_other)
    concerns = concerns_of(pipeline, before=before, after=after, restated=restated, coarser=coarser)
    passes: list[set[str]] = []
    slid = windows._slid  # how many go through a pass is not to be seen from outside

    def spying(*given: object, planned: Sequence[tuple[Concern, object]]) -> DataFrame:
        passes.append({concern.window.name for concern, _ in planned})
        return slid(*given, planned=planned)

    monkeypatch.setattr(windows, "_slid", spying)

    def states(of: Sequence[Concern]) -> DataFrame:
        return window_states(frames, marks, pipeline=pipeline, concerns=of)

    together = in_order(states(concerns))
    assert all(any({*names} <= one for one in passes) for names in ALIKE) and len(passes) < len(concerns) - 3
    assert together == sorted(row for it in concerns for row in in_order(states([it])))
    told = {(it.window, it.timing) for it in states(concerns).select("window", "timing").distinct().collect()}
    assert {(it.window.name, "ON_TIME") for it in concerns} <= told
    if after != LATEST_US:
        assert {("soon", "EARLY"), ("eager", "EARLY")} <= told
    if before is not None:
        assert {("slow", "LATE"), ("tardy", "LATE"), ("held", "LATE")} <= told
