"""Which batches a call means, and when they may run."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pipelines.cli.arguments import read_arguments
from pipelines.cli.batches import batches_of, confirm_final, described
from pipelines.cli.run import gone_on_with, unfinished_first
from pipelines.errors import CorrectTheCall
from pipelines.intervals import Interval, to_us
from pipelines.spec import state_fingerprint
from pipelines.stages import Request
from pipelines.store import ledger, progress, small
from pipelines.store.ledger_rows import OPENING, LedgerRow
from pipelines.store.opening import Opening, opening_of
from pipelines.store.tables import ATTEMPTS, RUNS, Folder
from tests.cli.conftest import Place, day, days


def batches(place: Place, *words: str) -> list[Interval]:
    return [*batches_of(read_arguments(["run", str(place.spec), *words]), place.pipeline, store=place.store)]


def test_an_interval_is_one_batch_or_is_cut_into_several_of_which_the_last_may_be_shorter(place: Place):
    interval = ("--from", "2024-01-01", "--to", "2024-01-06")
    assert batches(place, *interval) == [days(1, 6)]
    assert batches(place, *interval, "--every", "2 days") == [days(1, 3), days(3, 5), days(5, 6)]
    assert batches(place, *interval, "--every", "9d") == [days(1, 6)]


def test_instants_without_a_zone_are_utc_and_others_are_taken_to_it(place: Place):
    assert batches(place, "--from", "2024-01-01T01:00+01:00", "--to", "2024-01-02T00:00") == [days(1, 2)]


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ((5, 6), ""),
        ((2, 4), ", again"),
        ((1, 2), ", older than the newest: a restatement"),
        ((1, 5), ", in the place of 2"),
    ],
)
def test_a_batch_is_named_with_what_its_running_means(batch: tuple[int, int], words: str, place: Place):
    place.write_run(day(2), day(4), "published", fingerprint="f")
    place.write_run(day(4), day(5), "published", fingerprint="f")
    named = days(*batch)
    assert described(place.pipeline, place.store, batch=named) == f"{named}{words}"


def test_without_bounds_the_next_batch_is_run(place: Place):
    assert batches(place) == [days(1, 2)]
    place.write_run(day(1), day(4), "published", fingerprint="f")
    assert batches(place) == [days(4, 5)]


def test_without_bounds_nothing_is_run_that_has_not_ended(place: Place):
    place.write_spec(("start: 2024-01-01", "start: 9000-01-01"))
    said = place.sash("run")
    assert (said.code, said.out) == (2, "")
    assert "the next batch has not ended yet" in said.err
    assert "--from 9000-01-01T00:00:00Z --to 9000-01-02T00:00:00Z" in said.err


def test_without_bounds_a_batch_that_was_begun_before_its_end_is_gone_on_with(place: Place):
    place.write_spec(("start: 2024-01-01", "start: 9000-01-01"))
    begun, ends = datetime(9000, 1, 1, tzinfo=UTC), datetime(9000, 1, 2, tzinfo=UTC)
    place.write_run(begun, ends, "failed", fingerprint="f")
    assert batches(place) == [Interval(to_us(begun), to_us(ends))]


@pytest.mark.parametrize("command", ["run", "plan"])
def test_without_bounds_an_unfinished_batch_is_told_before_that_the_next_has_not_ended(
    place: Place, command: str
):
    place.write_spec(("start: 2024-01-01", "start: 9000-01-01"))
    begun, ends = datetime(9000, 1, 1, tzinfo=UTC), datetime(9000, 1, 2, tzinfo=UTC)
    place.write_run(begun, ends, "running", fingerprint="f")
    said = place.sash(command)
    assert (said.code, said.out) == (4, "")
    assert "batch [9000-01-01 00:00, 9000-01-02 00:00) is unfinished (its status is running)" in said.err


def test_without_bounds_and_schedule_the_first_batch_has_to_be_named(place: Place):
    place.write_spec(("schedule: {start: 2024-01-01}\n", ""))
    said = place.sash("run")
    assert said.code == 2
    assert "no batch of pipeline `rides` has run" in said.err and "with --from and --to" in said.err


@pytest.mark.parametrize(
    ("answer", "goes_on"), [("y\n", True), ("YES\n", True), ("\n", False), ("n\n", False), ("", False)]
)
def test_on_a_terminal_final_asks_first(
    answer: str, goes_on: bool, place: Place, monkeypatch: pytest.MonkeyPatch
):
    terminal = io.StringIO(answer)
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    if goes_on:
        confirm_final(place.pipeline, [days(1, 2)], yes=False)
    else:
        with pytest.raises(CorrectTheCall, match="nothing was run"):
            confirm_final(place.pipeline, [days(1, 2)], yes=False)


def test_final_does_not_ask_after_yes(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    confirm_final(place.pipeline, [days(1, 2)], yes=True)
    with pytest.raises(CorrectTheCall, match="nobody can be asked here"):
        confirm_final(place.pipeline, [days(1, 2)], yes=False)


def test_of_several_batches_the_one_that_was_cut_off_comes_first(place: Place) -> None:
    fingerprint = state_fingerprint(place.pipeline)
    requests = [Request(batch=days(it, it + 1)) for it in (1, 2, 3)]
    assert unfinished_first(place.pipeline, place.store, requests=requests) == requests
    place.write_run(day(1), day(2), "published", fingerprint=fingerprint)
    place.write_run(day(2), day(3), "running", fingerprint=fingerprint)
    first, second, third = requests
    assert unfinished_first(place.pipeline, place.store, requests=requests) == [second, first, third]
    # Another one is in the way of them all.
    said = place.sash("run", "--from", "2024-01-03", "--to", "2024-01-05", "--every", "1d")
    assert said.code == 4 and "2024-01-03 00:00) is unfinished" in said.err


def test_an_unfinished_batch_that_nobody_named_goes_on_as_it_was_asked_for(place: Place) -> None:
    place.write_spec()
    folder, batch = Folder(root=f"{place.store}/rides"), days(1, 2)
    small.create(folder, "runs", columns=RUNS)
    small.create(folder, "attempts", columns=ATTEMPTS)

    def opens(rows: list[LedgerRow]) -> Opening:
        return opening_of(rows, batch, fingerprint="f", replace=False)

    run = ledger.open_run(folder, opens, fingerprint="f", asked=ledger.Asked())
    wishes = {"ignore_lateness": 1, "watermark_us": batch.end_us}
    progress.note(folder, run, done=progress.Done(stage=OPENING, source=None, counts=wishes))
    ledger.mark(folder, run, status="failed")

    def gone_on(request: Request) -> Request:
        return gone_on_with(place.pipeline, place.store, request=request)

    asked = Request(batch=batch, ignore_lateness=True, watermark_us=batch.end_us)
    assert gone_on(Request(batch=batch)) == asked
    assert gone_on(Request(batch=batch, final=True)) == replace(asked, final=True, watermark_us=None)
    other = Request(batch=days(2, 3))
    assert gone_on(other) == other
    progress.note(folder, run, done=progress.Done(stage=OPENING, source=None, counts={"final": 1}))
    assert gone_on(Request(batch=batch)) == Request(batch=batch, final=True)
    earlier = Request(batch=batch, watermark_us=batch.start_us)
    # Who says now what the watermark shall be has thought again.
    assert gone_on(earlier) == earlier


def test_a_flag_comes_too_late_for_one_source_once_a_run_has_accumulated_another(place: Place):
    """Also where that was a run of all stages, which is of no source."""
    place.write_spec(("source:\n", "sources: {bus: {}, train: {}}\nsource:\n"))
    folder, batch = Folder(root=f"{place.store}/rides"), days(1, 2)
    small.create(folder, "runs", columns=RUNS)
    small.create(folder, "attempts", columns=ATTEMPTS)

    def opens(rows: list[LedgerRow]) -> Opening:
        return opening_of(rows, batch, fingerprint="f", replace=False)

    run = ledger.open_run(folder, opens, fingerprint="f", asked=ledger.Asked())
    progress.finish_stage(folder, run, done=progress.Done(stage="accumulate", source="train", counts={}))
    ledger.mark(folder, run, status="failed")
    words = ("accumulate", "--ignore-lateness", "--from", "2024-01-01", "--to", "2024-01-02")
    said = place.sash("stage", *words, "--source", "bus")
    assert (said.code, said.out) == (2, "")
    assert "another source has begun it without: leave out --source bus" in said.err
