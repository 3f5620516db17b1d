"""Custom windows: the user's function says which intervals an event is in, and Sash does the rest."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.errors import CorrectTheSpec
from pipelines.intervals import Interval, to_us
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from pipelines.windows import Proto, window_function
from pipelines.windows.custom import assigned, grouped, groups_of
from tests.windows.bursts import AT_MOST_THREE, LOSING, EveryTen

SPEC = """
name: trades
source:
  format: csv
  path: trades.csv
  options: {header: true}
  schema: "price INT, at TIMESTAMP"
  event_time: at
key: []
aggregates: {trades: count, total: {sum: price}}
windows: {days: {custom: "tests.windows.business_days:NEW_YORK"}}
"""
#  Daylight saving began on Sunday 10 March 2024: until then midnight is at 5:00 of UTC, afterwards at 4:00.
#  It ended on Sunday 3 November.
TRADES = """price,at
1,2024-03-08T04:59:59Z
2,2024-03-08T05:00:00Z
4,2024-03-10T12:00:00Z
8,2024-03-11T03:59:59Z
16,2024-03-11T04:00:00Z
32,2024-11-01T03:59:59Z
64,2024-11-01T04:00:00Z
128,2024-11-04T04:59:59Z
256,2024-11-04T05:00:00Z
"""


#  The last has no time that can be read: it is quarantined, and no function is asked about it.
SOME = """price,at
0,1970-01-01T00:00:01Z
1,1970-01-01T00:00:01Z
2,1970-01-01T00:00:03Z
2,yesterday
"""


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_function_alone_may_put_an_event_into_no_interval_or_several(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "trades.csv").write_text(SOME)
    spec = SPEC.replace("business_days:NEW_YORK", "bursts:BY_PRICE")
    (tmp_path / "dags" / "trades.yml").write_text(spec)
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "trades.yml"))
    list(run_batch(site, Request(batch=Interval(0, 10_000_000), final=True)))
    stored = {
        name: DeltaTable(tmp_path / "store" / "trades" / name).to_pyarrow_table().to_pylist()
        for name in ("windows", "runs")
    }
    totals = [(to_us(row["window_end"]) // 1_000_000, row["total"]) for row in stored["windows"]]
    assert sorted(totals) == [(2, 1), (4, 2), (5, 2)]
    (run,) = stored["runs"]
    assert (run["ingested"], run["accepted"], run["quarantined"]) == (4, 3, 1)


def test_a_function_is_given_columns_that_begin_with_an_underscore_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "trades.csv").write_text("_id,at\n1,1970-01-01T00:00:01Z\n")
    spec = SPEC.replace("business_days:NEW_YORK", "bursts:BY_ID").replace("price INT", "_id INT")
    (tmp_path / "dags" / "trades.yml").write_text(spec.replace(", total: {sum: price}", ""))
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "trades.yml"))
    list(run_batch(site, Request(batch=Interval(0, 10_000_000), final=True)))
    (window,) = DeltaTable(tmp_path / "store" / "trades" / "windows").to_pyarrow_table().to_pylist()
    assert to_us(window["window_end"]) == 2_000_000


def test_by_arrival_time_no_window_may_have_ended_when_its_event_came(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "trades.csv").write_text("price,at\n1,1970-01-01T00:00:02Z\n")
    before = 'custom: "tests.windows.bursts:BEFORE"'
    by_event = SPEC.replace('custom: "tests.windows.business_days:NEW_YORK"', before)
    sites = []
    for name, text in {
        "event": by_event,
        "arrival": by_event.replace("BEFORE", 'BEFORE", time: "arrival'),
    }.items():
        path = tmp_path / "dags" / f"{name}.yml"
        path.write_text(text)
        sites.append(Site(spark, str(tmp_path / f"store-{name}"), load(path)))
    request = Request(batch=Interval(0, 10_000_000), final=True)
    list(run_batch(sites[0], request))
    (window,) = DeltaTable(tmp_path / "store-event" / "trades" / "windows").to_pyarrow_table().to_pylist()
    assert (to_us(window["window_start"]), to_us(window["window_end"])) == (1_000_000, 2_000_000)
    with pytest.raises(CorrectTheSpec, match="an end after the arrival"):
        list(run_batch(sites[1], request))


def test_all_that_a_function_cuts_off_an_open_window_is_published(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "dags").mkdir()
    instants = [0, 8, 16, 24, 33]
    rows = [f"{2**number},1970-01-01T00:00:{at:02}Z" for number, at in enumerate(instants)]
    (tmp_path / "trades.csv").write_text("\n".join(["price,at", *rows, ""]))
    (tmp_path / "dags" / "trades.yml").write_text(SPEC.replace("business_days:NEW_YORK", "bursts:SPARSE"))
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "trades.yml"))
    list(run_batch(site, Request(batch=Interval(0, 30_000_000))))
    list(run_batch(site, Request(batch=Interval(30_000_000, 60_000_000), final=True)))
    rows = DeltaTable(tmp_path / "store" / "trades" / "windows").to_pyarrow_table().to_pylist()
    totals = {to_us(row["window_start"]) // 1_000_000: row["total"] for row in rows}
    # The last event makes them too many; what ended long before, and is none of its neighbours, too.
    assert totals == {at: 2**number for number, at in enumerate(instants)}


def test_business_days_in_a_zone_with_daylight_saving(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "trades.csv").write_text(TRADES)
    (tmp_path / "dags" / "trades.yml").write_text(SPEC)
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "trades.yml"))
    year = Interval(to_us(instant("2024-01-01")), to_us(instant("2025-01-01")))
    list(run_batch(site, Request(batch=year, final=True)))
    rows = DeltaTable(tmp_path / "store" / "trades" / "windows").to_pyarrow_table().to_pylist()
    assert {(row["window_start"], row["window_end"]): row["total"] for row in rows} == {
        (instant("2024-03-07T05:00"), instant("2024-03-08T05:00")): 1,
        (instant("2024-03-08T05:00"), instant("2024-03-11T04:00")): 14,
        (instant("2024-03-11T04:00"), instant("2024-03-12T04:00")): 16,
        (instant("2024-10-31T04:00"), instant("2024-11-01T04:00")): 32,
        (instant("2024-11-01T04:00"), instant("2024-11-04T05:00")): 192,
        (instant("2024-11-04T05:00"), instant("2024-11-05T05:00")): 256,
    }


@pytest.mark.parametrize(
    ("attribute", "told"),
    [
        ("no_such_module:it", "No module named"),
        ("tests.windows.business_days:NOWHERE", "has no attribute"),
        ("tests.windows.business_days:SATURDAY", "give it one"),
        ("tests.windows.bursts:Burst", "not to be called with an event alone; it is a class: name a value"),
    ],
)
def test_what_is_no_window_function_is_refused(attribute: str, told: str) -> None:
    with pytest.raises(CorrectTheSpec, match=told):
        window_function(attribute)


def test_a_class_is_a_window_function_if_it_has_one_of_its_own() -> None:
    assert window_function("tests.windows.bursts:EveryTen") is EveryTen


@pytest.mark.usefixtures("spark")
def test_who_runs_a_function_is_not_warned_of_how_it_is_called() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assigned("tests.windows.bursts:AT_MOST_THREE", F.struct("number"))
        grouped("tests.windows.bursts:AT_MOST_THREE", F.col("intervals"))


def test_groups_span_from_their_first_start_to_their_last_end() -> None:
    intervals = [Proto(0, 10, 2), Proto(4, 14, 1), Proto(6, 16, 1), Proto(8, 18, 5)]
    assert groups_of(AT_MOST_THREE, intervals) == [
        (0, 10, 0, 14),
        (4, 14, 0, 14),
        (6, 16, 6, 16),
        (8, 18, 8, 18),
    ]


def test_groups_that_hold_an_interval_of_another_are_refused() -> None:
    #  A [0----------------100)  [5-12)          B  [10-20)   [50----------150)
    one, other = [Proto(0, 100, 1), Proto(5, 12, 1)], [Proto(10, 20, 1), Proto(50, 150, 1)]
    crossing = type("Crossing", (), {"merge": lambda self, held: [one, other]})()
    told = r"put \[10, 20\) into \[10, 150\), and it lies within \[0, 100\) too"
    with pytest.raises(ValueError, match=told):
        groups_of(crossing, sorted([*one, *other]))
    halves = [Proto(0, 50, 1), Proto(50, 100, 1)]
    alike = type("Alike", (), {"merge": lambda self, held: [[Proto(0, 100, 1)], halves]})()
    with pytest.raises(ValueError, match=r"and it lies within \[0, 100\) too"):
        groups_of(alike, sorted([Proto(0, 100, 1), *halves]))
    nested = type("Nested", (), {"merge": lambda self, held: [held[:1], held[1:]]})()
    with pytest.raises(ValueError, match=r"put \[4, 9\) into \[4, 9\), and it lies within \[0, 10\) too"):
        groups_of(nested, [Proto(0, 10, 1), Proto(4, 9, 1)])


def test_a_function_that_loses_an_interval_is_told_so() -> None:
    with pytest.raises(ValueError, match="merge 1 intervals and gave back 0, not the same"):
        groups_of(LOSING, [Proto(0, 10, 1)])
