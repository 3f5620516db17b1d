"""Values as they are printed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from pipelines.cli.written import Value, bounds, cell, indented, instant, plain, table, text
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)

VALUES: list[tuple[Value, object, str, str]] = [
    # value                        json                       csv                        table
    (None, None, "", "null"),
    (True, True, "true", "true"),
    (7, 7, "7", "7"),
    (2.5, 2.5, "2.5", "2.5"),
    (1 / 3, 1 / 3, "0.3333333333333333", "0.3333333333"),
    (float("nan"), "nan", "nan", "nan"),
    (float("-inf"), "-inf", "-inf", "-inf"),
    (Decimal("1.50"), "1.50", "1.50", "1.50"),
    (Decimal("0E-7"), "0.0000000", "0.0000000", "0.0000000"),
    ('é, "x"', 'é, "x"', 'é, "x"', 'é, "x"'),
    ("", "", "", ""),
    (b"\x00\xff", "00ff", "00ff", "00ff"),
    (date(2013, 1, 1), "2013-01-01", "2013-01-01", "2013-01-01"),
    (NOON, "2013-01-01T12:00:00Z", "2013-01-01T12:00:00Z", "2013-01-01T12:00:00Z"),
    (NOON.replace(tzinfo=None), "2013-01-01T12:00:00", "2013-01-01T12:00:00", "2013-01-01T12:00:00"),
    (["a", None], ["a", None], '["a", null]', '["a", null]'),
    ({"accumulate": 1.5}, {"accumulate": 1.5}, '{"accumulate": 1.5}', '{"accumulate": 1.5}'),
    ([NOON], ["2013-01-01T12:00:00Z"], '["2013-01-01T12:00:00Z"]', '["2013-01-01T12:00:00Z"]'),
]


@pytest.mark.parametrize(("value", "in_json", "in_csv", "in_table"), VALUES)
def test_a_value_is_written_for_json_csv_and_people(
    value: Value, in_json: object, in_csv: str, in_table: str
):
    assert (plain(value), text(value), cell(value)) == (in_json, in_csv, in_table)


def test_an_instant_of_another_zone_is_written_in_utc():
    east = timezone(timedelta(hours=5, minutes=30))
    assert text(NOON.astimezone(east)) == "2013-01-01T12:00:00Z"


@pytest.mark.parametrize(
    ("instant_us", "written"),
    [
        (None, "null"),
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (EARLIEST_US, "0001-01-01T00:00:00Z"),
        (LATEST_US, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_an_instant_in_microseconds_is_written_exactly(instant_us: int | None, written: str):
    assert instant(instant_us) == written


def test_a_batch_is_written_as_the_options_that_name_it():
    assert bounds(Interval(0, 1)) == "--from 1970-01-01T00:00:00Z --to 1970-01-01T00:00:00.000001Z"


def test_numbers_stand_to_the_right_and_all_else_to_the_left():
    assert table(("key", "count"), [["JFK", 7], ["a", None], [None, 1234]]).splitlines() == [
        "key      count",
        "-----  -------",
        "JFK          7",
        "a         null",
        "null      1234",
    ]


def test_controls_of_data_are_shown_and_not_done():
    assert table(("na\tme",), [["\x1b]0;own\x07"]]).splitlines()[0] == "na\\tme"
    assert table(("name",), [["\x1b]0;own\x07\n"]]).splitlines()[-1] == r"\x1b]0;own\x07\n"


def test_text_that_looks_like_a_number_is_left_as_it_is():
    assert table(("flight",), [["0042"], ["1e3"]]).splitlines()[2:] == ["0042", "1e3"]


def test_a_table_without_rows_is_its_head():
    assert table(("key", "count"), []) == "key  count"


def test_a_page_is_indented_and_has_no_trailing_blanks():
    assert indented("a  \n\nb") == "  a\n\n  b"


@pytest.mark.parametrize(
    ("at_us", "told"),
    [
        (LATEST_US + 1, "+10000-01-01T00:00:00Z"),
        (EARLIEST_US - 1, "+00000-12-31T23:59:59.999999Z"),
        (2**63 - 1, "+294247-01-10T04:00:54.775807Z"),
        (-(2**63), "-290308-12-21T19:59:05.224192Z"),
        (EARLIEST_US, "0001-01-01T00:00:00Z"),
    ],
)
def test_bounds_of_windows_beyond_four_digits_of_a_year_are_told(at_us: int, told: str) -> None:
    assert instant(at_us) == told
