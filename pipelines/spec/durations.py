"""Lengths of time and instants as people write them, in whole microseconds.

Months and years have no fixed length and are refused, but for what is merely kept so long: there a month has
31 days and a year 366, so that nothing goes early.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from pipelines.intervals import EARLIEST_US, LATEST_US, to_us

UNITS_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
SHORT = {"us": "microsecond", "ms": "millisecond", "s": "second", "min": "minute", "h": "hour", "d": "day"}
ALSO = {"sec": "second", "m": "minute", "mins": "minute", "hr": "hour", "w": "week"}
NO_LENGTH = ("month", "year", "quarter")
AT_MOST_US = {"month": 31 * UNITS_US["day"], "year": 366 * UNITS_US["day"]}
FINER = re.compile(r"[.,]\d{6}0*[1-9]")
"""More of a second than Python reads: it leaves out what is below a microsecond."""
OF_MONTHS = re.compile(r"P(?:[0-9.]+[DW])*[0-9.]+[YM](?:[0-9.]+[A-Z]|T)*", re.IGNORECASE)
"""An ISO 8601 duration that has months or years in it."""

NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
ONE = re.compile(rf"{NUMBER}\s*([a-zA-Zµ]+)")
BETWEEN = re.compile(r"\s*(?:,\s*)?(?:and\s+)?")
OF_WEEKS = f"(?:{NUMBER}W)?(?:{NUMBER}D)?(?:T(?:{NUMBER}H)?(?:{NUMBER}M)?(?:{NUMBER}S)?)?"
ISO = re.compile(f"P(?=.*[0-9]){OF_WEEKS}", re.IGNORECASE)
ISO_UNITS = ("week", "day", "hour", "minute", "second")
ISO_AT_MOST = re.compile(f"P(?=.*[0-9])(?:{NUMBER}Y)?(?:{NUMBER}M)?{OF_WEEKS}", re.IGNORECASE)
ALLOWED = "allowed is like `30 minutes`, `1 hour 30 min`, `7 d` or ISO 8601 `PT1H30M`"
ALLOWED_AT_MOST = "allowed is like `30 days`, `6 months`, `2 years` or ISO 8601 `P2Y`"


def parse_duration(text: object, *, calendar: bool = False) -> int:
    """Microseconds of `<number> <unit>`, several of these, or an ISO 8601 duration.

    `calendar` takes `2 years` and `6 months` too, at their longest. Raises `ValueError` saying what is wrong.
    """
    if text == 0 and not isinstance(text, bool):
        return 0
    allowed = ALLOWED_AT_MOST if calendar else ALLOWED
    if not isinstance(text, str):
        raise ValueError(f"found {text!r}; {allowed}")
    written = text.strip()
    if written == "0":
        return 0
    units_us = UNITS_US | AT_MOST_US if calendar else UNITS_US
    if not calendar and OF_MONTHS.fullmatch(written):
        raise ValueError(f"found `{text}`: months and years have no fixed length; {ALLOWED}")
    iso = (ISO_AT_MOST if calendar else ISO).fullmatch(written)
    if iso and not written.upper().endswith("T"):
        names = ("year", "month", *ISO_UNITS) if calendar else ISO_UNITS
        parts = zip(iso.groups(), names, strict=True)
        return _whole(text, [(number, units_us[name]) for number, name in parts if number])
    found = ONE.findall(written)
    first, *between, last = ONE.split(written)[:: ONE.groups + 1] if found else ("", "", "")
    if not found or first or last or not all(map(BETWEEN.fullmatch, between)):
        raise ValueError(f"found `{text}`; {allowed}")
    return _whole(text, [(number, _unit_us(text, unit, units_us=units_us)) for number, unit in found])


def show_duration(length_us: int) -> str:
    """The length in the largest units that it is whole in: `1 hour 30 minutes`."""
    told, rest = [], length_us
    for name, unit_us in reversed(UNITS_US.items()):
        if name == "week":
            continue
        number, rest = divmod(rest, unit_us)
        if number:
            told.append(f"{number} {name}" + ("" if number == 1 else "s"))
    return " ".join(told) or "0"


def parse_instant(text: object) -> int:
    """Microseconds since 1970 of an ISO 8601 instant; without a zone it is UTC. Raises `ValueError`."""
    if isinstance(text, datetime):
        return _in_range(to_us(text), text)
    if isinstance(text, date):
        return to_us(datetime(text.year, text.month, text.day, tzinfo=UTC))
    if FINER.search(str(text)):
        raise ValueError(f"found `{text}`; allowed are microseconds, six digits after the point")
    try:
        instant = datetime.fromisoformat(str(text).strip())
    except ValueError as error:
        raise ValueError(
            f"found `{text}`; allowed is an ISO 8601 instant like `2013-01-31`, `2013-01-31T06:00` or "
            "`…T06:00-05:00`"
        ) from error
    return _in_range(to_us(instant), text)


def _in_range(instant_us: int, text: object) -> int:
    if not EARLIEST_US <= instant_us <= LATEST_US:
        raise ValueError(f"found `{text}`; allowed are the years 1 to 9999 of UTC")
    return instant_us


def _unit_us(text: str, unit: str, *, units_us: Mapping[str, int]) -> int:
    allowed = ALLOWED if units_us is UNITS_US else ALLOWED_AT_MOST
    if unit == "M":
        raise ValueError(f"found `{text}`: `M` may be months or minutes, which are written `min`; {allowed}")
    name = unit.lower() if unit not in SHORT else unit
    name = SHORT.get(name) or ALSO.get(name) or name.removesuffix("s")
    name = ALSO.get(name, name)
    if name in NO_LENGTH and units_us is UNITS_US:
        raise ValueError(f"found `{text}`: months and years have no fixed length; {allowed}")
    if name not in units_us:
        raise ValueError(f"found `{text}`: there is no unit `{unit}`; {allowed}")
    return units_us[name]


def _whole(text: str, parts: list[tuple[str, int]]) -> int:
    total = sum((Fraction(Decimal(number)) * unit_us for number, unit_us in parts), Fraction(0))
    if total.denominator != 1:
        raise ValueError(f"found `{text}`, which is no whole number of microseconds")
    if total > LATEST_US:
        raise ValueError(f"found `{text}`, which is longer than all time")
    return int(total)
