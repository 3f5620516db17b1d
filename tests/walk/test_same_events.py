"""Every aggregate says the same of the same events, in whatever kind of window they are."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.aggregates.registry import OPERATIONS
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch

SECOND = 1_000_000
AGGREGATES = """
  rows: count
  total: {sum: number}
  cost: {sum: money}
  mean: {avg: number}
  mean_cost: {avg: money}
  least: {min: word}
  most: {max: real}
  spread: {variance: real}
  spread_of_all: {variance_pop: number}
  width: {stddev: money}
  width_of_all: {stddev_pop: real}
  lean: {skewness: real}
  tail: {kurtosis: number}
  both: {covariance: real, by: number}
  alike: {correlation: number, by: real}
  trend: {linear_trend: number, by: real}
  opening: {first: word}
  closing: {last: number}
  nearest: {min_by: word, by: real}
  farthest: {max_by: real, by: number}
  best: {top: real, n: 3}
  worst: {bottom: number, n: 4}
  is_any: {any: number > 40}
  are_all: {all: number > -100}
  ands: {bit_and: number}
  ors: {bit_or: number}
  parity: {bit_xor: number}
  kinds: {distinct: word}
  about: {approx_distinct: number}
  middle: {approx_quantile: real, q: [0.5, 0.9]}
  frequent: {approx_top_k: word, k: 2}
  counts: {histogram: word}
  path: {collect_list: number}
  words: {collect_set: word}
  squares: {custom: "tests.aggregates.mine:SUM_OF_SQUARES", of: number}
  some: {sum: number, where: "word <> 'b'"}
"""
SPEC = """
name: same
source: {format: parquet, path: data, event_time: event_time, arrival_time: arrival_time}
time: {max_disorder: 1 hour}
key: [user]
"""
#   event time   0 s         600 s |--- all events ---| 660 s       1,000 s
WINDOWS = """
windows:
  tumbling: {tumbling: 60 s}
  sliding: {sliding: 120 s, step: 60 s}
  slid: {sliding: 480 s, step: 60 s}
  growing: {cumulate: 120 s, step: 60 s}
  session: {session: 60 s}
  bounded: {session: 60 s, max: 1000 s}
  counted: {custom: "tests.windows.bursts:MANY"}
  shifted: {tumbling: 100 s, unaligned: length(user)}
  own: {tumbling: length}
  ever: {global: true}
"""
MANY = {"sliding": 2, "slid": 8, "growing": 2}
"""In how many windows of these each event is; in one of all others."""
ROWS = pa.schema(
    {
        "user": pa.string(),
        "number": pa.int64(),
        "money": pa.decimal128(12, 2),
        "real": pa.float64(),
        "word": pa.string(),
        "length": pa.float64(),
        "event_time": pa.timestamp("us", tz="UTC"),
        "arrival_time": pa.timestamp("us", tz="UTC"),
    }
)
Row = dict[str, object]


def rows_of(seed: int) -> list[Row]:
    """Forty events of two keys within a minute, with nulls; half of them arrive a batch later."""
    chosen = random.Random(seed)
    return [
        {
            "user": "ab"[number % 2],
            "number": chosen.choice([None, *range(-50, 50)]),
            "money": chosen.choice([None, Decimal(chosen.randrange(-999, 999)).scaleb(-2)]),
            "real": chosen.choice([None, *[chosen.uniform(-9, 9) for _ in range(9)]]),
            "word": chosen.choice([None, *"abc"]),
            "length": 1000.0,
            "event_time": (602 + chosen.randrange(56)) * SECOND,
            "arrival_time": (700 + number // 20 * 100) * SECOND,
        }
        for number in range(40)
    ]


def windows_of(store: Path) -> list[Row]:
    rows: list[Row] = DeltaTable(store / "same" / "windows").to_pyarrow_table().to_pylist()
    return rows


def alike(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other


@pytest.mark.slow
def test_every_aggregate_says_the_same_in_every_kind_of_window(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "data").mkdir()
    spec = tmp_path / "dags" / "same.yml"
    spec.write_text(f"{SPEC}aggregates:{AGGREGATES}{WINDOWS}")
    pq.write_table(pa.Table.from_pylist(rows_of(5), schema=ROWS), tmp_path / "data" / "rows.parquet")
    site = Site(spark, str(tmp_path / "store"), load(spec))
    assert {it.op for it in site.pipeline.aggregates} == {*OPERATIONS}
    for start, final in ((700, False), (800, True)):
        batch = Interval(start * SECOND, (start + 100) * SECOND)
        list(run_batch(site, Request(batch=batch, final=final)))
    found = windows_of(tmp_path / "store")
    names = [it.name for it in site.pipeline.windows]
    assert len(found) == 2 * sum(MANY.get(name, 1) for name in names)
    results = [*[it.name for it in site.pipeline.aggregates], "event_count"]
    for user in "ab":
        mine = [row for row in found if row["user"] == user]
        (first,) = [row for row in mine if row["window"] == "tumbling"]
        assert first["event_count"] == 20 and first["total"] is not None
        differ = [
            (row["window"], name, row[name], first[name])
            for row in mine
            for name in results
            if not alike(row[name], first[name])
        ]
        assert differ == []
