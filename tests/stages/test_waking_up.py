"""Whoever gives a batch up, or empties all tables, and sleeps in the middle: others have gone on when it
wakes up, and it writes nothing any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.errors import WaitForTheBatch
from pipelines.intervals import Interval
from pipelines.spec import state_fingerprint
from pipelines.stages import abandoning, preparing
from pipelines.stages.gates import take_back
from pipelines.store import attempts, small
from pipelines.store.attempts import Attempt
from pipelines.store.fence import BY_SOURCE
from pipelines.store.ledger import Asked, Run, forget, read_rows, still_mine
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.retention import gone_from, say_gone
from pipelines.store.runs import Runs
from pipelines.store.tables import Folder
from pipelines.windows import Gone
from tests.stages.rides import (
    DAY,
    FIRST,
    SECOND,
    THIRD,
    Place,
    Rides,
    empty_tables,
    rides,
    sleeping_before,
)

__all__ = ["empty_tables", "rides"]


def test_an_abandoning_that_wakes_up_leaves_the_frames_of_those_who_went_on(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    def others() -> None:
        rides.run("two", SECOND)
        rides.run("three", THIRD)

    monkeypatch.setattr(abandoning, "restore", sleeping_before("frames", others, abandoning.restore))
    with pytest.raises(WaitForTheBatch) as told:
        abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    assert told.value.is_over
    ran = [(batch, "published") for batch in (FIRST, SECOND, THIRD)]
    assert rides.stands() == (["three", "three and before"], ran)


def test_an_abandoning_in_peace_brings_back_what_stood_and_keeps_what_upkeep_said(rides: Rides) -> None:
    say_gone(rides.store, Gone(until_us=5))
    abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    assert rides.stands() == (["one", "one and before"], [(FIRST, "published"), (SECOND, "abandoned")])
    assert gone_from(rides.store) == Gone(until_us=5)


def test_a_rebuilding_that_wakes_up_leaves_the_frames_of_those_who_went_on(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, empty_tables: Callable[[Sequence[Interval]], None]
) -> None:
    def others() -> None:
        empty_tables([FIRST])
        rides.run("one", FIRST)
        rides.run("two", SECOND)

    monkeypatch.setattr(small, "recreate", sleeping_before("frames", others, small.recreate))
    with pytest.raises(WaitForTheBatch) as told:
        empty_tables([FIRST])
    assert told.value.is_over
    ran = [(FIRST, "published"), (SECOND, "published")]
    assert rides.stands() == (["two", "two and before"], ran)


@pytest.mark.parametrize("is_first", [True, False])
def test_who_sleeps_before_its_last_write_does_not_end_the_batch_that_is_rebuilt_meanwhile(
    rides: Rides, empty_tables: Callable[[Sequence[Interval]], None], is_first: bool
) -> None:
    asleep = rides.begin(SECOND)
    with pytest.raises(WaitForTheBatch, match="the tables cannot be rebuilt under it"):
        empty_tables([FIRST])
    if is_first:
        empty_tables([SECOND])
    else:
        empty_tables([FIRST, SECOND])
        rides.run("one", FIRST)
    with pytest.raises(WaitForTheBatch):
        still_mine(rides.store, asleep)
    anew = rides.begin(SECOND)
    assert (anew.batch, anew.revision) == (asleep.batch, asleep.revision)
    stood = rides.stands()
    published = [] if is_first else [(FIRST, "published")]
    assert stood[1] == [*published, (SECOND, "running")]
    for ends in (rides.close, lambda run: forget(rides.store, run)):
        with pytest.raises(WaitForTheBatch):
            ends(asleep)
        assert rides.stands() == stood
    rides.close(anew)
    assert rides.stands()[1] == [*published, (SECOND, "published")]


def test_a_rebuilding_that_sleeps_before_it_takes_its_number_leaves_what_others_have_published_since(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, empty_tables: Callable[[Sequence[Interval]], None]
) -> None:
    begins, left = attempts.begin, [True]

    def slept(*asked: Any, **how: Any) -> tuple[Attempt, bool]:
        if left:
            left.pop()
            empty_tables([FIRST])
            rides.run("one", FIRST)
        return begins(*asked, **how)

    monkeypatch.setattr(attempts, "begin", slept)
    with pytest.raises(WaitForTheBatch) as told:
        empty_tables([SECOND])
    assert told.value.is_over
    assert rides.stands() == (["one", "one and before"], [(FIRST, "published")])


def test_an_abandoning_that_sleeps_before_its_last_write_leaves_the_batch_to_who_went_on_with_it(
    rides: Rides, monkeypatch: pytest.MonkeyPatch
) -> None:
    says, begun = abandoning.abandon_run, list[Run]()

    def slept(store: Folder, run: Run) -> None:
        begun.append(rides.begin(SECOND))
        says(store, run)

    monkeypatch.setattr(abandoning, "abandon_run", slept)
    with pytest.raises(WaitForTheBatch):
        abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    assert rides.stands()[1] == [(FIRST, "published"), (SECOND, "running")]
    rides.close(begun[0])
    assert rides.stands()[1] == [(FIRST, "published"), (SECOND, "published")]


@pytest.mark.parametrize("abandons", [True, False])
def test_who_ends_a_batch_that_is_taken_over_since_it_last_asked_leaves_it(
    rides: Rides, monkeypatch: pytest.MonkeyPatch, abandons: bool
) -> None:
    older, newer, left = rides.begin(SECOND), list[Run](), [True]
    puts = Runs.put

    def slept(runs: Runs, *rows: LedgerRow) -> None:
        if left:
            left.pop()
            newer.append(rides.begin(SECOND))
        puts(runs, *rows)

    monkeypatch.setattr(Runs, "put", slept)
    with pytest.raises(WaitForTheBatch):
        if abandons:
            abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
        else:
            rides.close(older)
    assert rides.stands()[1] == [(FIRST, "published"), (SECOND, "running")]
    rides.close(newer[0])
    assert rides.stands()[1] == [(FIRST, "published"), (SECOND, "published")]


def test_a_rebuilding_and_an_abandoning_fence_the_lanes_of_sources_that_the_spec_no_longer_has(
    rides: Rides, empty_tables: Callable[[Sequence[Interval]], None]
) -> None:
    assert written(rides, "partial_frames/main") is None
    (renamed,) = rides.pipeline.sources
    rides.pipeline = replace(rides.pipeline, sources=(replace(renamed, name="ewr"),))
    abandoning.abandon_batch(rides.store, rides.pipeline, batch=SECOND)
    given_up = [written(rides, f"partial_frames/{source}") for source in ("main", "ewr")]
    empty_tables([SECOND])
    emptied = [written(rides, f"partial_frames/{source}") for source in ("main", "ewr")]
    assert given_up[0] == given_up[1] and emptied[0] == emptied[1]
    assert 0 < (given_up[0] or 0) < (emptied[0] or 0)


def test_an_attempt_under_an_older_spec_takes_away_no_rows_of_a_source_that_has_come_since(
    rides: Rides,
) -> None:
    older = rides.begin(SECOND, Asked(stage="accumulate", source="main"))
    (main,) = rides.pipeline.sources
    rides.pipeline = replace(rides.pipeline, sources=(main, replace(main, name="ewr")))
    rides.fingerprint = state_fingerprint(rides.pipeline)
    newer = rides.begin(SECOND, Asked(stage="accumulate", source="ewr"))

    def put(run: Run, source: str) -> None:
        rows = [{"source": source, "batch_start": SECOND.start_us, "batch_end": SECOND.end_us}]
        fence = run.fence(f"watermarks/{source}")
        # The first source stands for those that its spec does not have.
        where = "source <> 'ewr'" if source == "main" and run is newer else "true"
        small.put(rides.store, "watermarks", rows=rows, where=where, fence=fence)

    put(newer, "ewr")
    with pytest.raises(WaitForTheBatch):
        put(older, "main")
    again = rides.begin(SECOND, Asked(stage="accumulate", source="main"))
    lanes = [f"{table}/main" for table in BY_SOURCE if small.is_there(rides.store, table)]
    found = {lane: written(rides, lane) for lane in lanes}
    assert all(number is not None and older.begun.attempt <= number for number in found.values())
    assert all(number is not None and number < again.begun.attempt for number in found.values())
    assert [it["source"] for it in small.read(small.open_table(rides.store, "watermarks"))] == ["ewr"]


def test_who_found_nothing_changed_and_wakes_up_leaves_what_a_newer_attempt_has_found(rides: Rides) -> None:
    older, newer = rides.begin(SECOND), rides.begin(SECOND)
    of_batch = {"batch_start": SECOND.start_us, "batch_end": SECOND.end_us}
    found = {"stage": "frames", "revision": newer.revision, **of_batch}
    small.put(
        rides.store, "checks", rows=[found], where="stage = 'frames'", fence=newer.fence("checks/frames")
    )
    with pytest.raises(WaitForTheBatch):
        take_back(SimpleNamespace(tables=rides.store, run=older, batch=SECOND))  # type: ignore[arg-type]  # enough here
    assert small.has_rows(rides.store, "checks")
    take_back(SimpleNamespace(tables=rides.store, run=newer, batch=SECOND))  # type: ignore[arg-type]  # likewise
    assert not small.has_rows(rides.store, "checks")


def test_a_table_that_an_unfinished_batch_has_emptied_has_rows_still(rides: Rides) -> None:
    assert not has_late_rows(rides)
    lose_one(rides)
    rides.run("two", SECOND)
    rides.begin(THIRD)
    small.let_be_empty(rides.store, "late_events")
    assert has_late_rows(rides)


def test_a_table_has_none_where_an_unfinished_batch_alone_has_put_some_there(rides: Rides) -> None:
    rides.run("two", SECOND)
    rides.begin(THIRD)
    lose_one(rides)
    assert not has_late_rows(rides)


def lose_one(rides: Rides) -> None:
    lost = {"city": "one", "source": "main", "batch_start": 0, "batch_end": DAY}
    small.append(small.open_table(rides.store, "late_events"), [lost])


def has_late_rows(rides: Rides) -> bool:
    return preparing._has_rows(Place(rides), "late_events", rows=read_rows(rides.store))  # type: ignore[arg-type]


def written(rides: Rides, lane: str) -> int | None:
    """The newest attempt that has written in a lane, or keeps others from it."""
    return small.open_table(rides.store, lane.split("/", maxsplit=1)[0]).transaction_version(lane)
