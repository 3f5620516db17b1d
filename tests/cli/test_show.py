"""`sash show`: rows for people and for machines. The tables are written by delta-rs, as Spark writes them."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.cli.show import SHOWN_ROWS, rows_of
from pipelines.cli.written import plain
from pipelines.store.reader import table_path
from tests.cli.conftest import INSTANT, Place, day

CITIES = ("Bern", None, 'Chur, "GR"')


@pytest.fixture
def shown(place: Place) -> Place:
    """A place with 24 windows, an hour each; every third is of the null key."""
    hours = range(24)
    windows = {
        "city": pa.array([CITIES[hour % 3] for hour in hours], pa.string()),
        "window": ["hourly"] * 24,
        "window_start": pa.array([day(1, hour) for hour in hours], INSTANT),
        "mean_fare": pa.array([None if hour == 23 else hour / 3 for hour in hours], pa.float64()),
        "event_count": pa.array([*hours], pa.int64()),
    }
    write_deltalake(table_path(place.store, "rides", table="windows"), pa.table(windows))
    return place


def test_a_table_shows_the_newest_rows_and_says_how_many_more_there_are(shown: Place):
    said = shown.sash("show", "windows")
    lines = said.out.splitlines()
    assert said.code == 0
    assert len(lines) == 2 + SHOWN_ROWS
    assert lines[0].split() == ["city", "window", "window_start", "mean_fare", "event_count"]
    assert lines[2].split() == ["Chur,", '"GR"', "hourly", "2024-01-01T23:00:00Z", "null", "23"]
    assert lines[3].split() == ["null", "hourly", "2024-01-01T22:00:00Z", "7.333333333", "22"]
    assert said.err.startswith("4 more; --limit says how many")


def test_nothing_is_said_of_more_rows_where_there_are_none(shown: Place):
    assert shown.sash("show", "windows", "--limit", "24").err == ""
    assert shown.sash("show", "windows", "--where", "event_count >= 4").err == ""


def test_a_predicate_chooses_and_counts(shown: Place):
    said = shown.sash("show", "windows", "--where", "event_count < 10 AND city IS NULL", "--limit", "2")
    assert [line.split()[-1] for line in said.out.splitlines()[2:]] == ["7", "4"]
    assert said.err.startswith("1 more;")


def test_a_column_may_be_called_like_a_word_that_begins_a_query(place: Place):
    starts = pa.array([day(1, hour) for hour in (1, 2)], INSTANT)
    rows = pa.table({"city": ["a", "b"], "window": ["w", "w"], "window_start": starts, "values": [1, 5]})
    write_deltalake(table_path(place.store, "rides", table="windows"), rows)
    said = place.sash("show", "windows", "--where", "(values > 3 OR city = 'c')", "--format", "csv")
    assert (said.code, said.out.splitlines()[1:]) == (0, ["b,w,2024-01-01T02:00:00Z,5"])


def test_no_rows_are_a_head_and_a_note(shown: Place):
    said = shown.sash("show", "windows", "--where", "false")
    assert (said.code, said.out.split()[0], said.err) == (0, "city", "no rows\n")


def test_csv_has_all_rows_and_comes_back_as_it_was(shown: Place):
    said = shown.sash("show", "windows", "--format", "csv")
    rows = list(csv.reader(io.StringIO(said.out)))
    assert rows[0] == ["city", "window", "window_start", "mean_fare", "event_count"]
    assert len(rows) == 1 + 24
    assert rows[1] == ['Chur, "GR"', "hourly", "2024-01-01T23:00:00Z", "", "23"]
    assert rows[2] == ["", "hourly", "2024-01-01T22:00:00Z", repr(22 / 3), "22"]
    assert said.err == ""


def test_csv_quotes_a_carriage_return(place: Place):
    rows = {"city": ["a\rb", "c"], "event_count": [1, 2], "window": ["w", "w"]}
    starts = pa.array([day(1, hour) for hour in (2, 1)], INSTANT)
    write_deltalake(
        table_path(place.store, "rides", table="windows"), pa.table({**rows, "window_start": starts})
    )
    said = place.sash("show", "windows", "--format", "csv")
    assert [row[0] for row in csv.reader(io.StringIO(said.out, newline=""))] == ["city", "a\rb", "c"]


def test_json_is_one_object_a_line(shown: Place):
    said = shown.sash("show", "windows", "--format", "json", "--limit", "2")
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [row["city"] for row in rows] == ['Chur, "GR"', None]
    assert [row["mean_fare"] for row in rows] == [None, 22 / 3]
    assert said.err.startswith("22 more;")


def test_the_store_may_be_named_from_the_working_directory(shown: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(shown.home / "var")
    assert shown.sash("show", "windows", "--store", "store").code == 0
    assert shown.sash("show", "windows", "--store", "var/store").code == 2


def test_the_store_of_the_environment_begins_at_the_home(shown: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir("/")
    monkeypatch.setenv("SASH_STORE", "var/store")
    assert shown.sash("show", "windows").code == 0
    monkeypatch.setenv("SASH_STORE", "elsewhere")
    assert shown.sash("show", "windows").code == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["pans"],
            "no table `pans`; there are partial_frames, frames, watermarks, partial_sessions",
        ),
        (["panes"], "there is no table `panes` of pipeline `rides` yet"),
        (["windows", "--where", "town = 'Bern'"], "the columns are city, window, window_start"),
        (["windows", "--where", "exists (from rows)"], "found `from` where it has no place"),
        (["windows", "--where", "1 IN (values (1))"], "found `values` where it has no place"),
        (["windows", "--limit", str(2**63)], "wanted a whole number from 0 to 9,223,372,036,854,775,807"),
        (["windows", "--where", "true; DROP TABLE rows"], "found `;` where it has no place"),
    ],
)
def test_what_cannot_be_shown_is_told_in_a_paragraph(shown: Place, words: list[str], told: str):
    said = shown.sash("show", *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("sash: ") and told in said.err
    assert said.err.count("\n") == 1


def test_maps_are_shown_by_the_text_of_their_keys():
    kinds = {
        "lists": (pa.list_(pa.int64()), [1, 2], "[1, 2]"),
        "structs": (
            pa.struct([("a", pa.int64()), ("b", pa.string())]),
            {"a": 1, "b": "x"},
            '{"a": 1, "b": "x"}',
        ),
        "instants": (INSTANT, 1, "1970-01-01T00:00:00.000001Z"),
        "flags": (pa.bool_(), True, "true"),
        "bytes": (pa.binary(), b"x", "78"),
    }
    columns = {
        name: pa.array([[(key, 3)]], pa.map_(kind, pa.int64())) for name, (kind, key, _) in kinds.items()
    }
    (row,) = rows_of(pa.table(columns))
    assert [plain(value) for value in row] == [{told: 3} for _, _, told in kinds.values()]


def test_dates_and_instants_that_python_has_no_word_for_are_shown_wherever_they_stand():
    inside = pa.list_(pa.struct([("at", INSTANT), ("day", pa.date32())]))
    plain_numbers = pa.list_(pa.struct([("at", pa.int64()), ("day", pa.int32())]))
    far_us, far_days = 1_400_000_000_000_000_000, 20_000_000
    columns = {
        "at": pa.array([far_us]).cast(INSTANT),
        "day": pa.array([-far_days], pa.int32()).cast(pa.date32()),
        "local": pa.array([far_us]).cast(pa.timestamp("us")),
        "inside": pa.array([[{"at": 1, "day": far_days}]], plain_numbers).cast(inside),
    }
    assert rows_of(pa.table(columns)) == [
        [
            "+46334-03-27T16:53:20Z",
            "-52789-11-11",
            "+46334-03-27T16:53:20",
            [{"at": "1970-01-01T00:00:00.000001Z", "day": "+56728-02-22"}],
        ]
    ]
