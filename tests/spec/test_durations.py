"""Lengths of time and instants, as they are written and in microseconds."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.intervals import EARLIEST_US, LATEST_US
from pipelines.spec import parse_duration, parse_instant, show_duration

SECOND, MINUTE, HOUR, DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000

DURATIONS = [
    ("0", 0),
    (0, 0),
    ("0 hours", 0),
    ("1 microsecond", 1),
    ("5 us", 5),
    ("3 milliseconds", 3_000),
    ("3 ms", 3_000),
    ("1 second", SECOND),
    ("90 s", 90 * SECOND),
    ("90s", 90 * SECOND),
    ("30 minutes", 30 * MINUTE),
    ("30 mins", 30 * MINUTE),
    ("30 min", 30 * MINUTE),
    ("1 hour", HOUR),
    ("2h", 2 * HOUR),
    ("1.5 hours", 90 * MINUTE),
    ("1 day", DAY),
    ("7 d", 7 * DAY),
    ("2 weeks", 14 * DAY),
    ("1 hour 30 minutes", 90 * MINUTE),
    (" 1  Hour ", HOUR),
    ("PT30M", 30 * MINUTE),
    ("PT1H30M", 90 * MINUTE),
    ("P1D", DAY),
    ("P2W", 14 * DAY),
    ("P1DT12H", 36 * HOUR),
    ("PT0.5S", SECOND // 2),
]
NO_DURATIONS = [
    "PT1.2.3H",
    "P.D",
    "",
    "hour",
    "5",
    5,
    "1 huor",
    "-1 hour",
    "1 hour 5",
    "1 hour and",
    "and 1 hour",
    "1 hour,, 5 min",
    "1 hourand5 min",
    "P",
    "PT",
    "1:30",
    None,
    True,
    1.5,
    [],
]
NO_FIXED_LENGTH = ["1 month", "2 months", "1 year", "2 years", "1 quarter", "P1M", "P1Y", "P1Y2M"]

INSTANTS = [
    ("1970-01-01", 0),
    ("1970-01-01T00:00:00Z", 0),
    ("1970-01-01 00:00:00.000001", 1),
    ("1969-12-31T23:59:59.999999", -1),
    ("1970-01-01T01:00:00+01:00", 0),
    ("0001-01-01", EARLIEST_US),
    ("9999-12-31T23:59:59.999999", LATEST_US),
    (date(1970, 1, 2), DAY),
    (datetime(1970, 1, 1, 1), HOUR),  # noqa: DTZ001 - YAML reads a time without a zone so
    (datetime(1970, 1, 1, 1, tzinfo=UTC), HOUR),
]


@pytest.mark.parametrize(("written", "length_us"), DURATIONS)
def test_a_duration_is_a_number_and_a_unit_or_iso_8601(written: object, length_us: int) -> None:
    assert parse_duration(written) == length_us


@pytest.mark.parametrize("written", NO_DURATIONS)
def test_anything_else_is_refused_with_what_is_allowed(written: object) -> None:
    with pytest.raises(ValueError, match="allowed is like `30 minutes`"):
        parse_duration(written)


@pytest.mark.parametrize("calendar", [True, False])
def test_what_may_be_months_or_minutes_is_refused(calendar: bool) -> None:
    with pytest.raises(ValueError, match="`M` may be months or minutes, which are written `min`"):
        parse_duration("6M", calendar=calendar)


@pytest.mark.parametrize("written", NO_FIXED_LENGTH)
def test_months_and_years_are_refused_with_the_reason(written: str) -> None:
    with pytest.raises(ValueError, match="months and years have no fixed length"):
        parse_duration(written)


def test_what_is_merely_kept_so_long_may_be_in_months_and_years_at_their_longest() -> None:
    assert parse_duration("2 years", calendar=True) == 732 * DAY
    assert parse_duration("1 Month", calendar=True) == 31 * DAY
    assert parse_duration("90 days", calendar=True) == 90 * DAY


@pytest.mark.parametrize(
    ("written", "days"),
    [
        ("P2Y", 732),
        ("P6M", 186),
        ("1 year 6 months", 366 + 186),
        ("1 year and 3 days", 369),
        ("P1Y2M3D", 366 + 62 + 3),
        ("1.5 years", 549),
    ],
)
def test_what_is_merely_kept_may_be_spelled_in_every_way(written: str, days: int) -> None:
    assert parse_duration(written, calendar=True) == days * DAY


@pytest.mark.parametrize(
    "written",
    [
        "0,5 years",
        "1 2 years hour",
        "1 hour 2 years and",
        ", 2 years",
        "-2 years",
        "2 years ago",
        "P1YT",
        "P1M2Y",
    ],
)
def test_what_is_merely_kept_is_refused_with_its_whole_text(written: str) -> None:
    with pytest.raises(
        ValueError, match=f"found `{written}`; allowed is like `30 days`, `6 months`, `2 years`"
    ):
        parse_duration(written, calendar=True)


def test_less_than_a_microsecond_and_more_than_all_time_are_refused() -> None:
    with pytest.raises(ValueError, match="no whole number of microseconds"):
        parse_duration("0.5 us")
    with pytest.raises(ValueError, match="longer than all time"):
        parse_duration("9999999 weeks")


@pytest.mark.parametrize(
    ("length_us", "shown"),
    [
        (0, "0"),
        (1, "1 microsecond"),
        (HOUR, "1 hour"),
        (90 * MINUTE, "1 hour 30 minutes"),
        (14 * DAY, "14 days"),
        (DAY + 1, "1 day 1 microsecond"),
    ],
)
def test_a_duration_is_shown_in_its_largest_units(length_us: int, shown: str) -> None:
    assert show_duration(length_us) == shown


@given(st.integers(min_value=0, max_value=10**17))
def test_what_is_shown_is_read_back(length_us: int) -> None:
    assert parse_duration(show_duration(length_us)) == length_us


@pytest.mark.parametrize(("written", "instant_us"), INSTANTS)
def test_an_instant_is_iso_8601_and_without_a_zone_in_utc(written: object, instant_us: int) -> None:
    assert parse_instant(written) == instant_us


@pytest.mark.parametrize(
    "written", ["", "now", "yesterday", "2013", "2013-02-30", "2013-01-01T25:00", "5 days"]
)
def test_what_is_no_instant_is_refused_with_what_is_allowed(written: str) -> None:
    with pytest.raises(ValueError, match="allowed is an ISO 8601 instant"):
        parse_instant(written)


@pytest.mark.parametrize("written", ["2024-01-01T00:00:00.0000019", "2024-01-01 00:00:00,00000001Z"])
def test_what_is_finer_than_a_microsecond_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="allowed are microseconds, six digits after the point"):
        parse_instant(written)
    assert parse_instant("2024-01-01T00:00:00.000001000") % 1_000_000 == 1


@pytest.mark.parametrize("written", ["0001-01-01T00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_an_instant_outside_the_years_1_to_9999_of_utc_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="allowed are the years 1 to 9999 of UTC"):
        parse_instant(written)
