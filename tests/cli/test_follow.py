"""`sash follow`: how it begins, goes on and ends."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.cli import follow
from pipelines.cli.ending import ONCE_S, Ending
from pipelines.errors import WaitForTheBatch
from pipelines.intervals import Interval, to_us
from pipelines.spec import state_fingerprint
from pipelines.stages import Request, Site, open_batch
from pipelines.stages.site import folder_of
from pipelines.store.reader import read_ledger, table_path
from pipelines.store.runs import open_runs
from tests.cli.conftest import Place, day, days

# So long that no further batch becomes due while a test runs.
SELDOM = "365d"
MAIN = "from pipelines.cli.main import process; process()"


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for the next batch to come is asked to end."""
    waiting = select.select

    def asked(*words: list[int]) -> object:
        # PySpark's threads wait by it too.
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        return waiting(*words)

    monkeypatch.setattr("pipelines.cli.ending.select.select", asked)


def following(place: Place, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "follow", str(place.spec), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.system
@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_micro_batches_follow_the_clock_in_one_session_and_end_between_two(
    place: Place, asked: signal.Signals
):
    now = datetime.now(UTC)
    place.write_rides([("Bern", 1.0, now - timedelta(seconds=9), now - timedelta(seconds=8))])
    start = (now - timedelta(seconds=60)).isoformat()
    process = following(place, "--every", "2s", "--from", start)
    assert process.stdout is not None
    assert "following rides, a batch every 2s; Ctrl-C ends it" in process.stdout.readline()
    batches = [process.stdout.readline() for _ in range(2)]
    process.send_signal(asked)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out.splitlines()[-1]) == (0, "no batch is unfinished"), err
    assert all(line.startswith("batch [") for line in batches)
    rows = sorted(read_ledger(place.store, "rides"), key=lambda row: row.batch)
    assert {row.status for row in rows} == {"published"}
    first, second = (row.batch for row in rows[:2])
    assert first.end_us == second.start_us and first.end_us % 2_000_000 == 0
    frames = DeltaTable(table_path(place.store, "rides", table="partial_frames")).to_pyarrow_table()
    assert frames.num_rows == 1


def test_who_follows_what_is_in_the_future_is_told(place: Place, spark: SparkSession, interrupted: None):
    said = place.sash("follow", "--every", SELDOM, "--from", "2900-01-01")
    assert said.code == 0 and "the first begins at 2900-01-01" in said.out
    assert said.out.endswith("no batch is unfinished\n")


def test_it_goes_on_with_a_batch_whose_process_was_killed(
    place: Place, spark: SparkSession, interrupted: None
):
    place.write_rides([("Bern", 1.0, day(1, 8), day(1, 9))])
    open_batch(Site(spark, place.store, place.pipeline), Request(batch=days(1, 2)))
    said = place.sash("follow", "--every", SELDOM)
    assert said.code == 0, said.err
    first, second = sorted(read_ledger(place.store, "rides"), key=lambda row: row.batch)
    assert (first.batch, first.status, first.accepted) == (days(1, 2), "published", 1)
    assert (second.batch.start_us, second.status) == (days(1, 2).end_us, "published")


def test_an_older_batch_that_somebody_corrects_is_left_to_them(place: Place, spark: SparkSession):
    fingerprint = state_fingerprint(place.pipeline)
    place.write_run(day(1), day(2), "running", fingerprint=fingerprint, revision=1)
    place.write_run(day(2), day(3), "published", fingerprint=fingerprint)
    said = place.sash("follow", "--every", SELDOM)
    assert said.code == 4 and "batch [2024-01-01 00:00, 2024-01-02 00:00) is running" in said.err


def correcting(place: Place, waits: list[object], *, empties: bool = False) -> Callable[..., None]:
    """Somebody begins to correct an older batch just before the turn of ours, or has emptied all and begins
    anew, and ends after two waits.
    """
    turn, fingerprint = follow.await_turn, state_fingerprint(place.pipeline)

    def corrected(*words: object, **how: object) -> None:
        rows = read_ledger(place.store, "rides")
        runs = open_runs(folder_of(place.store, place.pipeline))
        if not waits:
            if empties:
                runs.take_out(*rows)
            place.write_run(day(1), day(2), "running", fingerprint=fingerprint)
        elif len(waits) == 2:
            runs.take_out(*[it for it in rows if it.batch == days(1, 2)])
        turn(*words, **how)  # type: ignore[arg-type]  # whatever it is given

    return corrected


