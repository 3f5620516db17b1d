"""Whoever looks at the ledger and then takes its time: what others have done meanwhile is not undone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import LongType

from pipelines.errors import CorrectTheCall, WaitForTheBatch
from pipelines.intervals import Interval
from pipelines.spec import Retention
from pipelines.stages import Request, abandoning, preparing, running
from pipelines.store import attempts, small, upkeep
from pipelines.store.attempts import Attempt
from pipelines.store.ledger import Run, mark, still_mine
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.retention import gone_from
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
    with pytest.raises(WaitForTheBatch, match="was rebuilt since this run began, or is being rebuilt"):
        running.open_batch(Place(rides), Request(batch=THIRD))  # type: ignore[arg-type]  # enough here
    assert rides.stands() == ([], [])
    monkeypatch.setattr(running, "prepare", lambda *_, **__: None)
    assert running.open_batch(Place(rides), Request(batch=FIRST)).is_first  # type: ignore[arg-type]  # enough


@pytest.mark.parametrize("ends", [False, True])
def test_a_run_of_another_spec_makes_no_table_anew_under_a_batch_that_has_begun_since(
    rides: Rides,
    monkeypatch: pytest.MonkeyPatch,
    empty_tables: Callable[[Sequence[Interval]], None],
    ends: bool,
) -> None:
    empty_tables([FIRST, SECOND])

    def others() -> None:
        run = rides.begin(FIRST)
        rides.write("anew", FIRST)
        if ends:
            rides.close(run)

    prepares_another_spec(monkeypatch, meanwhile=others)
    with pytest.raises(WaitForTheBatch, match="others have begun or ended a batch"):
        running.open_batch(Place(rides), Request(batch=SECOND))  # type: ignore[arg-type]  # enough here
    assert rides.stands() == (["anew"], [(FIRST, "published" if ends else "running")])


def test_what_a_run_of_another_spec_made_anew_is_no_version_of_a_batch_that_has_begun_since(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, empty_tables: Callable[[Sequence[Interval]], None]
) -> None:
    empty_tables([FIRST, SECOND])
    says, left = preparing.say_versions, [True]

    def slept(store: Folder, changed: Mapping[str, int], **how: Any) -> None:
        if left:
            left.pop()
            rides.run("one", FIRST)
            rides.begin(SECOND)
        says(store, changed, **how)

    prepares_another_spec(monkeypatch)
    monkeypatch.setattr(preparing, "say_versions", slept)
    with pytest.raises(WaitForTheBatch, match="others have begun or ended a batch"):
        running.open_batch(Place(rides), Request(batch=SECOND))  # type: ignore[arg-type]  # enough here
    abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    stood = ["one", "one and before"], [(FIRST, "published"), (SECOND, "abandoned")]
    assert rides.stands() == stood


def prepares_another_spec(
    monkeypatch: pytest.MonkeyPatch, *, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Let runs be of a spec with one aggregate more, without a Spark."""

    def shapes_of(*_: object, **__: object) -> Shapes:
        meanwhile()
        return replace(SHAPES, parts={**SHAPES.parts, "more__rows": LongType()})

    for name, does in (
        ("schemas_of", lambda *_, **__: {}),
        ("check", lambda *_, **__: None),
        ("unfit", lambda *_, **__: ()),
        ("unknown_in", lambda *_: ()),
        ("shapes_of", shapes_of),
    ):
        monkeypatch.setattr(preparing, name, does)


def test_a_run_that_prepares_its_first_batch_again_does_not_begin_in_tables_that_are_half_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rides = Rides(tmp_path)
    mark(rides.store, rides.begin(FIRST), status="failed")
    rides.write("half", FIRST)
    ledger = small.open_table(rides.store, "runs")
    # A rebuilding has come so far.
    monkeypatch.setattr(running, "prepare", lambda *_, **__: small.overwrite(ledger, []))
    with pytest.raises(WaitForTheBatch, match=r"there are rows in frames: it is being rebuilt"):
        running.open_batch(Place(rides), Request(batch=FIRST))  # type: ignore[arg-type]  # enough here
    assert rides.stands() == (["half"], [])


def test_a_ledger_that_is_gone_is_not_taken_for_one_that_a_rebuilding_has_emptied(tmp_path: Path) -> None:
    rides = Rides(tmp_path)
    mark(rides.store, rides.begin(FIRST), status="failed")
    rides.write("there", FIRST)
    shutil.rmtree(tmp_path / "store" / "rides" / "runs")
    with pytest.raises(CorrectTheCall, match=r"rows in frames, but its ledger, the table runs, is gone"):
        running.open_batch(Place(rides), Request(batch=FIRST))  # type: ignore[arg-type]  # enough here
    assert not small.is_there(rides.store, "runs")


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
    assert gone_from(rides.store) is None
    assert rides.stands()[0] == ["one", "one and before"]
