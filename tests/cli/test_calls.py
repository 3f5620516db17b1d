"""What is wrong with a call, or in the way of it: told before a Spark session is waited for."""

from __future__ import annotations

import io
import sys
import threading
import time
from functools import partial
from typing import cast

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from pipelines.cli import turns
from pipelines.cli.turns import await_turn, in_its_turn
from pipelines.errors import WaitForTheBatch
from pipelines.spec import state_fingerprint
from pipelines.stages import Site
from pipelines.store.reader import table_path
from tests.cli.conftest import INSTANT, Place, day, days

FIRST = ("--from", "2024-01-01", "--to", "2024-01-02")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--from", "2024-01-01"], "--from was given without --to"),
        (["--to", "2024-01-01"], "--to was given without --from"),
        (["--from", "2024-01-02", "--to", "2024-01-01"], "--from 2024-01-02 is not before --to 2024-01-01"),
        (["--from", "2024-01-01", "--to", "2024-01-01"], "a batch is [from, to), and never empty"),
        (
            ["--from", "yesterday", "--to", "2024-01-01"],
            "--from: found `yesterday`; allowed is an ISO 8601 instant",
        ),
        (["--from", "2024-01-01", "--to", "2024-02-30"], "--to: found `2024-02-30`"),
        (["--from", "0001-01-01T00:00+05:00", "--to", "2024-01-01"], "allowed are the years 1 to 9999"),
        (["--every", "1h"], "say --from and --to too"),
        ([*FIRST, "--every", "soon"], "--every: found `soon`; allowed is like"),
        ([*FIRST, "--every", "0 h"], "--every: found `0 h`; allowed is a length above zero"),
        ([*FIRST, "--every", "1 us"], "into 86,400,000,000 batches; allowed are 100,000 at once"),
        ([*FIRST, "--every", "1 month"], "months and years have no fixed length"),
        ([*FIRST, "--watermark", "late"], "--watermark: found `late`"),
        ([*FIRST, "--watermark", "2024-01-01", "--final"], "say one of them"),
        ([*FIRST, "--watermark", "9999-12-31T23:59:59.999999"], "that closes everything; say --final"),
        (["--rebuild"], "--rebuild begins anew: say from where to where"),
        ([*FIRST, "--final"], "nobody can be asked here, so say --yes too"),
    ],
)
def test_a_run_is_refused_for(words: list[str], told: str, place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    said = place.sash("run", *words)
    assert (said.code, said.out) == (2, "")
    assert told in said.err and said.err.count("\n") == 1


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_rebuild_without_bounds_is_refused_whatever_the_next_batch_is(command: str, place: Place):
    """Also where the spec has changed so that a rebuild is what would help."""
    place.write_run(day(1), day(2), "published", fingerprint="another")
    said = place.sash(command, "--rebuild")
    assert (said.code, said.out) == (2, "")
    assert "--rebuild begins anew: say from where to where, with --from and --to" in said.err


def test_where_no_batch_has_run_none_can_be_abandoned(place: Place):
    said = place.sash("abandon", *FIRST)
    assert (said.code, said.out) == (2, "")
    assert "cannot be abandoned: no batch of rides is in" in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["combine", "--source", "main"], "the stage combine is of all sources at once; leave --source out"),
        (["accumulate", "--source", "bus"], "pipeline `rides` has no source `bus`; it has main"),
        (
            ["accumulate", "--every", "6 h"],
            "a stage is of one batch, and --every 6 h cuts this interval into 4",
        ),
        (["combine", "--rebuild"], "say it to the stage accumulate, with which a batch begins"),
        (["finalise", "--final"], "comes too late with the stage finalise; say it to the stage combine"),
        (["publish", "--watermark", "1970-01-01"], "say it to the stage combine, and run those after it"),
        (["combine", "--ignore-lateness"], "say it to the stage accumulate, and run those after it again"),
    ],
)
def test_a_stage_is_refused_for(words: list[str], told: str, place: Place):
    said = place.sash("stage", *words, *FIRST)
    assert (said.code, said.out) == (2, "")
    assert told in said.err


def test_a_store_made_by_another_spec_is_refused(place: Place):
    place.write_run(day(1), day(2), "published", fingerprint="another")
    said = place.sash("run", "--from", "2024-01-02", "--to", "2024-01-03")
    assert (said.code, said.out) == (2, "")
    assert "made by another spec" in said.err


