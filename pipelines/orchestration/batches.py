"""Which batch a run is for, and how that is handed from task to task.

Pure arithmetic: the params decide, else the data interval of a scheduled or backfilled run, else the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from pipelines.intervals import Interval, from_us, to_us
from pipelines.orchestration.params import Wishes
from pipelines.spec import parse_instant

BY_INTERVAL = ("scheduled", "backfill")
"""The kinds of runs whose data interval is their batch. Any other has been triggered, and Airflow gives it
some interval, unless somebody has said one; one with the date of a batch takes its place in the schedule.
"""

Bounds = tuple[datetime, datetime]
Chosen = Mapping[str, str | int | bool | None]
"""A batch and how to run it. Instants are ISO 8601: people read it too, as the XCom of the task
`choose_batch`.
"""


def data_interval(
    run_type: str,
    start: datetime | None,
    *,
    end: datetime | None,
    date: datetime | None = None,
    made: Collection[Bounds] | None = None,
) -> Interval | None:
    """The interval that a run is for, if it has one: that of a cron trigger is empty, a triggered run has
    none unless its logical date is where the interval begins, or it is none of those that Airflow would have
    `made` of it; `None`: nobody knows which.
    """
    if start is None or end is None or start >= end:
        return None
    is_said = date == start or (made is not None and (start, end) not in made)
    return Interval(to_us(start), to_us(end)) if run_type in BY_INTERVAL or is_said else None


def is_beside(batch: Interval, earlier_end: datetime | None, *, newest: Interval) -> bool:
    """Whether a batch comes after the newest, and an earlier run is for one that is older than that: neither
    changes what the other finds.
    """
    return earlier_end is not None and to_us(earlier_end) < newest.end_us <= batch.start_us


def batch_of(wishes: Wishes, interval: Interval | None, *, following: Callable[[], Interval]) -> Interval:
    """The batch of a run; `following` says which is the next by the ledger."""
    return wishes.batch or interval or following()


def bounds_of(batch: Interval) -> dict[str, str]:
    """The bounds of a batch, as `batch_in` reads them."""
    return {"from": _text(batch.start_us), "to": _text(batch.end_us)}


def hand_on(batch: Interval, wishes: Wishes) -> dict[str, str | bool | None]:
    """What `choose_batch` tells the tasks after it."""
    return {
        **bounds_of(batch),
        "watermark": None if wishes.watermark_us is None else _text(wishes.watermark_us),
        "final": wishes.final,
        "replace": wishes.replace,
        "ignore_lateness": wishes.ignore_lateness,
    }


def batch_in(told: Chosen) -> Interval:
    """The batch whose bounds a task told of."""
    return Interval(parse_instant(str(told["from"])), parse_instant(str(told["to"])))


def taken(chosen: Chosen) -> tuple[Interval, Wishes]:
    """The batch and the wishes that `hand_on` told of."""
    batch, watermark = batch_in(chosen), chosen["watermark"]
    watermark_us = None if watermark is None else parse_instant(str(watermark))
    wishes = Wishes(
        batch=batch,
        watermark_us=watermark_us,
        final=chosen["final"] is True,
        replace=chosen["replace"] is True,
        ignore_lateness=chosen.get("ignore_lateness") is True,
    )
    return batch, wishes


def _text(instant_us: int) -> str:
    return from_us(instant_us).isoformat()
