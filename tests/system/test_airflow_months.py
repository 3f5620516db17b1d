"""A month filled in by Airflow: several days at once, again and backwards over what is there, kept small.

`forwards` is filled in from its first day on, `backwards` from its last, four days at once; both read the
same files, one a day.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines.intervals import from_us, to_us
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.reader import NEWEST_FIRST, read_table
from tests.conftest import SMALL_WORK
from tests.system.backfills import (
    await_done,
    backfilled,
    create,
    create_without_scheduler,
    insist,
    tries,
)
from tests.system.months import LAST, dates, day, lay_out, write_day
from tests.system.services import Services, await_that
from tests.system.serving import ledger, serving, spark_of, stored

pytestmark = [pytest.mark.slow, pytest.mark.system]

AT_ONCE = 4
AGAIN, CHANGED = range(11, 21), 15
"""The days that are filled in again; of them one whose file changed."""
CHANGED_LATER = 23
"""A day whose file changes before the whole month is filled in again, forwards."""
MONTH_SECONDS = 2400
CLOCKS = ("started_at", "finished_at", "stage_seconds")
SASH = "from pipelines.cli.main import process; process()"
Row = dict[str, object]


def make_backfills(airflow: Services) -> None:
    at_once = ("--max-active-runs", str(AT_ONCE))
    create(airflow, "forwards", dates(1, LAST), *at_once)
    create(airflow, "backwards", dates(1, LAST), *at_once, "--run-backwards")


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Airflow with both backfills under way."""
    folder = tmp_path_factory.mktemp("airflow")
    lay_out(folder)
    dags = {"forwards", "backwards", "upkeep"}
    with serving(folder, dags, before_scheduling=make_backfills, settings=SMALL_WORK) as services:
        yield services


@pytest.fixture(scope="module")
def month(airflow: Services) -> list[Row]:
    """The runs of the month that was filled in forwards."""
    return runs_done(airflow, "forwards", count=LAST)


@pytest.fixture(scope="module")
def backwards(airflow: Services) -> list[Row]:
    """The runs of the month that was filled in backwards."""
    return runs_done(airflow, "backwards", count=LAST)


@pytest.fixture(scope="module")
def calm(airflow: Services, month: list[Row]) -> Path:
    """A store in which `sash run` has done the days of the month one after the other."""
    store = airflow.folder / "calm"
    bounds = ("--from", f"{day(1):%Y-%m-%d}", "--to", f"{day(LAST + 1):%Y-%m-%d}")
    words = ("run", airflow.folder / "dags" / "forwards.yml", *bounds)
    where = ("--every", "1d", "--store", store, "--spark", spark_of(airflow).address)
    subprocess.run([sys.executable, "-c", SASH, *words, *where], check=True, timeout=600)
    return store


def runs_done(airflow: Services, dag: str, *, count: int) -> list[Row]:
    """The backfilled runs of a DAG once they are done, all as a success."""

    def are_done() -> bool:
        states = [run["state"] for run in backfilled(airflow, dag)]
        assert "failed" not in states
        return states == ["success"] * count

    await_that(are_done, MONTH_SECONDS)
    return backfilled(airflow, dag)


def without_clocks(rows: list[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in CLOCKS} for row in rows]


def values(airflow: Services, pipeline: str) -> set[tuple[object, ...]]:
    """What the windows of a pipeline say, whenever they were published."""
    names = ("window", "page", "window_start", "window_end", "visits", "seconds", "event_count")
    return {tuple(row[name] for name in names) for row in stored(airflow, "windows", pipeline=pipeline)}


@pytest.mark.parametrize("table", ["windows", "panes", "runs", "watermarks", "frames", "late_events"])
def test_a_month_of_runs_four_at_once_leaves_what_one_after_the_other_leaves(
    airflow: Services, month: list[Row], calm: Path, table: str
) -> None:
    wanted = read_table(str(calm), "forwards", table=table).to_pylist()
    assert without_clocks(stored(airflow, table, pipeline="forwards")) == without_clocks(wanted)
    assert len(wanted) >= {"runs": LAST, "late_events": 2}.get(table, 2 * LAST)


def test_four_runs_were_at_work_at_once_and_their_batches_one_after_the_other(
    airflow: Services, month: list[Row], backwards: list[Row]
) -> None:
    for name, runs in (("forwards", month), ("backwards", backwards)):
        began, ended = (sorted(str(run[it]) for run in runs) for it in ("start_date", "end_date"))
        at_once = [sum(it <= start for it in began) - sum(it <= start for it in ended) for start in began]
        assert max(at_once) == AT_ONCE
        batches = in_their_order(airflow, name)
        assert {it.batch.start_us for it in batches} == {to_us(day(it)) for it in range(1, LAST + 1)}
        for earlier, later in pairwise(batches):
            assert (earlier.finished_at_us or 0) < (later.started_at_us or 0)
    forwards = in_their_order(airflow, "forwards")
    assert forwards == sorted(forwards, key=lambda row: row.batch.start_us)