@pytest.mark.parametrize("command", [("run",), ("stage", "accumulate")])
def test_a_batch_that_overlaps_another_partly_conflicts(command: tuple[str, ...], place: Place):
    place.write_run(day(1), day(3), "published", fingerprint=state_fingerprint(place.pipeline))
    said = place.sash(*command, "--from", "2024-01-02", "--to", "2024-01-04")
    assert (said.code, said.out) == (4, "")
    assert "overlaps batch [2024-01-01 00:00, 2024-01-03 00:00) partly" in said.err


def test_a_batch_that_covers_older_ones_needs_to_say_so(place: Place):
    place.write_run(day(1), day(2), "published", fingerprint=state_fingerprint(place.pipeline))
    said = place.sash("run", "--from", "2024-01-01", "--to", "2024-01-03")
    assert said.code == 4
    assert "--replace" in said.err


@pytest.mark.parametrize("status", ["running", "stopped", "failed"])
def test_while_a_batch_is_unfinished_another_one_leaves_and_names_it(status: str, place: Place):
    place.write_run(day(1), day(2), status, fingerprint=state_fingerprint(place.pipeline))
    said = place.sash("run", "--from", "2024-01-02", "--to", "2024-01-03")
    assert (said.code, said.out) == (4, "")
    assert f"batch [2024-01-01 00:00, 2024-01-02 00:00) is unfinished (its status is {status})" in said.err


@pytest.fixture
def slept(place: Place, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made while another batch ran, which is done after the second."""
    fingerprint = state_fingerprint(place.pipeline)
    place.write_run(day(1), day(2), "running", fingerprint=fingerprint)
    slept: list[float] = []
    really_sleep = time.sleep

    def sleep(seconds: float) -> None:
        if threading.current_thread() is not threading.main_thread():
            # Somebody else's, such as Spark's own.
            return really_sleep(seconds)
        slept.append(seconds)
        if len(slept) == 2:
            place.write_run(day(1), day(2), "published", fingerprint=fingerprint, revision=1)
        return None

    monkeypatch.setattr(time, "sleep", sleep)
    return slept


def test_with_wait_it_goes_on_when_the_other_batch_is_done(
    place: Place, slept: list[float], capsys: pytest.CaptureFixture[str]
):
    await_turn(place.pipeline, place.store, batch=days(2, 3), replace=False, wait=True)
    assert len(slept) == 2
    assert capsys.readouterr().err == "waiting: batch [2024-01-01 00:00, 2024-01-02 00:00) is running\n"


@pytest.mark.parametrize("wait", [True, False])
def test_of_several_that_waited_one_gets_in_and_the_others_wait_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, *, wait: bool
):
    site = Site(cast(SparkSession, None), place.store, place.pipeline)
    turn = partial(await_turn, place.pipeline, place.store, batch=days(3, 4), replace=False, wait=wait)
    write = partial(place.write_run, day(2), day(3), fingerprint=state_fingerprint(place.pipeline))
    monkeypatch.setattr(turns, "_pause", lambda other, _: write("published", revision=1) or other)
    tried: list[str] = []

    def begin() -> str:
        tried.append("once")
        if len(tried) == 1:
            # Somebody else who waited was quicker.
            write("running")
            raise WaitForTheBatch("another batch is at work")
        return "begun"

    if wait:
        assert in_its_turn(begin, site, batches=[days(3, 4)], turn=turn, wait=wait) == "begun"
    else:
        with pytest.raises(WaitForTheBatch, match="another batch is at work"):
            in_its_turn(begin, site, batches=[days(3, 4)], turn=turn, wait=wait)
    assert len(tried) == 1 + wait


def test_a_replay_with_wait_looks_for_what_to_replay_when_the_other_batch_is_done(
    place: Place, slept: list[float]
):
    of_batches = pa.schema([("batch_start", INSTANT), ("batch_end", INSTANT)])
    write_deltalake(table_path(place.store, "rides", table="late_events"), of_batches.empty_table())
    said = place.sash("replay", "late", "--wait")
    assert len(slept) == 2
    assert said.err == "waiting: batch [2024-01-01 00:00, 2024-01-02 00:00) is running\n"
    assert (said.code, said.out) == (0, "nothing to replay: late_events holds no rows\n")


def test_waiting_does_not_wait_for_a_conflict_to_go_away(place: Place):
    place.write_run(day(1), day(3), "published", fingerprint=state_fingerprint(place.pipeline))
    said = place.sash("run", "--from", "2024-01-02", "--to", "2024-01-04", "--wait")
    assert said.code == 4
