"""Several at one batch: what each stage, retry and taking over leaves to the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pipelines.errors import ChooseAnotherBatch, WaitForTheBatch
from pipelines.spec import Retention
from pipelines.stages import Request, abandoning, running
from pipelines.stages.running import _done_in_turn
from pipelines.store import attempts, reader, small
from pipelines.store.attempts import Attempt, What, first_of
from pipelines.store.history import versions
from pipelines.store.ledger import Asked, Run, forget, mark, still_mine, withdraw
from pipelines.store.ledger_rows import OPENING
from pipelines.store.progress import (
    CHANGED,
    Done,
    begun_stages,
    ever_noted,
    finish_stage,
    finished_stages,
    note,
    noted,
    stages_before,
)
from pipelines.store.reader import wishes_of
from pipelines.store.retention import say_gone
from pipelines.store.tables import Folder
from pipelines.windows import Gone
from tests.stages.rides import FIRST, SECOND, THIRD, Place, Rides, rides

__all__ = ["rides"]

PUBLISH, ACCUMULATE = Asked(stage="publish"), Asked(stage="accumulate", source="main")


@pytest.mark.parametrize("ends", [Rides.close, lambda rides, run: forget(rides.store, run)])
def test_a_batch_is_not_ended_while_a_stage_before_is_done_anew(
    rides: Rides, ends: Callable[[Rides, Run], None]
) -> None:
    publishing = rides.begin(SECOND, PUBLISH)
    rides.begin(SECOND, ACCUMULATE)
    with pytest.raises(WaitForTheBatch):
        ends(rides, publishing)
    assert rides.stands()[1] == [(FIRST, "published"), (SECOND, "running")]
    rides.close(rides.begin(SECOND, PUBLISH))


def test_an_abandoning_that_sleeps_leaves_the_notes_of_who_went_on(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    voids, went_on = abandoning.void_attempts, list[Run]()

    def rows(changed: int) -> Done:
        return Done(stage="accumulate", source="main", counts={CHANGED: changed})

    def slept(store: Folder, run: Run) -> None:
        went_on.append(rides.begin(SECOND))
        note(rides.store, went_on[0], done=rows(7))
        voids(store, run)

    note(rides.store, rides.begin(SECOND), done=rows(5))
    monkeypatch.setattr(abandoning, "void_attempts", slept)
    with pytest.raises(WaitForTheBatch):
        abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    assert noted(rides.store, went_on[0], name=CHANGED) == 7
    assert ever_noted(rides.store, went_on[0], name=CHANGED)


def test_an_abandoning_forgets_what_was_done_also_where_the_batch_is_opened_meanwhile(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    voids = abandoning.void_attempts

    def slept(store: Folder, run: Run) -> None:
        rides.begin(SECOND, Asked(stage=OPENING))
        voids(store, run)

    finish_stage(
        rides.store, rides.begin(SECOND), done=Done(stage="accumulate", source="main", counts={"accepted": 1})
    )
    monkeypatch.setattr(abandoning, "void_attempts", slept)
    abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    assert finished_stages(rides.store, rides.begin(SECOND)) == []


def test_who_has_another_spec_and_looked_long_ago_leaves_what_others_have_done_since(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    voids, third = attempts.void, list[Run]()

    def slept(*asked: Any, **how: Any) -> None:
        if not third:
            rides.run("two", SECOND)
            third.append(rides.begin(THIRD))
            finish_stage(rides.store, third[0], done=Done(stage="accumulate", source="main", counts={}))
        voids(*asked, **how)

    rides.begin(SECOND)
    monkeypatch.setattr(attempts, "void", slept)
    respelled = copy(rides)
    respelled.fingerprint += " "
    with pytest.raises(WaitForTheBatch):
        respelled.begin(SECOND)
    assert [one.stage for one in finished_stages(rides.store, third[0])] == ["accumulate"]


def test_a_stage_is_done_when_each_source_that_began_it_has_ended_it() -> None:
    #  number, stage, source; whoever is at several stages has None
    def of(what: What, *told: tuple[int, str | None, str | None]) -> list[Attempt]:
        return [
            Attempt(
                attempt=number, batch=SECOND, revision=0, what=what, stage=stage, source=source, at_us=number
            )
            for number, stage, source in told
        ]

    one, other, combine = (1, "accumulate", "one"), (2, "accumulate", "other"), (4, "combine", None)
    both, again = of("finished", one, other), (3, "accumulate", "one")
    assert _done_in_turn(both, of("begun", one, other)) == {"accumulate"}
    # Begun again, and at work or cut off.
    assert _done_in_turn(both, of("begun", one, other, again)) == set()
    assert _done_in_turn(of("finished", again, other), of("begun", one, other, again)) == {"accumulate"}
    # One that began for the first time.
    assert _done_in_turn(of("finished", one), of("begun", one, other)) == set()
    # Whoever runs all stages was cut off between two sources.
    assert (
        _done_in_turn(of("finished", (5, *one[1:]), other), of("begun", one, other, (5, None, None))) == set()
    )
    done = [*of("finished", again, other, combine)]
    assert _done_in_turn(done, of("begun", one, other, again, combine)) == {"accumulate", "combine"}


def test_stages_of_a_batch_that_changed_nothing_are_done_where_a_later_one_runs_again(rides: Rides) -> None:
    rides.run("two", SECOND)
    rides.begin(SECOND, Asked(stage=OPENING))
    done = Done(stage="accumulate", source="main", counts={"accepted": 1})
    finish_stage(rides.store, rides.begin(SECOND, ACCUMULATE), done=done)
    forget(rides.store, rides.begin(SECOND, PUBLISH))
    rides.begin(SECOND, Asked(stage=OPENING))
    later = rides.begin(SECOND, Asked(stage="finalise"))
    assert later.revision == 1
    assert [one.counts for one in stages_before(rides.store, later)] == [done.counts]
    assert finished_stages(rides.store, later) == []
    first = first_of(rides.store, SECOND, revision=1)
    assert first is not None and first.counts == versions(rides.store)


def test_what_changed_nothing_is_as_if_nobody_had_begun_it(rides: Rides) -> None:
    rides.run("two", SECOND)
    store, name = str(Place(rides).store), rides.pipeline.name
    forgotten = rides.begin(SECOND, Asked(wishes={"ignore_lateness": 1}))
    note(rides.store, forgotten, done=Done(stage="accumulate", source="main", counts={CHANGED: 0}))
    forget(rides.store, forgotten)
    assert wishes_of(store, name, batch=SECOND, revision=forgotten.revision) == {}
    assert not any(one.is_of(SECOND, forgotten.revision) for one in attempts.read(rides.store))
    assert attempts.highest(rides.store) == forgotten.begun.attempt
    with pytest.raises(WaitForTheBatch):
        still_mine(rides.store, forgotten)


def test_what_was_killed_before_it_was_forgotten_leaves_later_stages_alone(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*asked: Any, **how: Any) -> None:
        raise KeyboardInterrupt

    rides.run("two", SECOND)
    done = Done(stage="accumulate", source="main", counts={"accepted": 1})
    finish_stage(rides.store, rides.begin(SECOND, ACCUMULATE), done=done)
    publishing = rides.begin(SECOND, PUBLISH)
    note(rides.store, publishing, done=replace(done, counts={CHANGED: 0}))
    with monkeypatch.context() as cut, pytest.raises(KeyboardInterrupt):
        cut.setattr(attempts, "forget", killed)
        forget(rides.store, publishing)
    again = rides.begin(SECOND, PUBLISH)
    assert begun_stages(rides.store, again) == []
    assert [one.counts for one in stages_before(rides.store, again)] == [done.counts]


def test_who_is_forgotten_with_those_that_took_over_writes_no_more(rides: Rides) -> None:
    rides.run("two", SECOND)
    asleep = rides.begin(SECOND)
    finish_stage(rides.store, asleep, done=Done(stage="accumulate", source="main", counts={}))
    forget(rides.store, rides.begin(SECOND))
    rides.begin(SECOND, Asked(stage=OPENING))
    with pytest.raises(WaitForTheBatch):
        still_mine(rides.store, asleep)


def test_who_comes_too_early_leaves_those_at_work(rides: Rides) -> None:
    rides.run("two", SECOND)
    at_work = rides.begin(THIRD)
    withdraw(rides.store, rides.begin(THIRD, Asked(stage="combine")))
    assert not rides.begin(THIRD).is_first
    assert at_work.is_first


@pytest.mark.parametrize("is_given_up", [True, False])
def test_a_batch_may_be_given_up_that_was_opened_and_never_begun(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, is_given_up: bool
) -> None:
    def killed(*asked: Any, **how: Any) -> tuple[Attempt, bool]:
        raise KeyboardInterrupt

    if is_given_up:
        rides.begin(SECOND)
        abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    else:
        rides.run("two", SECOND)
        forget(rides.store, rides.begin(SECOND))
    stood = rides.stands()
    with monkeypatch.context() as cut, pytest.raises(KeyboardInterrupt):
        cut.setattr(attempts, "begin", killed)
        rides.begin(SECOND)
    assert (SECOND, "running") in rides.stands()[1]
    abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    assert rides.stands()[0] == stood[0]
    assert (SECOND, "abandoned") in rides.stands()[1]


def test_a_source_goes_on_where_another_fails_in_that_instant(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = rides.begin(SECOND, ACCUMULATE)
    begins = attempts.begin

    def slept(*asked: Any, **how: Any) -> tuple[Attempt, bool]:
        mark(rides.store, failing, status="failed")
        return begins(*asked, **how)

    monkeypatch.setattr(attempts, "begin", slept)
    rides.begin(SECOND, Asked(stage="accumulate", source="other"))
    assert rides.stands()[1] == [(FIRST, "published"), (SECOND, "running")]


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_batch_begun_anew_says_which_versions_its_tables_have_now(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    says = abandoning.say_versions

    def slept(store: Folder, changed: Mapping[str, int] | None, *, of: Attempt) -> None:
        if not is_killed:
            rides.begin(SECOND)
            says(store, changed, of=of)

    monkeypatch.setattr(abandoning, "say_versions", slept)
    abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    if is_killed:
        small.let_be_empty(rides.store, "frames")
        rides.begin(SECOND)
    first = first_of(rides.store, SECOND, revision=0)
    assert first is not None and first.counts == versions(rides.store)


def test_what_is_asked_for_is_known_as_soon_as_the_batch_is_open(rides: Rides) -> None:
    stood = small.open_table(rides.store, "attempts").version()
    run = rides.begin(SECOND, Asked(wishes={"final": 1}))
    assert small.open_table(rides.store, "attempts").version() == stood + 1
    store, name = str(Place(rides).store), rides.pipeline.name
    for asked, known in ((Asked(), {"final": 1}), (Asked(wishes={}), {})):
        rides.begin(SECOND, asked)
        assert wishes_of(store, name, batch=SECOND, revision=run.revision) == known


def test_what_upkeep_has_let_go_since_somebody_looked_is_not_restated(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    rides.run("two", SECOND)
    rides.pipeline = replace(rides.pipeline, retention=Retention(frames_us=1))
    gone_us = FIRST.end_us + 1
    monkeypatch.setattr(running, "prepare", lambda *_, **__: say_gone(rides.store, Gone(until_us=gone_us)))
    monkeypatch.setattr(running, "is_to_prepare", lambda *_, **__: True)
    with pytest.raises(ChooseAnotherBatch, match="older than what `retention` keeps"):
        running.open_batch(Place(rides), Request(batch=FIRST))  # type: ignore[arg-type]  # enough here
    assert rides.stands()[1] == [(FIRST, "published"), (SECOND, "published")]


def test_when_the_ledger_changed_is_told_also_while_others_write_it(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(path: str) -> DeltaTable:
        found = DeltaTable(path)
        rides.begin(SECOND)
        return found

    monkeypatch.setattr(reader, "DeltaTable", opened)
    before = datetime.now(UTC) - timedelta(minutes=1)
    changed = reader.ledger_changed(str(Path(rides.store.root).parent), "rides")
    assert changed is not None and changed > before
