"""What holds for the oracle whatever the events are."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from tests.generators import Case, cases
from tests.oracle import Batch, Walk
from tests.oracle.panes import held_by
from tests.oracle.tables import tables_of

some_cases = cases(most_events=25, most_batches=4)
KEY = ("key",)


def walked(case: Case) -> Walk:
    walk = Walk(pipeline=case.pipeline)
    for batch in case.batches:
        walk.run(batch, case.events)
    return walk


@given(some_cases)
@settings(deadline=None, max_examples=40)
def test_every_row_has_one_fate_in_one_batch(case: Case) -> None:
    seen = [number for outcome in walked(case).ledger for number in outcome.fates.ingested]
    assert sorted(seen) == sorted(set(seen))
    for row in tables_of(walked(case), KEY)["runs"]:
        assert row["ingested"] == row["accepted"] + row["late"] + row["quarantined"]


@given(some_cases)
@settings(deadline=None, max_examples=40)
def test_watermarks_never_go_back(case: Case) -> None:
    after = [outcome.watermark_after for outcome in walked(case).ledger]
    known = [watermark for watermark in after if watermark is not None]
    assert known == sorted(known)
    assert after[len(after) - len(known) :] == known


@given(some_cases)
@settings(deadline=None, max_examples=40)
def test_running_every_batch_twice_changes_nothing(case: Case) -> None:
    twice = replace(case, batches=[batch for batch in case.batches for _ in range(2)])
    assert tables_of(walked(twice), KEY) == tables_of(walked(case), KEY)


@given(some_cases)
@settings(deadline=None, max_examples=40)
def test_when_all_is_closed_and_nothing_was_lost_windows_hold_all_events(case: Case) -> None:
    closing = Batch(start=case.batches[-1].end, end=case.batches[-1].end + 1, final=True)
    walk = walked(replace(case, batches=[*case.batches, closing]))
    if any(outcome.fates.losses for outcome in walk.ledger):
        return
    held = {place: len(events) for place, events in held_by(case.pipeline, walk.accepted).items()}
    rows = tables_of(walk, KEY)["windows"]
    assert len(rows) == len(held)
    assert sum(row["event_count"] for row in rows) == sum(held.values())


@given(some_cases)
@settings(deadline=None, max_examples=40)
def test_running_the_batches_in_another_order_restates_to_the_same_frames_when_none_is_judged(
    case: Case,
) -> None:
    calm = [replace(batch, ignore_lateness=True, watermark=None, final=False) for batch in case.batches]
    forth, back = replace(case, batches=calm), replace(case, batches=calm[::-1])
    with_time = [event for event in case.events if event.event_us is not None]
    frames = [tables_of(walked(replace(it, events=with_time)), KEY)["frames"] for it in (forth, back)]
    assert sorted(map(repr, frames[0])) == sorted(map(repr, frames[1]))
