"""A worked example of a custom window: business days in a time zone with daylight saving.

A business day begins at local midnight and lasts until the next one begins, so Friday's holds the weekend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SATURDAY = 5


@dataclass(frozen=True)
class BusinessDays:
    """The business day of an event in a zone."""

    zone: str

    def assign(self, event: Mapping[str, object]) -> list[tuple[int, int]]:
        local = (EPOCH + timedelta(microseconds=int(str(event["event_us"])))).astimezone(ZoneInfo(self.zone))
        first = local.date()
        while first.weekday() >= SATURDAY:
            first -= timedelta(days=1)
        following = first + timedelta(days=1)
        while following.weekday() >= SATURDAY:
            following += timedelta(days=1)
        return [(self._midnight_us(first), self._midnight_us(following))]

    def _midnight_us(self, day: object) -> int:
        midnight = datetime.fromisoformat(f"{day}T00:00").replace(tzinfo=ZoneInfo(self.zone))
        return (midnight - EPOCH) // timedelta(microseconds=1)


NEW_YORK = BusinessDays("America/New_York")
