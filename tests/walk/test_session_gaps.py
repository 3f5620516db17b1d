"""A gap met exactly, a tick less and a tick more, in whatever order three events come."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.walk.published import rows_of

GAP = 10_000_000
SPEC = """
name: gaps
source: {format: parquet, path: data, event_time: event_time, arrival_time: arrival_time}
key: [order, apart]
aggregates: {total: {sum: number}}
time: {max_disorder: 1 day}
windows:
  merge: {session: 10 s}
  split: {session: 10 s, touching: split}
"""
ROWS = pa.schema(
    {
        "order": pa.string(),
        "apart": pa.int64(),
        "number": pa.int64(),
        "event_time": pa.timestamp("us", tz="UTC"),
        "arrival_time": pa.timestamp("us", tz="UTC"),
    }
)
FIRST, SECOND = Interval(0, 10 * GAP), Interval(10 * GAP, 20 * GAP)
#   Of the three events, by their place in time: in which order they are read, batch by batch.
ORDERS = {
    "as they happened": [(0, FIRST), (1, FIRST), (2, FIRST)],
    "reversed": [(2, FIRST), (1, FIRST), (0, FIRST)],
    "reversed batch by batch": [(2, FIRST), (1, SECOND), (0, SECOND)],
    "the one between last": [(2, FIRST), (0, FIRST), (1, SECOND)],
}
#   Those at even places are a session each, until the ones between them come.
BRIDGES = {
    "a bridge": [(0, FIRST), (2, FIRST), (1, SECOND)],
    "two bridges": [(4, FIRST), (0, FIRST), (2, FIRST), (3, SECOND), (1, SECOND)],
}
Totals = dict[tuple[int, int], int]


@pytest.fixture(scope="module")
def stands(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """The windows of events in a row, for each order and distance."""
    folder = tmp_path_factory.mktemp("gaps")
    for name in ("data", "dags"):
        (folder / name).mkdir()
    rows = [
        {
            "order": order,
            "apart": apart,
            "number": 2**place,
            "event_time": place * apart,
            "arrival_time": batch.start_us,
        }
        for order, told in (ORDERS | BRIDGES).items()
        for apart in (GAP - 1, GAP, GAP + 1)
        for place, batch in told
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=ROWS), folder / "data" / "rows.parquet")
    (folder / "dags" / "gaps.yml").write_text(SPEC)
    site = Site(spark, str(folder / "store"), load(folder / "dags" / "gaps.yml"))
    for batch in (FIRST, SECOND):
        list(run_batch(site, Request(batch=batch, final=batch == SECOND)))
    return rows_of(folder / "store" / "gaps" / "windows")


def told(stands: list[dict], touching: str, *, apart: int) -> list[Totals]:
    """Of each order the totals, by where sessions start and end."""
    mine = [it for it in stands if (it["window"], it["apart"]) == (touching, apart)]
    return [
        {(it["start"], it["end"]): it["total"] for it in mine if it["order"] == order} for order in ORDERS
    ]


def one_session(apart: int) -> list[Totals]:
    return [{(0, 2 * apart + GAP): 7}] * len(ORDERS)


def three_sessions(apart: int) -> list[Totals]:
    return [{(place * apart, place * apart + GAP): 2**place for place in range(3)}] * len(ORDERS)


@pytest.mark.parametrize("touching", ["merge", "split"])
def test_a_tick_less_than_the_gap_apart_is_one_session(stands: list[dict], touching: str) -> None:
    assert told(stands, touching, apart=GAP - 1) == one_session(GAP - 1)


def test_exactly_the_gap_apart_is_one_session_where_touching_ones_merge(stands: list[dict]) -> None:
    assert told(stands, "merge", apart=GAP) == one_session(GAP)


def test_exactly_the_gap_apart_is_a_session_each_where_they_are_split(stands: list[dict]) -> None:
    assert told(stands, "split", apart=GAP) == three_sessions(GAP)


@pytest.mark.parametrize("touching", ["merge", "split"])
def test_a_tick_more_than_the_gap_apart_is_a_session_each(stands: list[dict], touching: str) -> None:
    assert told(stands, touching, apart=GAP + 1) == three_sessions(GAP + 1)


def test_events_in_reverse_order_make_the_same_sessions(stands: list[dict]) -> None:
    for touching in ("merge", "split"):
        for apart in (GAP - 1, GAP, GAP + 1):
            as_they_happened, *others = told(stands, touching, apart=apart)
            assert others == [as_they_happened] * 3


@pytest.mark.parametrize(("order", "places"), [("a bridge", 3), ("two bridges", 5)])
@pytest.mark.parametrize(("touching", "apart"), [("merge", GAP - 1), ("merge", GAP), ("split", GAP - 1)])
def test_a_bridging_event_joins_two_sessions_and_two_of_them_join_three(
    stands: list[dict], order: str, places: int, touching: str, apart: int
) -> None:
    mine = [
        (it["start"], it["end"], it["total"])
        for it in stands
        if (it["window"], it["apart"], it["order"]) == (touching, apart, order)
    ]
    assert mine == [(0, (places - 1) * apart + GAP, 2**places - 1)]
