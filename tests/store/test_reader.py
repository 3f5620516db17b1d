"""Tables as delta-rs reads them: what comes, in which order, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.errors import CorrectTheCall
from pipelines.intervals import Interval, to_us
from pipelines.store.instants import in_microseconds
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.reader import count_rows, read_ledger, read_table, table_path

INSTANT = pa.timestamp("us", tz="UTC")


def at(hour: int, microsecond: int = 0) -> datetime:
    return datetime(2013, 1, 1, hour, 0, 0, microsecond, tzinfo=UTC)


#  Carrier  window_start  event_count
WINDOWS = [
    ("AA", 1, 10),
    ("B6", 3, 30),
    (None, 2, 20),
    ("it's (", 4, 40),
]


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with a table of windows, partitioned by day as Sash's own are."""
    carriers, hours, counts = zip(*WINDOWS, strict=True)
    rows = pa.table(
        {
            "Carrier": pa.array(carriers, pa.string()),
            "window": ["hourly"] * len(WINDOWS),
            "window_start": pa.array([at(hour) for hour in hours], INSTANT),
            "event_count": pa.array(counts, pa.int64()),
            "day": [at(0).date()] * len(WINDOWS),
        }
    )
    write_deltalake(table_path(str(tmp_path), "flights", table="windows"), rows, partition_by=["day"])
    return str(tmp_path)


def counts(store: str, where: str | None = None, limit: int | None = None) -> list[int]:
    found = read_table(store, "flights", table="windows", where=where, limit=limit)
    return [int(count) for count in found["event_count"].to_pylist()]


def write_runs(store: Path, *rows: LedgerRow) -> None:
    instants = (
        "batch_start",
        "batch_end",
        "watermark_before",
        "watermark_after",
        "started_at",
        "finished_at",
    )
    texts = ("status", "spec_fingerprint")
    listed = [row.values() for row in rows]
    kinds = {**dict.fromkeys(listed[0], pa.int64()), **dict.fromkeys(instants, INSTANT)}
    kinds |= {**dict.fromkeys(texts, pa.string()), "stage_seconds": pa.map_(pa.string(), pa.float64())}
    columns = {name: [row[name] for row in listed] for name in kinds}
    columns["stage_seconds"] = [list(dict(row.stage_seconds).items()) for row in rows]
    runs = pa.table({name: pa.array(columns[name], kind) for name, kind in kinds.items()})
    write_deltalake(table_path(str(store), "flights", table="runs"), runs, mode="append")


def test_a_table_lies_below_its_store_and_its_pipeline():
    assert table_path("/data/store", "flights", table="runs") == "/data/store/flights/runs"
    assert table_path("s3://data/store/", "flights", table="runs") == "s3://data/store/flights/runs"


def test_a_ledger_that_is_not_there_yet_has_no_rows(tmp_path: Path):
    assert read_ledger(str(tmp_path), "flights") == []


def test_the_ledger_is_read_to_the_microsecond(tmp_path: Path):
    published = LedgerRow(
        batch=Interval(to_us(at(0)), to_us(at(1, 1))),
        revision=1,
        status="published",
        spec_fingerprint="abc",
        ingested=3,
        accepted=2,
        late=1,
        quarantined=0,
        duplicates=0,
        panes=7,
        watermark_before_us=-1,
        watermark_after_us=to_us(at(1, 999_999)),
        started_at_us=5,
        finished_at_us=6,
        stage_seconds={"accumulate": 1.5, "publish": 0.25},
    )
    begun = LedgerRow(batch=Interval(-2, -1), revision=0, status="running", spec_fingerprint="abc")
    write_runs(tmp_path, published)
    write_runs(tmp_path, begun)
    assert sorted(read_ledger(str(tmp_path), "flights"), key=lambda row: row.batch) == [begun, published]


def test_rows_come_newest_first_without_the_partition_column(store: str):
    assert counts(store) == [40, 30, 20, 10]
    assert read_table(store, "flights", table="windows").column_names == [
        "Carrier",
        "window",
        "window_start",
        "event_count",
    ]


