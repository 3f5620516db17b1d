"""Definitions that are put together in one pass have the windows that each has alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.combine import TOUCHED, combine
from pipelines.finalise import Concern, concern_of, window_states
from pipelines.finalise.windows import CORRECTED
from pipelines.spec import Pipeline, load
from pipelines.windows import grids_of

pytestmark = pytest.mark.spark

MINUTE, HOUR = 60_000_000, 3_600_000_000
SPEC = """
name: clicks
source: {format: parquet, path: data, event_time: event_time}
key: [user]
aggregates: {clicks: count, total: {sum: number}, most: {max: number}, mean: {avg: number * 1.0D}}
windows:
  hour: {sliding: 1 hour, step: 10 minutes}
  odd: {sliding: 50 minutes, step: 7 minutes, offset: 3 minutes}
  long: {sliding: 24 hours, step: 4 minutes}
  longer: {sliding: 22 hours, step: 10 minutes}
  thin: {sliding: 70 minutes, step: 2 hours, offset: 1 minute}
  few: {sliding: 20 minutes, step: 10 minutes}
  slow: {sliding: 2 hours, step: 5 minutes, allowed_lateness: 3 hours}
  tardy: {sliding: 90 minutes, step: 15 minutes, allowed_lateness: 3 hours}
  soon: {sliding: 30 minutes, step: 2 minutes, panes: {early: each batch}}
  eager: {sliding: 45 minutes, step: 9 minutes, panes: {early: each batch}}
  so_far: {cumulate: 1 hour, step: 5 minutes}
"""


def pipeline_in(folder: Path) -> Pipeline:
    (folder / "dags").mkdir()
    (folder / "dags" / "clicks.yml").write_text(SPEC)
    return load(folder / "dags" / "clicks.yml")


def partials_of(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    """Frames of a minute around 1970, of keys from dense to sparse; null is one."""
    chance = random.Random(7)
    (grid,) = {it.name for it in grids_of(pipeline)}
    rows = [
        (user, chance.randrange(-reach, reach), chance.randrange(-9, 9), chance.random() < 0.3)
        for user, reach, many in ((None, 900, 400), ("ann", 200, 150), ("bob", 900, 9))
        for _ in range(many)
    ]
    raw = spark.createDataFrame(rows, "user STRING, minute BIGINT, number BIGINT, is_touched BOOLEAN")
    start_us = F.col("minute") * F.lit(MINUTE)
    return raw.groupBy("user", "minute").agg(
        F.lit(grid).alias("grid"),
        F.timestamp_micros(F.first(start_us)).alias("frame_start"),
        F.timestamp_micros(F.first(start_us) + MINUTE).alias("frame_end"),
        F.count("*").alias("clicks__rows"),
        F.sum("number").alias("total__total"),
        F.count("*").alias("total__rows"),
        F.max("number").alias("most__extreme"),
        F.sum(F.col("number") * 1.0).alias("mean__total"),
        F.count("*").alias("mean__rows"),
        F.count("*").alias("event_count"),
        F.max("is_touched").alias(TOUCHED),
    )


def in_order(states: DataFrame) -> list[str]:
    columns = sorted(states.columns)
    return sorted(str(tuple(row)) for row in states.select(*columns).collect())


def concerns_of(pipeline: Pipeline, *, restated: bool, coarser: bool) -> list[Concern]:
    """Between two watermarks; of two definitions some frames are gone."""
    found = [
        concern_of(it, before_us=-4 * HOUR, after_us=3 * HOUR, restated=restated) for it in pipeline.windows
    ]
    (grid,) = grids_of(pipeline)
    assert grid.coarser_us is not None
    given = [replace(it, coarser_us=grid.coarser_us if coarser else None) for it in found]
    return [it.whole_from(-2 * HOUR) if it.window.name in ("hour", "odd") else it for it in given]


@pytest.mark.parametrize(("restated", "coarser"), [(False, True), (True, False)])
def test_definitions_together_give_what_each_gives_alone(
    spark: SparkSession, tmp_path: Path, restated: bool, coarser: bool
) -> None:
    pipeline = pipeline_in(tmp_path)
    partials = partials_of(spark, pipeline).persist()
    frames = combine(partials, pipeline).drop(TOUCHED).persist()
    is_other = F.pmod(F.unix_micros("frame_start"), F.lit(7)) < 3
    marks = partials.where(TOUCHED).withColumn(CORRECTED, is_other)
    concerns = concerns_of(pipeline, restated=restated, coarser=coarser)

    def states(of: Sequence[Concern]) -> DataFrame:
        return window_states(frames, marks, pipeline=pipeline, concerns=of)

    together = in_order(states(concerns))
    alone = sorted(row for it in concerns for row in in_order(states([it])))
    assert together == alone
    told = {(it.window, it.timing) for it in states(concerns).select("window", "timing").distinct().collect()}
    assert {(it.window.name, "ON_TIME") for it in concerns} <= told
    assert {("soon", "EARLY"), ("eager", "EARLY"), ("slow", "LATE"), ("tardy", "LATE")} <= told
