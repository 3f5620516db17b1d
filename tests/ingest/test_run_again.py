"""Whether a batch that runs again may have left its substreams as they stand."""

from __future__ import annotations

import pytest

from pipelines.ingest.watermark import Progress, Seen, may_have_left
from pipelines.intervals import Interval

BATCH = Interval(100, 200)


def progress(substream: str, *, at: int, arrived: int | None = None) -> Progress:
    return Progress(
        substream=substream,
        newest_event_us=at,
        newest_arrival_us=at if arrived is None else arrived,
        watermark_us=at,
        is_idle=False,
    )


def seen(at: int, substream: str) -> Seen:
    return Seen(substream=substream, newest_event_us=at, newest_arrival_us=at)


@pytest.mark.parametrize(
    ("stood", "has_seen", "known", "may"),
    [
        ([progress("x", at=150)], [seen(150, "x")], [], True),
        # Of the others nothing is asked but that they are not of this batch.
        ([progress("x", at=150), progress("y", at=50)], [seen(150, "x")], [progress("z", at=90)], True),
        ([progress("x", at=150), progress("y", at=100)], [seen(150, "x")], [], False),
        ([progress("y", at=150)], [seen(150, "x")], [], False),
        # It has others now: older ones, newer ones, or as new ones that arrive at another time.
        ([progress("x", at=151)], [seen(150, "x")], [progress("x", at=151)], False),
        ([progress("x", at=149)], [seen(150, "x")], [], False),
        ([progress("x", at=150, arrived=149)], [seen(150, "x")], [], False),
        # What happened latest arrived before.
        ([progress("x", at=180, arrived=150)], [seen(150, "x")], [], False),
        (
            [progress("x", at=180, arrived=150)],
            [seen(150, "x")],
            [progress("x", at=180)],
            True,
        ),
        (
            [progress("x", at=180, arrived=150)],
            [seen(150, "x")],
            [progress("x", at=179)],
            False,
        ),
    ],
)
def test_what_a_batch_may_have_left_is_what_it_has_seen_beside_what_was_known(
    stood: list[Progress], has_seen: list[Seen], known: list[Progress], may: bool
) -> None:
    assert may_have_left(stood, has_seen, known=known, batch=BATCH) is may
