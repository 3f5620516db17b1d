"""Bids as Nexmark describes them, the same whatever wrote them: row `i` is a function of the seed and of `i`.

Of the public description: three quarters of all bids come from the hot bidder, who is every hundredth
person and changes as people join; the rest come from anyone; a price is `100 · 10^(6u)`; some bids arrive
late. Here people are as many as there are keys, and they all join within one day. For what a hot key alone
costs, `one_is_hot` lets the first hot bidder stay so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

BIDS = int(os.environ.get("SASH_BENCH_EVENTS", "4000000"))
BIDDERS = 10_000
HOT_EVERY = 100
HOT_SHARE = 0.75
DAY_START_US = 1_577_836_800_000_000
DAY_US = 86_400_000_000
SEED = 2020
ROWS_AT_ONCE = 500_000

Uniform = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

SCHEMA = pa.schema(
    [
        ("bidder", pa.int64()),
        ("auction", pa.int64()),
        ("price", pa.int64()),
        ("event_time", pa.timestamp("us", tz="UTC")),
        ("arrival_time", pa.timestamp("us", tz="UTC")),
    ]
)


def write_bids(
    folder: Path, *, bids: int = BIDS, hot_share: float = HOT_SHARE, one_is_hot: bool = False
) -> Path:
    """A folder of one Parquet file with so many bids, in order of their numbers."""
    folder.mkdir(parents=True)
    with pq.ParquetWriter(folder / "bids.parquet", SCHEMA) as writer:
        for rows in _cut(bids):
            table = columns(rows, bids=bids, hot_share=hot_share, one_is_hot=one_is_hot)
            writer.write_table(pa.table(table, schema=SCHEMA))
    return folder


def columns(rows: Numbers, *, bids: int, hot_share: float, one_is_hot: bool = False) -> dict[str, pa.Array]:
    """The columns of the bids of those numbers."""
    newest = rows * BIDDERS // bids
    hot = np.ones_like(rows) if one_is_hot else newest // HOT_EVERY * HOT_EVERY + 1
    anyone = (_uniform(rows, draw=1) * BIDDERS).astype(np.int64)
    at_us = DAY_START_US + (rows * (DAY_US / bids)).astype(np.int64)
    late = _uniform(rows, draw=4) < 0.1
    delay_us = np.where(late, _uniform(rows, draw=5) * 60_000_000, 0.0).astype(np.int64)
    return {
        "bidder": pa.array(np.where(_uniform(rows, draw=0) < hot_share, hot, anyone)),
        "auction": pa.array((_uniform(rows, draw=2) * BIDDERS).astype(np.int64)),
        "price": pa.array(np.round(100 * 10 ** (6 * _uniform(rows, draw=3))).astype(np.int64)),
        "event_time": pa.array(at_us).cast(SCHEMA.field("event_time").type),
        "arrival_time": pa.array(at_us + delay_us).cast(SCHEMA.field("arrival_time").type),
    }


def _cut(bids: int) -> Iterator[Numbers]:
    for first in range(0, bids, ROWS_AT_ONCE):
        yield np.arange(first, min(first + ROWS_AT_ONCE, bids), dtype=np.int64)


def _uniform(rows: Numbers, *, draw: int) -> Uniform:
    """A number in `[0, 1)` for each row and draw: the finish of splitmix64."""
    mixed = rows.astype(np.uint64) * np.uint64(16) + np.uint64(draw) + np.uint64(SEED << 40)
    mixed = mixed * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return (mixed >> np.uint64(11)).astype(np.float64) / float(1 << 53)