def test_the_panes_of_a_window_come_in_the_order_of_their_runs(tmp_path: Path):
    #  A session, its news, and its retract, with the index of what came in its place; then a correction of
    #  the first batch, and the session that came back.
    told = [(0, 0, "insert", 0), (1, 0, "insert", 1), (2, 0, "retract", 0), (0, 1, "insert", 0)]
    for started, (hour, revision, _, _) in enumerate(told):
        batch = Interval(to_us(at(hour)), to_us(at(hour + 1)))
        row = LedgerRow(
            batch=batch, revision=revision, status="published", spec_fingerprint="", started_at_us=started
        )
        write_runs(tmp_path, row)
    columns = {
        "carrier": ["AA"] * 4,
        "window": ["w"] * 4,
        "window_start": pa.array([at(1)] * 4, INSTANT),
        "window_end": pa.array([at(2)] * 4, INSTANT),
        "kind": [kind for _, _, kind, _ in told],
        "pane_index": [index for _, _, _, index in told],
        "batch_start": pa.array([at(hour) for hour, *_ in told], INSTANT),
        "batch_end": pa.array([at(hour + 1) for hour, *_ in told], INSTANT),
        "revision": [revision for _, revision, _, _ in told],
    }
    write_deltalake(table_path(str(tmp_path), "flights", table="panes"), pa.table(columns).take([3, 2, 0, 1]))
    found = read_table(str(tmp_path), "flights", table="panes", where="window = 'w'").to_pylist()
    assert [(it["batch_start"].hour, it["revision"], it["kind"], it["pane_index"]) for it in found] == told
    assert list(found[0]) == list(columns)


def test_rows_that_are_equally_new_come_in_the_order_of_the_rest(tmp_path: Path):
    carriers = ["C", "A", None, "B"]
    rows = pa.table(
        {"carrier": carriers, "window": ["w"] * 4, "window_start": pa.array([at(1)] * 4, INSTANT)}
    )
    write_deltalake(table_path(str(tmp_path), "flights", table="windows"), rows)
    found = read_table(str(tmp_path), "flights", table="windows")
    assert found["carrier"].to_pylist() == ["A", "B", "C", None]


@pytest.mark.parametrize(
    ("limit", "expected"), [(0, []), (1, [40]), (3, [40, 30, 20]), (9, [40, 30, 20, 10])]
)
def test_a_limit_leaves_the_newest(store: str, limit: int, expected: list[int]):
    assert counts(store, limit=limit) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("event_count > 20", [40, 30]),
        ("Carrier = 'AA' OR event_count = 30", [30, 10]),
        ('"Carrier" IS NULL', [20]),
        ("Carrier = 'it''s ('", [40]),
        ("window_start >= '2013-01-01 03:00:00'", [40, 30]),
        ("window_start = '2013-01-01T03:00:00Z'", [30]),
        ("day = '2013-01-01' AND (event_count < 20)", [10]),
        ("Carrier IN ('--', ';', 'select', 'B6')", [30]),
        ("window_start < '2300-01-01' AND event_count > 30", [40]),
        ("window_start >= '9999-12-31T23:59:59.999999Z'", []),
        ("window_start < '9999-12-31'", [40, 30, 20, 10]),
        ("window_start > '0001-01-01'", [40, 30, 20, 10]),
        ("window_start >= TIMESTAMP'2013-01-01 03:00:00' AND Carrier like'it%'", [40]),
        ("window_start > timestamp '1400-01-01 00:00:00'", [40, 30, 20, 10]),
        ("window_start > date '0001-01-01' AND event_count > 30", [40]),
        # What looks like one may be a text, or a date.
        ("Carrier <> '9999-12-31' AND event_count < 30", [10]),
        ("Carrier IN ('AA', '9999-12-31')", [10]),
        ("day < '9999-12-31'", [40, 30, 20, 10]),
        ("day BETWEEN '2013-01-01' AND '9999-12-31' AND event_count < 20", [10]),
        ("false", []),
    ],
)
def test_a_predicate_chooses_rows(store: str, where: str, expected: list[int]):
    assert counts(store, where) == expected
    assert count_rows(store, "flights", table="windows", where=where) == len(expected)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("closes_at BETWEEN '2013-01-01' AND '9999-12-31'", [1]),
        ("closes_at BETWEEN '2013-01-01' AND '9999-12-31T23:59:59.999999Z'", [1, 2]),
        ("closes_at IN ('2013-01-01', '9999-12-31T23:59:59.999999Z')", [1, 2]),
    ],
)
def test_a_far_instant_may_stand_beside_a_near_one(tmp_path: Path, where: str, expected: list[int]):
    last = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    rows = pa.table(
        {
            "window": ["hourly"] * 2,
            "window_start": pa.array([at(0)] * 2, INSTANT),
            "closes_at": pa.array([at(0), last], INSTANT),
            "event_count": [1, 2],
        }
    )
    write_deltalake(table_path(str(tmp_path), "flights", table="windows"), rows)
    assert sorted(counts(str(tmp_path), where)) == expected


