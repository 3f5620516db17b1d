"""Whoever looks at the ledger and then takes its time: what others have done meanwhile is not undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql.types import LongType

from pipelines.errors import WaitForTheBatch
from pipelines.intervals import Interval
from pipelines.spec import Retention
from pipelines.stages import Request, abandoning, preparing, running
from pipelines.store import attempts, upkeep
from pipelines.store.attempts import Attempt
from pipelines.store.ledger import Run, still_mine
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.retention import gone_until_us
from pipelines.store.tables import Folder, Shapes
from tests.stages.rides import FIRST, SECOND, SHAPES, THIRD, Place, Rides, empty_tables, rides

__all__ = ["empty_tables", "rides"]


@pytest.mark.parametrize("ends", [True, False])
def test_an_abandoning_that_looked_before_the_batch_ended_leaves_it(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    reads, left = abandoning.read_rows, [True]

    def others(store: Folder) -> list[LedgerRow]:
        rows = reads(store)
        if left:
            left.pop()
            rides.run("two", SECOND)
            if not ends:
                rides.begin(SECOND)
        return rows

    monkeypatch.setattr(abandoning, "read_rows", others)
    with pytest.raises(WaitForTheBatch, match="has ended since, or was begun anew"):
        abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    ran = [(FIRST, "published"), (SECOND, "published")]
    assert rides.stands() == (["two", "two and before"], ran if ends else [*ran, (SECOND, "running")])


def test_a_run_that_prepares_while_all_is_emptied_begins_nothing(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, empty_tables: Callable[[Sequence[Interval]], None]
) -> None:
    rides.run("two", SECOND)
    monkeypatch.setattr(running, "prepare", lambda *_, **__: empty_tables([FIRST]))
    with pytest.raises(WaitForTheBatch, match="is being rebuilt since this run began"):
        running.open_batch(Place(rides), Request(batch=THIRD))  # type: ignore[arg-type]  # enough here
    assert rides.stands() == ([], [])
    monkeypatch.setattr(running, "prepare", lambda *_, **__: None)
    assert running.open_batch(Place(rides), Request(batch=FIRST)).is_first  # type: ignore[arg-type]  # enough


def test_a_run_of_another_spec_makes_no_table_anew_under_a_batch_that_has_begun_since(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, empty_tables: Callable[[Sequence[Interval]], None]
) -> None:
    empty_tables([FIRST, SECOND])

    def others(*_: object, **__: object) -> Shapes:
        rides.begin(FIRST)
        rides.write("anew", FIRST)
        return replace(SHAPES, parts={**SHAPES.parts, "more__rows": LongType()})

    for name, does in (
        ("schemas_of", lambda *_, **__: {}),
        ("check", lambda *_, **__: None),
        ("unfit", lambda *_, **__: ()),
        ("shapes_of", others),
    ):
        monkeypatch.setattr(preparing, name, does)
    with pytest.raises(WaitForTheBatch, match="others have begun or ended a batch"):
        running.open_batch(Place(rides), Request(batch=SECOND))  # type: ignore[arg-type]  # enough here
    assert rides.stands() == (["anew"], [(FIRST, "running")])


def test_who_slept_before_it_took_its_number_does_not_take_over_a_batch_begun_anew(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins, left, anew = attempts.begin, [True], list[Run]()

    def slept(*asked: Any, **how: Any) -> tuple[Attempt, bool]:
        if left:
            left.pop()
            abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
            rides.run("three", THIRD)
            anew.append(rides.begin(SECOND))
        return begins(*asked, **how)

    monkeypatch.setattr(attempts, "begin", slept)
    with pytest.raises(WaitForTheBatch):
        rides.begin(SECOND)
    assert anew[0].opening.restated
    still_mine(rides.store, anew[0])


def test_an_upkeep_that_sleeps_while_all_is_emptied_lets_nothing_of_the_new_go(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, empty_tables: Callable[[Sequence[Interval]], None]
) -> None:
    rides.run("two", SECOND)
    rides.pipeline = replace(rides.pipeline, retention=Retention(frames_us=1))
    waits, left = upkeep.waiting_latenesses, [True]

    def others(rows: list[LedgerRow]) -> object:
        if left:
            left.pop()
            empty_tables([FIRST])
            rides.run("one", FIRST)
        return waits(rows)

    monkeypatch.setattr(upkeep, "waiting_latenesses", others)
    with pytest.raises(WaitForTheBatch, match="being rebuilt since this upkeep began"):
        upkeep.maintain_table(rides.store, "frames", pipeline=rides.pipeline)
    assert gone_until_us(rides.store) is None
    assert rides.stands()[0] == ["one", "one and before"]
