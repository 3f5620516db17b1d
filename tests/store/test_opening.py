"""What opening a batch means, as a truth table over the ledger."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.errors import ChooseAnotherBatch, CorrectTheSpec, WaitForTheBatch
from pipelines.intervals import Interval
from pipelines.spec import Changes
from pipelines.store.ledger_rows import LedgerRow, Status
from pipelines.store.opening import Opening, opening_of, ran_with_other_windows

DAY = 10


def row(
    day: int, status: Status = "published", *, revision: int = 0, watermark: int | None = None
) -> LedgerRow:
    return LedgerRow(
        batch=batch(day),
        revision=revision,
        status=status,
        spec_fingerprint="f",
        watermark_before_us=(day - 1) * DAY + 3,
        watermark_after_us=day * DAY + 3 if watermark is None else watermark,
        started_at_us=day,
        finished_at_us=day if status == "published" else None,
        stage_seconds={"accumulate": 1.0, "publish": 1.0},
    )


def batch(day: int, days: int = 1) -> Interval:
    return Interval(day * DAY, (day + days) * DAY)


def opening(rows: list[LedgerRow], of: Interval, *, replace: bool = False) -> Opening:
    return opening_of(rows, of, fingerprint="f", replace=replace)


def test_the_first_batch_of_all_knows_no_past() -> None:
    found = opening([], batch(3))
    assert (found.revision, found.status, found.restated) == (0, None, False)
    assert (found.judged_by_us, found.in_force_us, found.known_by, found.first_start_us) == (
        None,
        None,
        (),
        30,
    )


def test_the_next_batch_is_judged_by_the_one_before() -> None:
    found = opening([row(0), row(1)], batch(2))
    assert (found.judged_by_us, found.in_force_us, found.known_by) == (13, 13, (row(1),))
    assert (found.restated, found.first_start_us) == (False, 0)


def test_by_arrival_a_batch_is_judged_by_the_end_of_those_before_it_that_had_run_when_it_first_did() -> None:
    older = replace(row(1), started_at_us=9)
    assert opening([], batch(1)).judged_end_us is None
    assert opening([row(0), row(2)], batch(1)).judged_end_us == 1 * DAY
    assert opening([row(0), row(2)], batch(3)).judged_end_us == 3 * DAY
    again = replace(row(2, revision=1), started_at_us=10)
    assert opening([row(0), row(2), older, again], batch(2)).judged_end_us == 1 * DAY
    assert opening([row(0), row(2), older], batch(1, days=2), replace=True).judged_end_us == 1 * DAY
    given_up = replace(row(1, "abandoned"), finished_at_us=None)
    assert opening([row(0), given_up, row(2)], batch(2)).judged_end_us == 1 * DAY
    # One that has taken the place of others, the first of which ran before an older one did.
    covered = [row(1, "abandoned"), row(2, "abandoned")]
    covered = [replace(it, finished_at_us=it.started_at_us) for it in covered]
    covering = replace(row(1), batch=batch(1, days=2), started_at_us=10)
    oldest = replace(row(0), started_at_us=9)
    assert opening([*covered, oldest, covering], batch(1, days=2)).judged_end_us is None


def test_the_first_batch_is_the_one_that_was_when_a_batch_first_ran() -> None:
    older = replace(row(0), started_at_us=9)
    assert opening([row(2), row(3), older], batch(3)).first_start_us == 2 * DAY
    assert opening([row(2), row(3), older], batch(4)).first_start_us == 0
    again = replace(row(3, revision=1), started_at_us=10)
    assert opening([row(2), row(3), older, again], batch(3)).first_start_us == 2 * DAY
    assert opening([row(3), older], batch(0)).first_start_us == 0
    given_up = replace(row(1, "abandoned"), finished_at_us=None)
    assert opening([given_up, row(2)], batch(3)).first_start_us == 2 * DAY
    # Others have taken the place of batch 1 since.
    covered = replace(row(1, "abandoned"), finished_at_us=1)
    assert opening([covered, row(2)], batch(2)).first_start_us == DAY


def test_what_older_batches_have_seen_counts_where_they_ran_after_the_one_before_first_did() -> None:
    again = replace(row(0, revision=1), started_at_us=9)
    found = opening([row(0), row(1), row(2), again], batch(3))
    assert found.known_by == (row(2), again)
    # Also where that one has run since: not every revision takes up what was told.
    since = replace(row(2, revision=1), started_at_us=10)
    assert opening([row(0), row(1), row(2), again, since], batch(3)).known_by == (since, again)


def test_what_a_later_stage_alone_has_done_again_has_seen_no_substream() -> None:
    """Nor did it tell them apart: that is as it was when the batch was read."""
    again = replace(row(0, revision=1), started_at_us=9)
    later = {"finalise": 1.0, "publish": 1.0}
    published = replace(row(1, revision=1), started_at_us=10, stage_seconds=later, spec_fingerprint="g")
    found = opening_of([row(0), row(1), again, published], batch(2), fingerprint="g", replace=False)
    assert found.known_by == (row(1), again)
    assert found.judged_by_us == published.watermark_after_us


def test_timers_were_looked_at_by_the_newest_batch_that_ran_in_its_turn() -> None:
    again = replace(row(1, revision=1), started_at_us=7)
    assert opening([row(0), row(1), again], batch(2)).in_turn_end_us == 2 * DAY
    #  0 1 2  and then [1, 4) in the place of 1 and 2
    wide = replace(row(1), batch=Interval(DAY, 4 * DAY), started_at_us=8)
    covered = [replace(row(day), status="abandoned", finished_at_us=day) for day in (1, 2)]
    assert opening([row(0), *covered, wide], batch(4)).in_turn_end_us == DAY
    given_up = replace(row(5000, "abandoned"), started_at_us=1)
    assert opening([row(0), given_up, row(2)], batch(3)).in_turn_end_us == 3 * DAY
    older = replace(row(0), started_at_us=9)
    assert opening([row(1), row(2), older], batch(3)).in_turn_end_us == 3 * DAY


def test_the_next_batch_is_as_it_last_ran() -> None:
    again = row(2, revision=1, watermark=150)
    assert opening([row(1), row(2), again, row(3)], batch(1)).ceiling_us == 150


def test_an_unfinished_batch_may_take_the_place_of_those_that_it_did_when_it_was_opened() -> None:
    whole = replace(row(0, "failed"), batch=Interval(0, 2 * DAY))
    found = opening([row(0), row(1), whole], whole.batch)
    assert found.covered == (batch(0), batch(1))


@pytest.mark.parametrize("status", ["running", "stopped", "failed"])
def test_an_unfinished_batch_is_taken_over_with_its_row(status: Status) -> None:
    found = opening([row(0), row(1, status, revision=4)], batch(1))
    assert (found.revision, found.status, found.started_at_us, found.restated) == (4, status, 1, False)


@pytest.mark.parametrize("status", ["running", "stopped", "failed"])
def test_another_batch_waits_for_the_unfinished_one_and_names_it(status: Status) -> None:
    with pytest.raises(WaitForTheBatch, match=rf"{status}.*again"):
        opening([row(0), row(1, status)], batch(2))


def test_the_same_batch_again_is_the_next_revision_and_judged_as_before() -> None:
    found = opening([row(0), row(1), row(2)], batch(1))
    assert (found.revision, found.restated, found.judged_by_us, found.in_force_us) == (1, True, 3, 23)
    assert (found.floor_us, found.ceiling_us, found.has_next) == (13, 23, True)


def test_a_next_batch_without_a_watermark_is_one_all_the_same() -> None:
    found = opening(
        [replace(row(0), watermark_after_us=None), replace(row(1), watermark_after_us=None)], batch(0)
    )
    assert (found.ceiling_us, found.has_next) == (None, True)
    assert not opening([row(0)], batch(0)).has_next


def test_an_older_batch_that_never_ran_is_a_restatement_of_revision_0() -> None:
    found = opening([row(0), row(2)], batch(1))
    assert (found.revision, found.restated, found.before, found.judged_by_us) == (0, True, None, 3)


def test_a_batch_that_overlaps_another_partly_is_refused() -> None:
    with pytest.raises(ChooseAnotherBatch, match="partly"):
        opening([row(0)], Interval(5, 15), replace=True)


def test_a_batch_that_covers_older_ones_needs_to_be_told_so() -> None:
    with pytest.raises(ChooseAnotherBatch, match=r"covers 2 older ones.*--replace"):
        opening([row(0), row(1)], batch(0, days=2))
    found = opening([row(0), row(1)], batch(0, days=2), replace=True)
    assert (found.covered, found.restated, found.floor_us) == ((batch(0), batch(1)), True, 13)


def test_a_part_of_a_batch_that_ran_is_refused() -> None:
    with pytest.raises(ChooseAnotherBatch, match="partly"):
        opening([row(0)], Interval(0, 5), replace=True)


def test_abandoned_rows_do_not_count() -> None:
    found = opening([row(0), row(1, "abandoned")], batch(1))
    assert (found.revision, found.restated, found.judged_by_us) == (0, False, 3)


def test_a_store_made_by_another_spec_is_refused() -> None:
    with pytest.raises(CorrectTheSpec, match=r"another spec.*new `name`"):
        opening_of([row(0)], batch(1), fingerprint="g", replace=False)


def told(triggers: str, **windows: str) -> str:
    """A state fingerprint."""
    told = [f";#panes.{name}={triggers};{name}=aligned.{shape}" for name, shape in windows.items()]
    return f"#core=c;@aligned=10{''.join(told)}"


def test_news_waits_under_old_triggers_until_a_batch_in_turn_has_looked_at_it() -> None:
    old, new = told("rows", hourly="1"), told("each", hourly="1")
    rows = [replace(row(day), spec_fingerprint=old) for day in (0, 1)]

    def changes(rows: list[LedgerRow]) -> Changes:
        return opening_of(rows, batch(5), fingerprint=new, replace=False).changes

    assert changes(rows).new_triggers
    # A restatement looks at no triggers.
    rows += [replace(row(0, revision=1), spec_fingerprint=new, started_at_us=8)]
    assert changes(rows).new_triggers
    rows += [replace(row(2), spec_fingerprint=new, started_at_us=9)]
    assert not changes(rows).new_triggers


def test_what_a_later_stage_alone_published_was_read_as_it_was_before() -> None:
    old, new = (f"{told('each', hourly='1')};#read.main.where={it}" for it in "ab")
    rows = [replace(row(day), spec_fingerprint=old) for day in (0, 1)]
    again = replace(row(1, revision=1), spec_fingerprint=new, started_at_us=8, stage_seconds={"publish": 1.0})
    for ran in (rows, [*rows, again]):
        found = opening_of(ran, batch(2), fingerprint=new, replace=False).changes
        assert found.read_otherwise == (("main", "where"),)
    read = replace(again, stage_seconds={"accumulate": 1.0})
    assert opening_of([*rows, read], batch(2), fingerprint=new, replace=False).changes.read_otherwise == ()


def test_a_window_that_comes_back_in_another_shape_takes_back_what_replaced_batches_published() -> None:
    both, one = told("each", hourly="1", rolling="2"), told("each", hourly="1")
    covered = [replace(row(day, "abandoned"), spec_fingerprint=both, finished_at_us=day) for day in (0, 1)]
    wide = replace(row(0), batch=batch(0, 2), spec_fingerprint=one, started_at_us=7)
    again = told("each", hourly="1", rolling="4")
    found = opening_of([*covered, wide], batch(2), fingerprint=again, replace=False).changes
    assert (found.new_windows, found.reshaped) == (("rolling",), ("rolling",))
    given_up = [replace(it, finished_at_us=None) for it in covered]
    found = opening_of([*given_up, wide], batch(2), fingerprint=again, replace=False).changes
    assert found.reshaped == ()


def test_the_last_to_start_tells_with_which_windows_batches_run() -> None:
    both, one = told("each", hourly="1", rolling="2"), told("each", hourly="1")
    rows = [replace(row(1), spec_fingerprint=both), replace(row(0, revision=1), spec_fingerprint=one)]
    assert ran_with_other_windows(rows, one) and not ran_with_other_windows(rows, both)
    # Triggers are no others, and one that is at work has not run.
    assert not ran_with_other_windows(rows, told("rows", hourly="1", rolling="2"))
    assert not ran_with_other_windows([*rows, replace(row(2, "running"), spec_fingerprint=one)], both)
    assert ran_with_other_windows(rows, f"{both};#lateness=l")
    # The oldest fingerprints tell of no windows.
    assert not ran_with_other_windows([row(1)], both) and not ran_with_other_windows([], both)


def test_a_batch_again_knows_nothing_of_older_ones_that_first_ran_since() -> None:
    since = [replace(row(day), started_at_us=20 + day) for day in (0, 1)]
    again = replace(row(2, revision=1), started_at_us=30)
    assert opening([*since, row(2), row(3), again], batch(3)).run_since == (batch(0, 2),)
    assert opening([*since, row(2), again], batch(3)).run_since == (), "it has not run itself"
    covered = [replace(row(day), status="abandoned", finished_at_us=day) for day in (0, 1)]
    covering = replace(row(0), batch=batch(0, 2), started_at_us=20)
    assert opening([*covered, row(2), covering], batch(2)).run_since == (), "those that it covers had run"
    assert opening([covering, row(2)], batch(2)).run_since == (batch(0, 2),)
    # What it brought beside them had not.
    assert opening([covered[0], row(2), covering], batch(2)).run_since == (batch(1),)
    given_up = replace(row(1), status="abandoned", finished_at_us=None)
    assert opening([covered[0], given_up, row(2), covering], batch(2)).run_since == (batch(1),)


def test_of_several_revisions_the_newest_tells_the_watermark() -> None:
    rows = [row(0, watermark=3), row(0, revision=1, watermark=7), row(1, watermark=9)]
    assert opening(rows, batch(2)).judged_by_us == 9
    assert opening(rows[:2], batch(1, 2)).judged_by_us == 7


def test_the_same_batch_again_is_judged_by_what_judged_it_first() -> None:
    rows = [row(0, watermark=3), row(1), row(0, revision=1, watermark=7)]
    assert opening(rows, batch(1)).judged_by_us == 3


def test_what_takes_the_place_of_others_is_judged_by_what_judged_the_first_of_them() -> None:
    # The batch before them ran after they did.
    rows = [row(1), row(2), replace(row(0, watermark=33), started_at_us=9)]
    assert opening(rows, batch(1, days=2), replace=True).judged_by_us == 3
