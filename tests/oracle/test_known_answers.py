"""The oracle gives the published answers of the user scores."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.oracle import LATEST, Aggregate, Batch, Event, Pipeline, Walk, Window
from tests.oracle.panes import standing_windows

SCORES = Path(__file__).parent.parent / "cases" / "user_scores.csv"
MINUTE = 60_000_000
NOON = int(datetime(2020, 1, 1, 12, tzinfo=UTC).timestamp()) * 1_000_000
TEAM_TOTALS = Pipeline(
    aggregates=(Aggregate(name="total", op="sum", of="score"),),
    windows=(Window(name="two_minutes", size=2 * MINUTE, step=2 * MINUTE),),
)
ALL_DATA = Batch(start=NOON, end=NOON + 10 * MINUTE, final=True)


def scores() -> list[Event]:
    with SCORES.open(newline="") as file:
        return [
            Event(
                id=number,
                key=(row["team"],),
                event_us=instant(row["event_time"]),
                arrival_us=instant(row["arrival_time"]),
                values={"score": int(row["score"])},
            )
            for number, row in enumerate(csv.DictReader(file))
        ]


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def totals(walk: Walk) -> dict[int, int]:
    """Of each window in force, its start in minutes after noon, and the total."""
    return {
        (place[2][0] - NOON) // MINUTE: pane.results[0]
        for place, pane in standing_windows(walk.panes).items()
    }


def test_two_minutes_of_event_time_over_all_data() -> None:
    walk = Walk(pipeline=TEAM_TOTALS)
    walk.run(ALL_DATA, scores())
    assert totals(walk) == {0: 14, 2: 18, 4: 4, 6: 12}
    assert {pane.timing for pane in walk.panes} == {"ON_TIME"}
    assert walk.watermark == LATEST


def test_the_order_of_rows_tells_nothing() -> None:
    walk, reversed_walk = Walk(pipeline=TEAM_TOTALS), Walk(pipeline=TEAM_TOTALS)
    walk.run(ALL_DATA, scores())
    reversed_walk.run(ALL_DATA, reversed(scores()))
    assert set(walk.panes) == set(reversed_walk.panes)


@pytest.mark.parametrize("minutes", [1, 2, 5, 10])
def test_with_lateness_enough_any_split_into_batches_ends_with_the_same_windows(minutes: int) -> None:
    patient = Pipeline(
        aggregates=TEAM_TOTALS.aggregates,
        windows=(Window(name="two_minutes", size=2 * MINUTE, step=2 * MINUTE, lateness=60 * MINUTE),),
    )
    walk = Walk(pipeline=patient)
    for start in range(0, 10, minutes):
        walk.run(Batch(start=NOON + start * MINUTE, end=NOON + (start + minutes) * MINUTE), scores())
    walk.run(Batch(start=NOON + 10 * MINUTE, end=NOON + 11 * MINUTE, final=True), scores())
    assert totals(walk) == {0: 14, 2: 18, 4: 4, 6: 12}


def test_without_lateness_julie_and_frank_come_too_late() -> None:
    walk = Walk(pipeline=TEAM_TOTALS)
    for minute in range(10):
        walk.run(Batch(start=NOON + minute * MINUTE, end=NOON + (minute + 1) * MINUTE), scores())
    assert totals(walk) == {0: 5, 2: 7 + 3, 4: 4}
    late = [event.values["score"] for outcome in walk.ledger for event in outcome.fates.late]
    assert late == [8, 9]