def test_all_rows_are_counted_without_a_predicate(store: str):
    assert count_rows(store, "flights", table="windows") == len(WINDOWS)


@pytest.mark.parametrize(
    "where",
    [
        "true; COPY rows TO 'stolen.csv'",
        "true) UNION ALL SELECT * FROM rows WHERE (true",
        "true) ORDER BY (event_count",
        "event_count IN (SELECT 1)",
        "EXISTS (FROM 'rows')",
        "EXISTS (WITH 'q' AS (FROM 'rows') FROM 'q')",
        r"E'\'' IS NOT NULL AND (SELECT 1) = event_count AND E'\'' IS NOT NULL",
        r"U&'\' IS NOT NULL AND (SELECT 1) = event_count AND U&'\' IS NOT NULL",
        "$$'$$ IS NOT NULL AND (SELECT 1) = event_count AND $$'$$ IS NOT NULL",
        "$a$'$a$ IS NOT NULL AND (SELECT 1) = event_count AND $a$'$a$ IS NOT NULL",
        "event_count > 1 -- and so on",
        "event_count > 1 /* and so on */",
        "Carrier = 'AA",
        'Carrier" = 1',
        "(event_count > 1",
        "event_count > 1)",
        " ",
    ],
)
def test_more_or_less_than_a_predicate_is_refused(store: str, where: str):
    with pytest.raises(CorrectTheCall, match="wanted is one SQL predicate"):
        counts(store, where)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("carrier = 'AA'", "No field named"),
        ("event_count", "non-boolean"),
        ("event_count / 0 > 1", "DivideByZero"),
        ("event_count = = 3", "Expected"),
        ("window_start > '2013-01-01 3 am'", "Error parsing timestamp from '2013-01-01 3 am'"),
    ],
)
def test_a_predicate_without_an_answer_is_told_with_the_columns(store: str, where: str, told: str):
    with pytest.raises(
        CorrectTheCall, match=f"{told}.*the columns are Carrier, window, window_start, event_count"
    ):
        counts(store, where)


def test_an_unknown_table_is_told_with_those_that_there_are(store: str):
    with pytest.raises(CorrectTheCall, match=r"there is no table `pans`; there are partial_frames, .*, runs"):
        read_table(store, "flights", table="pans")


def test_a_table_that_is_not_there_yet_is_told_with_what_makes_it(store: str):
    with pytest.raises(
        CorrectTheCall, match=r"no table `panes` of pipeline `flights` yet.*run one, with `sash run`"
    ):
        read_table(store, "flights", table="panes")
    with pytest.raises(CorrectTheCall, match="no table `panes`"):
        count_rows(store, "flights", table="panes")


def test_instants_become_microseconds_and_nothing_else_changes():
    rows = pa.table({"at": pa.array([at(1, 7), None], INSTANT), "count": [1, 2]})
    assert in_microseconds(rows).to_pylist() == [
        {"at": to_us(at(1, 7)), "count": 1},
        {"at": None, "count": 2},
    ]