def test_who_corrects_an_older_batch_meanwhile_is_waited_for_if_asked_to_and_a_rebuilding_is_not(
    place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    place.write_rides([("Bern", 1.0, day(1, 8), day(1, 9))])
    assert place.sash("run", "--from", "2024-01-02", "--to", "2024-01-03").code == 0
    waits, waiting, at_work = list[object](), select.select, "is running"

    def waited(*words: list[int]) -> object:
        if threading.current_thread() is not threading.main_thread():
            return waiting(*words)
        waits.append(words)
        if len(waits) == 3:
            signal.raise_signal(signal.SIGINT)
        return waiting(*words[:3], 0)

    does, empties = correcting(place, waits), correcting(place, waits, empties=True)
    monkeypatch.setattr(follow, "await_turn", does)
    monkeypatch.setattr("pipelines.cli.ending.select.select", waited)
    said = place.sash("follow", "--every", SELDOM, "--wait")
    assert said.code == 0, said.err
    assert said.err.count(f"waiting: batch [2024-01-01 00:00, 2024-01-02 00:00) {at_work}") == 1
    first, second = sorted(read_ledger(place.store, "rides"), key=lambda row: row.batch)
    assert (first.batch, second.batch.start_us) == (days(2, 3), days(2, 3).end_us)
    assert second.status == "published"
    for others, flags in ((does, ()), (empties, ("--wait",))):
        waits.clear()
        left = read_ledger(place.store, "rides")
        open_runs(folder_of(place.store, place.pipeline)).take_out(*[it for it in left if it.is_unfinished])
        monkeypatch.setattr(follow, "await_turn", others)
        refused = place.sash("follow", "--every", "1s", *flags)
        assert (refused.code, waits) == (4, []) and at_work in refused.err


def at_each_wait(monkeypatch: pytest.MonkeyPatch, *do: Callable[[], object]) -> None:
    """What happens whenever there is a wait for a batch; after the last, somebody asks to end."""
    waiting, to_do = select.select, [*do, lambda: signal.raise_signal(signal.SIGINT)]

    def waited(*words: list[int]) -> object:
        if threading.current_thread() is not threading.main_thread():
            return waiting(*words)
        to_do.pop(0)()
        return waiting(*words[:3], 0)

    monkeypatch.setattr("pipelines.cli.ending.select.select", waited)


def give_up(place: Place, batch: Interval) -> None:
    """A batch that is unfinished is one that was given up."""
    runs = open_runs(folder_of(place.store, place.pipeline))
    (row,) = (row for row in runs.rows if row.batch == batch)
    runs.put(replace(row, status="abandoned"))


@pytest.mark.parametrize("ends", ["while it is waited for", "as it is met"])
def test_what_a_batch_had_that_was_given_up_is_run_by_the_next(
    place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, ends: str
):
    turn, fingerprint, met = follow.await_turn, state_fingerprint(place.pipeline), list[Interval]()

    def is_met(*words: object, **how: object) -> None:
        """Somebody has just begun the first batch, which has failed."""
        if not met:
            met.append(days(1, 2))
            place.write_run(day(1), day(2), "failed", fingerprint=fingerprint)
        try:
            turn(*words, **how)  # type: ignore[arg-type]  # whatever it is given
        except WaitForTheBatch:
            if ends == "as it is met":
                give_up(place, *met)
            raise

    place.write_rides([("Bern", 1.0, day(1, 8), day(1, 9))])
    monkeypatch.setattr(follow, "await_turn", is_met)
    waits = [lambda: give_up(place, *met)] if ends == "while it is waited for" else []
    at_each_wait(monkeypatch, *waits)
    said = place.sash("follow", "--every", SELDOM, "--from", "2024-01-01", "--wait")
    assert said.code == 0 and "given" not in said.err, said.err
    assert said.err.count("waiting: batch [2024-01-01 00:00, 2024-01-02 00:00) is failed") == len(waits)
    (ran,) = (row for row in read_ledger(place.store, "rides") if row.status == "published")
    assert (ran.batch.start_us, ran.accepted) == (days(1, 2).start_us, 1)


@pytest.mark.parametrize("again", [0, 1, 2])
def test_who_rebuilds_is_not_run_ahead_of(
    place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, again: int
):
    fingerprint = state_fingerprint(place.pipeline)
    batches = [(day(1), day(2)), (day(2), datetime(2900, 1, 1, tzinfo=UTC))]

    def publish(some: Sequence[tuple[datetime, datetime]], *, revision: int) -> None:
        for batch in some:
            place.write_run(*batch, "published", fingerprint=fingerprint, revision=revision)

    def is_rebuilt() -> None:
        runs = open_runs(folder_of(place.store, place.pipeline))
        runs.take_out(*runs.rows)
        # Another run of the same batch, told by another number here, where none has a time.
        publish(batches[:again], revision=1)

    publish(batches, revision=0)
    at_each_wait(monkeypatch, is_rebuilt)
    said = place.sash("follow", "--every", SELDOM)
    assert said.code == (0 if again == len(batches) else 4)
    assert ("is being rebuilt" in said.err) == (said.code == 4), said.err


def test_what_may_not_be_readable_yet_is_left_to_the_next_batch(
    place: Place, spark: SparkSession, interrupted: None
):
    place.write_rides([("Bern", 1.0, day(1, 8), day(1, 9))])
    before = datetime.now(UTC)
    began = ("--from", (before - timedelta(hours=9)).isoformat())
    said = place.sash("follow", "--every", "1min", "--behind", "7h", *began)
    assert said.code == 0, said.err
    reached_us = max(row.batch.end_us for row in read_ledger(place.store, "rides"))
    behind = timedelta(hours=7)
    assert to_us(before - behind - timedelta(minutes=1)) <= reached_us <= to_us(datetime.now(UTC) - behind)


def test_who_asks_once_more_interrupts_the_batch_and_who_asks_between_two_does_not(
    capfd: pytest.CaptureFixture[str],
):
    end = Ending()
    try:
        with end.at_work():
            end.hear(signal.SIGINT, None)
            assert end.is_asked and "ending after this batch" in capfd.readouterr().err
            end.hear(signal.SIGINT, None)
            time.sleep(2 * ONCE_S)
            with pytest.raises(KeyboardInterrupt):
                end.hear(signal.SIGINT, None)
        end.hear(signal.SIGINT, None)
        end.wait(3600)
    finally:
        end.close()
