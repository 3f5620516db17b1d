"""Who may write: opening, taking over, and what an attempt that was taken over may still do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import RunAgain, WaitForTheBatch
from pipelines.intervals import Interval
from pipelines.store import attempts, ledger, progress, small
from pipelines.store.fence import Fence
from pipelines.store.ledger import Run
from pipelines.store.ledger_rows import OPENING, LedgerRow
from pipelines.store.opening import Opening, opening_of
from pipelines.store.progress import Done
from pipelines.store.tables import ATTEMPTS, CHECKS, RUNS, Store

DAY = 86_400_000_000


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    made = Store(root=str(tmp_path / "pipeline"), spark=spark)
    small.create(made, "runs", columns=RUNS)
    small.create(made, "attempts", columns=ATTEMPTS)
    small.create(made, "checks", columns=CHECKS)
    return made


def open_day(
    store: Store, day: int, *, stage: str | None = None, source: str | None = None, spec: str = "f"
) -> Run:
    batch = Interval(day * DAY, (day + 1) * DAY)

    def opens(rows: list[LedgerRow]) -> Opening:
        return opening_of(rows, batch, fingerprint=spec, replace=False)

    return ledger.open_run(store, opens, fingerprint=spec, asked=ledger.Asked(stage=stage, source=source))


def close(store: Store, run: Run) -> None:
    row = run.opening.row(fingerprint="f", started_at_us=1)
    ledger.close_run(store, run, row=replace(row, status="published"))


def test_a_batch_is_opened_once_and_taken_over_with_the_same_row(store: Store) -> None:
    first, second = open_day(store, 1), open_day(store, 1)
    rows = ledger.read_rows(store)
    assert [(row.batch, row.status, row.revision) for row in rows] == [(first.batch, "running", 0)]
    assert second.begun.attempt > first.begun.attempt
    assert (first.is_first, second.is_first) == (True, False)


def test_a_batch_whose_workers_were_killed_is_left_as_failed_unless_a_whole_run_has_it(store: Store) -> None:
    opened = open_day(store, 1, stage=OPENING).begun.attempt
    open_day(store, 1, stage="combine")
    batch = Interval(DAY, 2 * DAY)
    assert ledger.leave(store, batch, revision=0, opened=opened)
    assert [row.status for row in ledger.read_rows(store)] == ["failed"]
    assert not ledger.leave(store, batch, revision=0, opened=opened)
    open_day(store, 1)
    assert not ledger.leave(store, batch, revision=0, opened=opened)
    assert [row.status for row in ledger.read_rows(store)] == ["running"]


def test_a_batch_whose_tasks_went_on_after_a_whole_run_of_it_is_left(store: Store) -> None:
    opened = open_day(store, 1, stage=OPENING).begun.attempt
    ledger.mark(store, open_day(store, 1), status="failed")
    open_day(store, 1, stage="combine")
    batch = Interval(DAY, 2 * DAY)
    assert ledger.leave(store, batch, revision=0, opened=opened)
    assert [row.status for row in ledger.read_rows(store)] == ["failed"]


def test_a_batch_that_somebody_else_opened_stage_by_stage_is_not_left(store: Store) -> None:
    opened = open_day(store, 1, stage=OPENING).begun.attempt
    others = open_day(store, 1, stage=OPENING).begun.attempt
    open_day(store, 1, stage="combine")
    batch = Interval(DAY, 2 * DAY)
    assert not ledger.leave(store, batch, revision=0, opened=opened)
    assert ledger.leave(store, batch, revision=0, opened=others)


def test_a_run_that_was_taken_for_dead_is_closed_and_one_that_was_given_up_is_not(store: Store) -> None:
    opened = open_day(store, 1, stage=OPENING).begun.attempt
    publishing = open_day(store, 1, stage="publish")
    assert ledger.leave(store, publishing.batch, revision=0, opened=opened)
    close(store, publishing)
    assert [row.status for row in ledger.read_rows(store)] == ["published"]
    late = open_day(store, 2, stage="publish")
    ledger.abandon_run(store, late)
    with pytest.raises(WaitForTheBatch, match="given up"):
        close(store, late)
    assert {row.status for row in ledger.read_rows(store)} == {"published", "abandoned"}


def test_an_attempt_that_was_taken_over_is_told_so_and_the_newer_one_is_not(store: Store) -> None:
    first, second = open_day(store, 1), open_day(store, 1)
    with pytest.raises(WaitForTheBatch, match="taken over"):
        progress.finish_stage(store, first, done=Done(stage="accumulate", source="main", counts={}))
    progress.finish_stage(store, second, done=Done(stage="accumulate", source="main", counts={"accepted": 3}))
    assert [dict(one.counts) for one in progress.finished_stages(store, second)] == [{"accepted": 3}]


def test_two_sources_of_a_batch_do_not_take_each_other_over(store: Store) -> None:
    one = open_day(store, 1, stage="accumulate", source="ewr")
    other = open_day(store, 1, stage="accumulate", source="jfk")
    ledger.still_mine(store, one)
    ledger.still_mine(store, other)
    assert (one.is_first, other.is_first) == (True, True)


def test_an_attempt_of_a_finished_batch_that_wakes_up_is_told_so(store: Store) -> None:
    sleeper = open_day(store, 1, stage="combine")
    close(store, open_day(store, 1))
    open_day(store, 2)
    with pytest.raises(WaitForTheBatch):
        ledger.still_mine(store, sleeper)


def test_a_write_of_an_older_attempt_is_refused_whenever_it_comes(store: Store) -> None:
    older, newer = Fence(lane="checks/panes", attempt=1), Fence(lane="checks/panes", attempt=2)
    row = {"stage": "panes", "batch_start": 0, "batch_end": DAY, "revision": 0}
    small.put(store, "checks", rows=[row], where="stage = 'panes'", fence=newer)
    with pytest.raises(WaitForTheBatch, match="attempt 2 has taken over"):
        small.put(store, "checks", rows=[], where="stage = 'panes'", fence=older)
    assert len(small.read(small.open_table(store, "checks"))) == 1


def test_of_many_that_open_different_batches_at_once_one_gets_it(store: Store) -> None:
    def attempt(day: int) -> str:
        try:
            open_day(store, day)
        except WaitForTheBatch:
            return "waits"
        return "runs"

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(attempt, range(6)))
    assert sorted(outcomes) == ["runs", *["waits"] * 5]
    assert [row.status for row in ledger.read_rows(store)] == ["running"]


def test_attempts_at_once_get_different_numbers(store: Store) -> None:
    with ThreadPoolExecutor(6) as pool:
        runs = list(
            pool.map(lambda number: open_day(store, 1, stage="accumulate", source=f"s{number}"), range(6))
        )
    numbers = {run.begun.attempt for run in runs}
    assert len(numbers) == 6
    assert {one.attempt for one in attempts.read(store)} == numbers


def test_a_run_that_failed_is_marked_and_can_be_taken_over(store: Store) -> None:
    run = open_day(store, 1)
    ledger.mark(store, run, status="failed")
    assert [row.status for row in ledger.read_rows(store)] == ["failed"]
    open_day(store, 1)
    assert [row.status for row in ledger.read_rows(store)] == ["running"]


def test_a_run_that_was_taken_over_marks_nothing(store: Store) -> None:
    run = open_day(store, 1)
    open_day(store, 1)
    ledger.mark(store, run, status="failed")
    assert [row.status for row in ledger.read_rows(store)] == ["running"]


def test_a_run_that_changed_nothing_leaves_no_row(store: Store) -> None:
    close(store, open_day(store, 1))
    again = open_day(store, 1)
    assert again.revision == 1
    ledger.forget(store, again)
    assert [(row.revision, row.status) for row in ledger.read_rows(store)] == [(0, "published")]


def test_what_was_done_under_another_spec_does_not_count(store: Store) -> None:
    first = open_day(store, 1, stage="accumulate", source="main")
    progress.finish_stage(store, first, done=Done(stage="accumulate", source="main", counts={"accepted": 3}))
    ledger.mark(store, first, status="stopped")
    changed = open_day(store, 1, stage="combine", spec="g")
    assert progress.finished_stages(store, changed) == []
    assert [row.spec_fingerprint for row in ledger.read_rows(store)] == ["g"]
    # It had written, so what comes next replaces.
    again = open_day(store, 1, stage="accumulate", source="main", spec="g")
    assert not again.is_first
    progress.finish_stage(store, again, done=Done(stage="accumulate", source="main", counts={"accepted": 4}))
    later = open_day(store, 1, stage="combine", spec="g")
    assert [dict(one.counts) for one in progress.finished_stages(store, later)] == [{"accepted": 4}]


def test_what_is_finished_after_others_went_on_under_another_spec_does_not_count(store: Store) -> None:
    done = Done(stage="accumulate", source="main", counts={"accepted": 3})
    first = open_day(store, 1, stage="accumulate", source="main")
    other = open_day(store, 1, stage="accumulate", source="other", spec="g")
    with pytest.raises(RunAgain, match="the spec was changed while this attempt, number 1, was at work"):
        progress.finish_stage(store, first, done=done)
    progress.finish_stage(store, other, done=replace(done, source="other"))
    later = open_day(store, 1, stage="combine", spec="g")
    assert [one.source for one in progress.finished_stages(store, later)] == ["other"]


def test_what_each_source_did_last_is_known_after_a_run_of_one_of_them(store: Store) -> None:
    for revision, sources in enumerate((("one", "other"), ("one",), ())):
        for source in sources:
            run = open_day(store, 1, stage="accumulate", source=source)
            assert run.revision == revision
            done = Done(stage="accumulate", source=source, counts={"accepted": 10 + revision})
            progress.finish_stage(store, run, done=done)
        last = open_day(store, 1, stage="publish")
        if sources:
            close(store, last)
    found = {one.source: one.counts["accepted"] for one in progress.stages_before(store, last)}
    assert found == {"one": 11, "other": 10}


def test_whoever_slept_while_opening_finds_the_batch_ended_and_disturbs_nobody(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = attempts.begin

    def sleeps(*given: object, **named: object) -> object:
        monkeypatch.setattr(attempts, "begin", begin)
        close(store, open_day(store, 1))
        progress.finish_stage(
            store, open_day(store, 2), done=Done(stage="accumulate", source="main", counts={"accepted": 1})
        )
        return begin(*given, **named)

    monkeypatch.setattr(attempts, "begin", sleeps)
    with pytest.raises(WaitForTheBatch, match="another attempt has ended it"):
        open_day(store, 1)
    assert [row.batch.start_us for row in ledger.read_rows(store) if row.status == "running"] == [2 * DAY]
    assert [one.what for one in attempts.read(store)] == ["begun", "finished"]


def test_who_asks_for_what_has_finished_since_misses_none_where_clocks_differ(store: Store) -> None:
    finished = []
    for day, clock_us in ((1, 100 * DAY), (2, 99 * DAY)):
        run = open_day(store, day)
        row = run.opening.row(fingerprint="f", started_at_us=clock_us - 1)
        ledger.close_run(store, run, row=replace(row, status="published", finished_at_us=clock_us))
        finished.append(max(row.finished_at_us or 0 for row in ledger.read_rows(store)))
    assert finished == [100 * DAY, 100 * DAY + 1]
