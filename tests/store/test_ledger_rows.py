"""What the ledger says about a batch, as truth tables.

Batches are hours of one day, `[0, 1)` to `[23, 24)`; the timeline above a table shows which have run.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from pipelines.errors import CorrectTheCall
from pipelines.intervals import LATEST_US, Interval
from pipelines.spec.model import Aggregate, Pipeline, Schedule, Sliding, Source, Window
from pipelines.store.ledger_rows import (
    LedgerRow,
    Status,
    first_started,
    newest,
    next_batch,
    overlapping,
    standing,
    unfinished,
)

HOUR = 3_600_000_000

PIPELINE = Pipeline(
    name="rides",
    sources=(Source(name="main", format="parquet", path="rides", event_time="at"),),
    key=("city",),
    aggregates=(Aggregate(name="rides", op="count"),),
    windows=(Window(name="hourly", shape=Sliding(size_us=HOUR, step_us=HOUR)),),
    batch_us=2 * HOUR,
    home=Path(),
    path=Path("rides.yml"),
)


def hours(start: int, end: int) -> Interval:
    return Interval(start * HOUR, end * HOUR)


def row(start: int, end: int, status: Status = "published", revision: int = 0) -> LedgerRow:
    return LedgerRow(batch=hours(start, end), revision=revision, status=status, spec_fingerprint="f")


def test_a_row_becomes_the_columns_of_runs_and_back():
    full = LedgerRow(
        batch=hours(0, 1),
        revision=2,
        status="published",
        spec_fingerprint="abc",
        ingested=10,
        accepted=6,
        late=2,
        quarantined=1,
        duplicates=1,
        panes=4,
        watermark_before_us=-1,
        watermark_after_us=0,
        started_at_us=5,
        finished_at_us=6,
        stage_seconds={"accumulate": 1.5},
    )
    assert all(getattr(full, name.name) is not None for name in fields(LedgerRow))
    assert LedgerRow.of(full.values()) == full


def test_a_row_that_has_just_begun_has_no_counts_and_comes_back_the_same():
    begun = replace(row(0, 1, "running"), started_at_us=7)
    assert LedgerRow.of({**begun.values(), "stage_seconds": None}) == begun
    assert begun.values()["ingested"] is None


def test_the_columns_are_those_of_the_contract_in_its_order():
    contract = (
        "batch_start batch_end revision status spec_fingerprint ingested accepted late quarantined "
        "duplicates panes watermark_before watermark_after started_at finished_at stage_seconds"
    )
    assert list(row(0, 1).values()) == contract.split()


def test_the_highest_revision_stands_for_its_batch_whatever_the_order():
    rows = [row(0, 1, revision=1), row(1, 2), row(0, 1, revision=2), row(0, 1, revision=0)]
    assert standing(rows) == standing(reversed(rows)) == [row(0, 1, revision=2), row(1, 2)]


def test_an_abandoned_revision_does_not_count_and_the_one_before_it_stands():
    rows = [row(0, 1, revision=0), row(0, 1, "abandoned", revision=1), row(1, 2, "abandoned")]
    assert standing(rows) == [row(0, 1, revision=0)]


@pytest.mark.parametrize(
    ("status", "waits"),
    [("running", True), ("stopped", True), ("failed", True), ("published", False), ("abandoned", False)],
)
def test_what_is_running_stopped_or_failed_is_unfinished(status: Status, waits: bool):
    last = row(1, 2, status)
    assert unfinished([row(0, 1), last]) == (last if waits else None)


def test_a_batch_whose_older_revision_failed_is_finished_by_a_newer_one():
    assert unfinished([row(0, 1, "failed", revision=0), row(0, 1, revision=1)]) is None


def test_the_newest_batch_ends_last_also_when_an_older_one_was_restated_after_it():
    assert newest([row(0, 2), row(2, 3), row(0, 2, revision=1)]) == row(2, 3)
    assert newest([row(2, 3, "abandoned")]) is None
    assert newest([]) is None


#   0     2     4     6     8          every batch is two hours long
#   ├─────┼─────┤
NEXT = {
    "after the newest": ([row(0, 2), row(2, 4)], (4, 6)),
    "after the newest, whatever its length": ([row(0, 2), row(2, 3)], (3, 5)),
    "after one that is running": ([row(0, 2), row(2, 4, "running")], (4, 6)),
    "the newest again when it failed": ([row(0, 2), row(2, 3, "failed")], (2, 3)),
    "the newest again when a check stopped it": ([row(0, 2), row(2, 4, "stopped")], (2, 4)),
    "after the newest, though an older one failed": ([row(0, 2, "failed", 1), row(2, 4)], (4, 6)),
    "in the place of an abandoned one": ([row(0, 2), row(2, 4, "abandoned")], (2, 4)),
}


@pytest.mark.parametrize("case", NEXT)
def test_the_next_batch_is(case: str):
    rows, (start, end) = NEXT[case]
    assert next_batch(rows, PIPELINE) == hours(start, end)


def test_the_first_batch_begins_where_the_schedule_starts():
    scheduled = replace(PIPELINE, schedule=Schedule(start_us=-5 * HOUR))
    assert next_batch([], scheduled) == hours(-5, -3)
    assert next_batch([row(-5, -3)], scheduled) == hours(-3, -1)


@pytest.mark.parametrize(("last", "following"), [((0, 2), (2, 3)), ((-1, 1), (1, 3)), ((1, 8), (8, 9))])
def test_with_a_schedule_the_next_batch_leads_to_its_grid(last: tuple[int, int], following: tuple[int, int]):
    scheduled = replace(PIPELINE, schedule=Schedule(start_us=-5 * HOUR))
    assert next_batch([row(*last)], scheduled) == hours(*following)


def test_without_a_schedule_the_first_batch_has_to_be_named():
    with pytest.raises(CorrectTheCall, match=r"no batch of pipeline `rides` has run.*with --from and --to"):
        next_batch([row(0, 1, "abandoned")], PIPELINE)


@pytest.mark.parametrize(("beyond", "is_there"), [(0, True), (1, False)])
def test_no_batch_ends_after_the_last_instant(beyond: int, is_there: bool):
    last = replace(row(0, 1), batch=Interval(0, LATEST_US - PIPELINE.batch_us + beyond))
    if is_there:
        assert next_batch([last], PIPELINE).end_us == LATEST_US
    else:
        with pytest.raises(CorrectTheCall, match="there is no next batch"):
            next_batch([last], PIPELINE)


#   0  1  2  3  4  5  6  7  8
#      ├─────┤  ├─────┼──┤            have run: [1, 3), [4, 6), [6, 7)
RAN = [row(1, 3), row(4, 6), row(6, 7)]

OVERLAPS = [
    # batch   kind      meets
    ((7, 9), "new", []),
    ((8, 9), "new", []),
    ((3, 4), "older", []),
    ((0, 1), "older", []),
    ((1, 3), "same", [(1, 3)]),
    ((6, 7), "same", [(6, 7)]),
    ((0, 3), "covers", [(1, 3)]),
    ((1, 4), "covers", [(1, 3)]),
    ((4, 7), "covers", [(4, 6), (6, 7)]),
    ((0, 9), "covers", [(1, 3), (4, 6), (6, 7)]),
    ((2, 3), "partly", [(1, 3)]),
    ((1, 2), "partly", [(1, 3)]),
    ((2, 5), "partly", [(1, 3), (4, 6)]),
    ((4, 5), "partly", [(4, 6)]),
    ((5, 8), "partly", [(4, 6)]),
]


@pytest.mark.parametrize(("batch", "kind", "meets"), OVERLAPS)
def test_a_batch_lies_to_those_that_ran_as(batch: tuple[int, int], kind: str, meets: list[tuple[int, int]]):
    found = overlapping(RAN, hours(*batch))
    assert (found.kind, found.others) == (kind, tuple(hours(*other) for other in meets))


def test_nothing_is_met_in_an_empty_ledger_or_where_all_was_abandoned():
    assert overlapping([], hours(0, 1)).kind == "new"
    assert overlapping([row(0, 2, "abandoned"), row(4, 5, "abandoned")], hours(1, 3)).kind == "new"


def test_batches_that_only_touch_do_not_meet():
    assert overlapping([row(1, 2), row(3, 4)], hours(2, 3)).others == ()


def test_a_batch_first_ran_when_the_first_that_it_replaces_did_and_not_when_it_was_given_up() -> None:
    def ran(start: int, end: int, *, status: Status = "published", at: int) -> LedgerRow:
        finished = None if status == "abandoned" and at == 10 else at
        return replace(row(start, end), status=status, started_at_us=at, finished_at_us=finished)

    rows = [
        ran(1, 2, at=1),
        ran(2, 3, status="abandoned", at=10),
        ran(4, 5, status="abandoned", at=3),
        ran(4, 6, at=20),
        ran(2, 4, at=30),
    ]
    assert first_started(rows) == {hours(1, 2): 1, hours(4, 5): 3, hours(4, 6): 3, hours(2, 4): 30}
