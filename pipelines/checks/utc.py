"""Instants as they are, wherever the machine stands."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def in_utc() -> Iterator[None]:
    """Let this process be in UTC meanwhile: PySpark gives instants as datetimes without a zone, by the clocks
    of the zone that the process is in, which show an hour twice in autumn.
    """
    before = os.environ.get("TZ")
    _be_in("UTC")
    try:
        yield
    finally:
        _be_in(before)


def _be_in(zone: str | None) -> None:
    if zone is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = zone
    time.tzset()