def in_their_order(airflow: Services, pipeline: str) -> list[LedgerRow]:
    """The batches of a pipeline as they began."""
    return sorted(ledger(airflow, pipeline), key=lambda row: row.started_at_us or 0)


def test_backwards_a_batch_begins_before_no_later_one_but_those_at_work_beside_it(
    airflow: Services, backwards: list[Row]
) -> None:
    began = [row.batch.start_us for row in in_their_order(airflow, "backwards")]
    overtaken = [sum(it > start for it in began[place:]) for place, start in enumerate(began)]
    assert max(overtaken) < AT_ONCE


def test_a_month_backwards_has_the_windows_of_forwards_but_for_what_is_late_forwards(
    airflow: Services, month: list[Row], backwards: list[Row]
) -> None:
    there, here = (values(airflow, it) for it in ("forwards", "backwards"))
    held = [("daily", 3, 4), ("rolling", 1, 4), ("rolling", 2, 5), ("rolling", 3, 6)]
    of_c = [(window, "c", day(start), day(end)) for window, start, end in held]
    assert there - here == {(*it, 1, 100, 1) for it in of_c}
    assert here - there == {(*it, 2, 107, 2) for it in of_c}
    assert {row["missed"] for row in stored(airflow, "late_events", pipeline="forwards")} == {1, 3}
    assert stored(airflow, "late_events", pipeline="backwards") == []


def test_what_an_older_batch_brings_to_a_due_window_is_a_late_pane_restated(
    airflow: Services, backwards: list[Row]
) -> None:
    newest, others, last = [], [], 0
    panes = stored(airflow, "panes", pipeline="backwards")
    for row in in_their_order(airflow, "backwards"):
        mine = [it for it in panes if it["batch_start"] == from_us(row.batch.start_us)]
        (newest if row.batch.start_us > last else others).extend(mine)
        last = max(last, row.batch.start_us)
    assert {(it["timing"], it["restated"]) for it in newest} == {("ON_TIME", False)}
    assert {(it["timing"], it["restated"]) for it in others} == {("LATE", True)}
    assert len(others) > (LAST - AT_ONCE) * 5


@dataclass(frozen=True)
class Stood:
    """What has been published and how it came, at some moment."""

    panes: list[Row]
    batches: list[LedgerRow]
    windows: set[tuple[object, ...]]


def standing(airflow: Services) -> Stood:
    return Stood(
        panes=stored(airflow, "panes", pipeline="forwards"),
        batches=ledger(airflow, "forwards"),
        windows=values(airflow, "forwards"),
    )


def test_days_again_and_backwards_restate_only_what_the_file_of_one_day_changes(
    airflow: Services, month: list[Row], calm: Path
) -> None:
    stood = standing(airflow)
    write_day(airflow.folder, CHANGED, more=1000)
    fill_in_again(airflow, while_at_work=lambda: clear_the_first_done_again(airflow, month))
    assert_only_one_day_is_restated(airflow, CHANGED, more=1000, stood=stood)


def test_a_month_over_runs_that_exist_leaves_them_alone_and_restates_them_when_asked(
    airflow: Services, month: list[Row], calm: Path
) -> None:
    stood, often = standing(airflow), tries(airflow, "forwards", task="combine")
    write_day(airflow.folder, CHANGED_LATER, more=500)
    create_without_scheduler(airflow, "forwards", dates(1, LAST), "--max-active-runs", str(AT_ONCE))
    await_done(airflow, "forwards")
    assert tries(airflow, "forwards", task="combine") == often
    assert standing(airflow) == stood

    options = ("--max-active-runs", str(AT_ONCE), "--reprocess-behavior", "completed")
    create_without_scheduler(airflow, "forwards", dates(1, LAST), *options)
    again = [it + 1 for it in often]
    await_that(lambda: tries(airflow, "forwards", task="combine") == again, MONTH_SECONDS)
    runs_done(airflow, "forwards", count=LAST)
    assert_only_one_day_is_restated(airflow, CHANGED_LATER, more=500, stood=stood)


