"""Windows of every kind over Delta, in one batch and in many, equal plain loops over the same events."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.intervals import EARLIEST_US, Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.oracle.shapes import Bounds, counted_sessions, cumulated, sessions, slid, tumbled

SECOND = 1_000_000
SPEC = """
name: kinds
source:
  {format: parquet, path: data, event_time: event_time, arrival_time: arrival_time, max_disorder: 1 hour}
key: [user]
aggregates: {events: count, total: {sum: number}}
windows:
  tumbling: {tumbling: 10 s}
  sliding: {sliding: 25 s, step: 10 s}
  growing: {cumulate: 60 s, step: 10 s}
  merged: {session: 10 s}
  split: {session: 10 s, touching: split}
  bounded: {session: 10 s, max: 25 s}
  bounded_by_hand: {custom: "tests.windows.bursts:BOUNDED"}
  at_most_three: {custom: "tests.windows.bursts:AT_MOST_THREE"}
  bounded_split: {session: 10 s, max: 25 s, touching: split}
  shifted: {tumbling: 30 s, unaligned: number % 7}
  own: {tumbling: length}
  ever: {global: true}
  arrived: {tumbling: 20 s, time: arrival}
  arrived_sessions: {session: 5 s, time: arrival}
"""
ROWS = pa.schema(
    {
        "user": pa.string(),
        "number": pa.int64(),
        "length": pa.float64(),
        "event_time": pa.timestamp("us", tz="UTC"),
        "arrival_time": pa.timestamp("us", tz="UTC"),
    }
)
SHAPES = SPEC.partition("windows:\n")[2] + "  hashed: {tumbling: 30 s, unaligned: true}\n"
BY_ARRIVAL = SPEC.partition("windows:\n")[0] + "windows:\n"
BY_ARRIVAL += SHAPES.replace(", time: arrival", "").replace("}\n", ", time: arrival}\n")
Row = dict[str, object]
Windows = dict[tuple[object, ...], tuple[int, int]]


def rows_of(seed: int) -> list[Row]:
    """Events on whole seconds, so that gaps are often met exactly; some before 1970, some in reverse."""
    chosen = random.Random(seed)
    rows: list[Row] = []
    for number in range(160):
        at = chosen.randrange(-120, 240) * SECOND
        rows.append(
            {
                "user": chosen.choice(["a", "a", "b", None]),
                "number": number,
                "length": float(chosen.choice([5, 10, 17])),
                "event_time": at,
                "arrival_time": at + chosen.randrange(0, 90) * SECOND,
            }
        )
    return rows


def expected(rows: list[Row]) -> Windows:
    found: Windows = {}

    def add(row: Row, window: str, bounds: Iterable[Bounds | tuple[None, None]]) -> None:
        for start, end in bounds:
            events, total = found.get((row["user"], window, start, end), (0, 0))
            found[row["user"], window, start, end] = (events + 1, total + int(str(row["number"])))

    for row in rows:
        at, arrived = int(str(row["event_time"])), int(str(row["arrival_time"]))
        add(row, "tumbling", tumbled(at, 10 * SECOND))
        add(row, "sliding", slid(at, 25 * SECOND, 10 * SECOND))
        add(row, "growing", cumulated(at, 60 * SECOND, 10 * SECOND))
        add(row, "shifted", tumbled(at, 30 * SECOND, int(str(row["number"])) % 7 * SECOND))
        add(row, "own", tumbled(at, int(float(str(row["length"])) * SECOND)))
        add(row, "ever", [(None, None)])
        add(row, "arrived", tumbled(arrived, 20 * SECOND))
    for window, time, gap, splits, longest in (
        ("merged", "event_time", 10, False, None),
        ("split", "event_time", 10, True, None),
        ("bounded", "event_time", 10, False, 25 * SECOND),
        ("bounded_split", "event_time", 10, True, 25 * SECOND),
        ("arrived_sessions", "arrival_time", 5, False, None),
    ):
        for user in {row["user"] for row in rows}:
            mine = [row for row in rows if row["user"] == user]
            instants = [int(str(row[time])) for row in mine]
            whole = sessions(instants, gap * SECOND, splits=splits, longest=longest)
            for row, at in zip(mine, instants, strict=True):
                held = [max(it for it in whole if it[0] <= at)]
                add(row, window, held)
                if window == "bounded":
                    add(row, "bounded_by_hand", held)
    for user in {row["user"] for row in rows}:
        mine = [row for row in rows if row["user"] == user]
        whole = counted_sessions([int(str(row["event_time"])) for row in mine], 10 * SECOND, most=3)
        for row in mine:
            add(row, "at_most_three", [max(it for it in whole if it[0] <= int(str(row["event_time"])))])
    return found


def arrives_later(row: Row) -> bool:
    return int(str(row["arrival_time"])) >= 20 * SECOND


class Place:
    """A folder with rows and a spec, and the windows that come of it."""

    def __init__(self, spark: SparkSession, folder: Path, rows: list[Row], *, spec: str = SPEC) -> None:
        self.folder = folder
        (folder / "data").mkdir(parents=True)
        (folder / "dags").mkdir()
        (folder / "dags" / "kinds.yml").write_text(spec)
        self.feed(rows)
        self.site = Site(spark, str(folder / "store"), load(folder / "dags" / "kinds.yml"))

    def feed(self, rows: list[Row]) -> None:
        pq.write_table(pa.Table.from_pylist(rows, schema=ROWS), self.folder / "data" / "rows.parquet")

    def run(self, start: int, end: int, *, final: bool = False) -> None:
        batch = Interval(start * SECOND, end * SECOND)
        list(run_batch(self.site, Request(batch=batch, final=final)))

    def table(self, name: str) -> list[Row]:
        whole = DeltaTable(self.folder / "store" / "kinds" / name).to_pyarrow_table()
        for place, field in enumerate(whole.schema):
            if str(field.type).startswith("timestamp"):
                whole = whole.set_column(place, field.name, whole.column(place).cast("int64"))
        return list(whole.to_pylist())

    def windows(self) -> Windows:
        return {
            (row["user"], row["window"], row["window_start"], row["window_end"]): (
                row["events"],
                row["total"],
            )
            for row in self.table("windows")
        }


@pytest.mark.parametrize(
    "cuts", [(-120, 330), pytest.param((-120, -50, 20, 90, 330), marks=pytest.mark.slow)]
)
def test_every_kind_equals_plain_loops(spark: SparkSession, tmp_path: Path, cuts: tuple[int, ...]) -> None:
    rows = rows_of(seed=len(cuts))
    place = Place(spark, tmp_path, rows)
    for start, end in pairwise(cuts):
        place.run(start, end, final=end == cuts[-1])
    found, wanted = place.windows(), expected(rows)
    assert {k: v for k, v in found.items() if wanted.get(k) != v} == {}
    assert {k: v for k, v in wanted.items() if found.get(k) != v} == {}
    frames = place.table("frames")
    assert {row["grid"] for row in frames} == {"aligned", "arrival", "shifted", "own", "ever"}
    assert {row["frame_start"] for row in frames if row["grid"] == "ever"} == {EARLIEST_US}


@pytest.mark.slow
def test_every_kind_by_arrival_equals_plain_loops_over_arrivals(spark: SparkSession, tmp_path: Path) -> None:
    rows = rows_of(seed=3)
    place = Place(spark, tmp_path, rows, spec=BY_ARRIVAL)
    place.run(-120, 20)
    place.run(20, 330, final=True)
    found, wanted = place.windows(), expected([{**row, "event_time": row["arrival_time"]} for row in rows])
    hashed = {k: found.pop(k) for k in list(found) if k[1] == "hashed"}
    assert {k: v for k, v in found.items() if wanted.get(k) != v} == {}
    assert {k: v for k, v in wanted.items() if found.get(k) != v} == {}
    assert sum(events for events, _ in hashed.values()) == len(rows)
    shifts = {(user, int(str(start)) % (30 * SECOND)) for user, _, start, _ in hashed}
    assert len(shifts) == len({user for user, _ in shifts}) == 3
    assert len({shift for _, shift in shifts}) > 1
    assert {int(str(end)) - int(str(start)) for _, _, start, end in hashed} == {30 * SECOND}


@pytest.mark.slow
def test_what_a_restatement_leaves_is_what_the_new_rows_make(spark: SparkSession, tmp_path: Path) -> None:
    rows = rows_of(seed=7)
    place = Place(spark, tmp_path, rows)
    place.run(-120, 20)
    place.run(20, 330, final=True)
    others = [
        row for row in rows if int(str(row["number"])) % 5 or int(str(row["arrival_time"])) >= 20 * SECOND
    ]
    place.feed(others)
    place.run(-120, 20)
    found, wanted = place.windows(), expected(others)
    assert {k: v for k, v in found.items() if wanted.get(k) != v} == {}
    assert {k: v for k, v in wanted.items() if found.get(k) != v} == {}
