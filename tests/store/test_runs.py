"""The ledger grows by a row a batch, of which each commit writes its own; who comes second writes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from deltalake.exceptions import CommitFailedError

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.store import runs, small
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.runs import MOST_FILES, open_runs
from pipelines.store.tables import RUNS, Folder

DAY = 86_400_000_000


@pytest.fixture(params=[0, runs.MANY_ROWS], ids=["many", "few"])
def written_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A ledger of any length as one of many rows is written, and as one of few is."""
    monkeypatch.setattr(runs, "MANY_ROWS", request.param)
    return "row" if request.param == 0 else "table"


@pytest.fixture
def folder(tmp_path: Path, written_by: str) -> Folder:
    made = Folder(root=str(tmp_path / "pipeline"))
    small.create(made, "runs", columns=RUNS)
    return made


def row(day: int, *, revision: int = 0) -> LedgerRow:
    batch = Interval(day * DAY, (day + 1) * DAY)
    return LedgerRow(batch=batch, revision=revision, status="running", spec_fingerprint="f")


def written(folder: Folder) -> list[tuple[int, int, str]]:
    """What a reader of plain Delta finds."""
    rows = small.read(small.open_table(folder, "runs"))
    return sorted(
        (int(str(it["batch_start"])) // DAY, int(str(it["revision"])), str(it["status"])) for it in rows
    )


def test_rows_are_put_in_the_place_of_those_of_their_batch_and_revision_and_no_others(folder: Folder):
    for one in (row(1), row(1, revision=1), row(2)):
        open_runs(folder).put(one)
    open_runs(folder).put(replace(row(1), status="abandoned"), replace(row(2), status="failed"))
    assert written(folder) == [(1, 0, "abandoned"), (1, 1, "running"), (2, 0, "failed")]
    open_runs(folder).take_out(row(1), row(2))
    assert written(folder) == [(1, 1, "running")]
    assert [it.revision for it in open_runs(folder).rows] == [1]


def test_batches_at_either_end_of_time_are_found_again(folder: Folder):
    for bounds in (Interval(EARLIEST_US, 0), Interval(0, LATEST_US)):
        for status in ("running", "published"):
            open_runs(folder).put(replace(row(0), batch=bounds, status=status))
    assert {it.status for it in open_runs(folder).rows} == {"published"} and len(written(folder)) == 2


def test_bounds_far_away_that_are_no_whole_milliseconds_are_found_again(folder: Folder):
    """Delta keeps the least and greatest of a file in milliseconds."""
    start_us = 87_410_045_980_909_296
    far = replace(row(0), batch=Interval(start_us, start_us + DAY))
    for status in ("running", "failed", "published"):
        open_runs(folder).put(replace(far, status=status))
    assert [it.status for it in open_runs(folder).rows] == ["published"] and len(written(folder)) == 1


def test_who_comes_second_writes_nothing_also_of_another_batch(folder: Folder):
    first, second = open_runs(folder), open_runs(folder)
    first.put(row(1))
    with pytest.raises(CommitFailedError):
        second.put(row(2))
    assert written(folder) == [(1, 0, "running")]


@pytest.mark.parametrize("written_by", [0], indirect=True)
def test_of_many_a_commit_writes_its_own_row_and_files_that_became_many_are_one_again(folder: Folder):
    files, days = [], 2 * MOST_FILES
    for day in range(days):
        open_runs(folder).put(row(day))
        files.append(len(small.open_table(folder, "runs").file_uris()))
    assert (files[: MOST_FILES - 1], max(files)) == ([*range(1, MOST_FILES)], MOST_FILES)
    assert files.count(1) == 2
    assert [day for day, _, _ in written(folder)] == [*range(days)]
    stored = [sum(1 for _ in open_runs(folder).rows)]
    # Many at once are written as one as well.
    open_runs(folder).take_out(*map(row, range(days - 1)))
    assert (stored, written(folder)) == ([days], [(days - 1, 0, "running")])


@pytest.mark.parametrize("written_by", [runs.MANY_ROWS], indirect=True)
def test_few_rows_are_one_file_in_the_order_in_which_they_came(folder: Folder):
    for day in (3, 1, 2):
        open_runs(folder).put(row(day))
    open_runs(folder).put(replace(row(1), status="failed"))
    assert [it.batch.start_us // DAY for it in open_runs(folder).rows] == [3, 2, 1]
    assert len(small.open_table(folder, "runs").file_uris()) == 1


@pytest.mark.parametrize("written_by", [0], indirect=True)
def test_a_file_that_was_read_is_not_read_again(folder: Folder):
    open_runs(folder).put(row(1))
    assert len(open_runs(folder).rows) == 1
    (file,) = Path(folder.path("runs")).glob("*.parquet")
    file.write_bytes(b"no Parquet any more")
    open_runs(folder).put(row(2))
    assert {it.batch.start_us // DAY for it in open_runs(folder).rows} == {1, 2}