def assert_only_one_day_is_restated(airflow: Services, changed: int, *, more: int, stood: Stood) -> None:
    """Of all that stood the windows of that day alone say something else: so many seconds more."""
    now = standing(airflow)
    added = [it for it in now.panes if it not in stood.panes]
    assert len(now.panes) == len(stood.panes) + len(added)
    starts = [("daily", changed), *(("rolling", changed - back) for back in (2, 1, 0))]
    assert sorted((it["window"], it["window_start"], it["kind"]) for it in added) == sorted(
        (window, day(start), kind) for window, start in starts for kind in ("insert", "retract")
    )
    told = {(it["page"], it["timing"], it["restated"], it["batch_start"], it["revision"]) for it in added}
    assert told == {("a", "LATE", True, day(changed), 1)}
    gone, come = stood.windows - now.windows, now.windows - stood.windows
    assert come == {(*it[:5], int(str(it[5])) + more, it[6]) for it in gone}
    assert {(it[0], it[2]) for it in come} == {(window, day(start)) for window, start in starts}
    (new,) = [row for row in now.batches if row not in stood.batches]
    assert (new.batch.start_us, new.revision, new.status) == (to_us(day(changed)), 1, "published")
    assert [row for row in stood.batches if row not in now.batches] == []


def fill_in_again(airflow: Services, *, while_at_work: Callable[[], int]) -> None:
    """Backfill days once more, from the last of them, two at once; meanwhile one has its tasks cleared."""
    options = ("--run-backwards", "--max-active-runs", "2", "--reprocess-behavior", "completed")
    create_without_scheduler(airflow, "forwards", dates(min(AGAIN), max(AGAIN)), *options)
    cleared = while_at_work()
    again = [1 + (number in AGAIN) for number in range(1, LAST + 1)]
    # Whoever clears a task has its setups run again.
    with_cleared = [often + (number == cleared) for number, often in enumerate(again, start=1)]
    await_that(lambda: tries(airflow, "forwards", task="choose_batch") == with_cleared, MONTH_SECONDS)
    runs_done(airflow, "forwards", count=LAST)
    assert tries(airflow, "forwards", task="combine") == again
    assert tries(airflow, "forwards", task="finalise") == with_cleared


def clear_the_first_done_again(airflow: Services, month: list[Row]) -> int:
    """Clear tasks of the run that the backfill has done again first, while older ones wait: its day."""
    path = "dags/forwards/dagRuns/~/taskInstances?task_id=publish&order_by=logical_date"

    def done_again() -> list[int]:
        # A clear that meets the end of its run is lost: Airflow says `success` over it.
        ended = {it["dag_run_id"] for it in backfilled(airflow, "forwards") if it["state"] == "success"}
        tasks = enumerate(airflow.ask("GET", path)["task_instances"], start=1)
        told = [(number, it) for number, it in tasks if it["dag_run_id"] in ended]
        return [number for number, it in told if (it["state"], it["try_number"]) == ("success", 2)]

    await_that(lambda: done_again() != [], MONTH_SECONDS)
    cleared = max(done_again())
    run = str(month[cleared - 1]["dag_run_id"])
    insist(lambda: airflow.clear("forwards", run, "finalise", "publish"))
    assert "queued" in {it["state"] for it in backfilled(airflow, "forwards")}
    return cleared


def test_upkeep_puts_the_files_of_every_pipeline_together_and_changes_no_row(
    airflow: Services, month: list[Row], backwards: list[Row]
) -> None:
    pipelines = ("backwards", "forwards")
    before = {it: files(airflow, it) for it in pipelines}
    rows = {it: rows_shown(airflow, it) for it in pipelines}
    run = airflow.trigger("upkeep")
    assert airflow.outcome("upkeep", run) == "success"
    for number, pipeline in enumerate(pipelines):
        after = files(airflow, pipeline)
        path = f"dags/upkeep/dagRuns/{run}/taskInstances/maintain/xcomEntries/return_value?map_index={number}"
        assert airflow.ask("GET", path)["value"] == after
        assert all(after[table] <= before[pipeline][table] for table in after)
        assert all(after[table] < before[pipeline][table] for table in ("windows", "frames"))
        assert rows_shown(airflow, pipeline) == rows[pipeline]


def files(airflow: Services, pipeline: str) -> dict[str, int]:
    """How many files each table of a pipeline has."""
    tables = (airflow.folder / "store" / pipeline).iterdir()
    return {it.name: len(DeltaTable(it).file_uris()) for it in tables if DeltaTable.is_deltatable(str(it))}


def rows_shown(airflow: Services, pipeline: str) -> dict[str, list[str]]:
    """The rows of each table that people see, in one order."""
    tables = [table for table in files(airflow, pipeline) if table in NEWEST_FIRST]
    return {table: sorted(map(str, stored(airflow, table, pipeline=pipeline))) for table in tables}
