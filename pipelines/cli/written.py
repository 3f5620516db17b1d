"""Values as they are printed: instants in UTC, nulls visible, nothing rounded for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

from tabulate import tabulate

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval, from_us
from pipelines.visible import visible

Value = str | int | float | bool | bytes | date | Decimal | Sequence["Value"] | Mapping[str, "Value"] | None
Plain = str | int | float | bool | list["Plain"] | dict[str, "Plain"] | None

SHOWN_DIGITS = 10
CYCLE_YEARS, CYCLE_US = 400, 146_097 * 86_400_000_000


def instant(instant_us: int | None) -> str:
    """An instant as `--from`, `--to` and `--where` take it."""
    if instant_us is None:
        return "null"
    if EARLIEST_US <= instant_us <= LATEST_US:
        return _utc(from_us(instant_us))
    # A calendar repeats after 400 years. ISO 8601 has signs for years that have not four digits.
    is_later = instant_us > LATEST_US
    turns = (LATEST_US - instant_us) // CYCLE_US if is_later else -((instant_us - EARLIEST_US) // CYCLE_US)
    year, rest = _utc(from_us(instant_us + turns * CYCLE_US)).split("-", 1)
    return f"{int(year) - turns * CYCLE_YEARS:+06}-{rest}"


def bounds(batch: Interval) -> str:
    """A batch as options of a command."""
    return f"--from {instant(batch.start_us)} --to {instant(batch.end_us)}"


def plain(value: Value) -> Plain:
    """A value as JSON has it. What JSON has no word for, like NaN or a decimal, becomes text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(item) for item in value]
    return _as_text(value)


def text(value: Value) -> str:
    """A value as csv has it: a null is empty."""
    written = plain(value)
    if written is None:
        return ""
    return written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)


def cell(value: Value) -> str:
    """A value as a table for people has it: nulls and controls visible, a float not too long to be read."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.{SHOWN_DIGITS}g}"
    return "null" if value is None else visible(text(value))


def table(headers: Sequence[str], rows: Sequence[Sequence[Value]]) -> str:
    """Aligned columns; one that holds numbers is aligned to the right."""
    names, cells = [visible(name) for name in headers], [[cell(value) for value in row] for row in rows]
    sides = [
        "right" if _holds_numbers([row[column] for row in rows]) else "left" for column in range(len(headers))
    ]
    if not cells:
        return "  ".join(names)
    return str(tabulate(cells, headers=names, disable_numparse=True, colalign=sides))


def indented(page: str) -> str:
    """The same lines, two to the right."""
    return "\n".join(f"  {line}".rstrip() for line in page.splitlines())


def _as_text(value: bytes | date | Decimal) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        return _utc(value)
    if isinstance(value, Decimal):
        # Not `0E-7`, which is how Python writes a zero of seven places.
        return f"{value:f}"
    return str(value)


def _holds_numbers(values: Sequence[Value]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in known
    )


def _utc(moment: datetime) -> str:
    if moment.tzinfo is None:
        return moment.isoformat()
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
