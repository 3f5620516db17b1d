"""`sash` as a process of its own: exit codes, what it loads, and how it is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from pipelines.cli.again import run_again
from pipelines.cli.arguments import read_arguments
from pipelines.cli.run import interrupted, requests_of
from pipelines.intervals import Interval
from pipelines.spec import state_fingerprint
from pipelines.stages import Request
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.reader import read_ledger
from tests.cli.conftest import Place, day, days

PROCESS = [sys.executable, "-c", "from pipelines.cli.main import process; process()"]


@pytest.mark.system
@pytest.mark.parametrize(
    ("words", "code"), [(["--help"], 0), (["run", "none.yml"], 2), (["status", "{spec}"], 0)]
)
def test_a_process_of_its_own_leaves_with_the_same_codes(words: list[str], code: int, place: Place):
    called = [word.format(spec=place.spec) for word in words]
    done = subprocess.run([*PROCESS, *called], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert (done.stdout != "") == (code == 0)


@pytest.mark.system
@pytest.mark.parametrize("words", [["--help"], ["status", "{spec}"], ["show", "{spec}", "windows"]])
def test_a_command_that_needs_no_spark_loads_none(words: list[str], place: Place):
    program = (
        "import sys; from pipelines.cli.main import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "heavy = ('pyspark', 'great_expectations', 'airflow')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    called = [word.format(spec=place.spec) for word in words]
    done = subprocess.run(
        [sys.executable, "-c", program, *called], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.system
def test_ctrl_c_leaves_with_1_and_a_word(place: Place):
    place.write_run(day(1), day(2), "running", fingerprint=state_fingerprint(place.pipeline))
    words = ["run", str(place.spec), "--from", "2024-01-02", "--to", "2024-01-03", "--wait"]
    with subprocess.Popen([*PROCESS, *words], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("waiting: batch [2024-01-01 00:00")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 1
        assert process.stderr.read() == "sash: interrupted\n"


@pytest.mark.slow
@pytest.mark.system
def test_ctrl_c_while_spark_works_names_the_batch_and_what_takes_it_up_again(
    place: Place, spark: SparkSession
):
    place.write_rides([("Bern", 10.0, day(1, 7), day(1, 8))])
    words = ["run", str(place.spec), "--from", "2024-01-01", "--to", "2024-01-02", "--spark", "local[1]"]
    with subprocess.Popen(
        [*PROCESS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == f"batch {days(1, 2)}\n"
        while not read_ledger(place.store, "rides"):
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 1
        said = process.stderr.read()
    assert "sash: interrupted; batch [2024-01-01 00:00, 2024-01-02 00:00) is unfinished" in said
    assert "Traceback" not in said


def running(batch: Interval) -> LedgerRow:
    return LedgerRow(batch=batch, revision=0, status="running", spec_fingerprint="")


def test_a_batch_that_is_not_open_is_not_said_to_be_in_the_way():
    arguments, request = read_arguments(["run", "rides.yml"]), Request(batch=days(1, 2))
    other = running(days(2, 3))
    not_begun = str(interrupted(arguments, request, rows=[other]))
    assert "has not been opened, and no other batch waits for it" in not_begun
    published = replace(running(days(1, 2)), status="published")
    assert "stands as it was published" in str(interrupted(arguments, request, rows=[other, published]))


def test_a_batch_that_is_interrupted_is_named_with_what_takes_it_up_again():
    arguments = read_arguments(["run", "rides.yml", "--store", "here"])
    request = Request(batch=days(1, 2))
    paragraph = str(interrupted(arguments, request, rows=[running(days(1, 2))]))
    assert "batch [2024-01-01 00:00, 2024-01-02 00:00) is unfinished" in paragraph
    again = "sash run rides.yml --from 2024-01-01T00:00:00Z --to 2024-01-02T00:00:00Z --store here"
    assert f"`{again}`" in paragraph
    assert read_arguments(again.split()[1:]).store == "here"


@pytest.mark.parametrize("typed", [(), ("--from", "2024-01-01", "--to", "2024-01-09")])
def test_a_replay_that_is_interrupted_is_said_again_as_it_was_said(typed: tuple[str, ...]):
    arguments = read_arguments(["replay", "rides.yml", "late", *typed])
    request = Request(batch=days(1, 2), ignore_lateness=True, replays="late")
    said = str(interrupted(arguments, request, rows=[running(days(1, 2))])).rpartition("with ")[2]
    where = " --from 2024-01-01T00:00:00Z --to 2024-01-09T00:00:00Z" if typed else ""
    assert said == f"`sash replay rides.yml late{where}`"


@pytest.mark.parametrize("words", [["run", "rides.yml"], ["follow", "rides.yml", "--every", "1 h"]])
def test_what_a_replay_left_is_said_again_for_its_batch_alone_by_who_went_on_with_it(words: list[str]):
    request = Request(batch=days(1, 2), ignore_lateness=True, replays="late")
    said = str(interrupted(read_arguments(words), request, rows=[running(days(1, 2))]))
    assert said.endswith("late --from 2024-01-01T00:00:00Z --to 2024-01-02T00:00:00Z`")


def test_what_a_replay_left_is_gone_on_with_by_it():
    arguments = read_arguments(["status", "rides.yml"])
    said = run_again(arguments, days(1, 2), wishes={"ignore_lateness": 1, "replays_late": 1})
    assert said == ("`sash replay rides.yml late --from 2024-01-01T00:00:00Z --to 2024-01-02T00:00:00Z`")


def test_what_was_asked_for_is_said_again_with_the_batch_it_is_for():
    words = [
        "run",
        "rides.yml",
        "--from",
        "2024-01-01",
        "--to",
        "2024-01-03",
        "--every",
        "1d",
        "--ignore-lateness",
        "--yes",
    ]
    arguments = read_arguments([*words, "--final"])
    first, last = requests_of(arguments, [days(1, 2), days(2, 3)])
    assert "--ignore-lateness" in str(interrupted(arguments, first, rows=[running(days(1, 2))]))
    assert "--final" not in str(interrupted(arguments, first, rows=[running(days(1, 2))]))
    assert "--final" in str(interrupted(arguments, last, rows=[running(days(2, 3))]))
    raised = read_arguments([*words, "--watermark", "2024-01-02"])
    first, last = requests_of(raised, [days(1, 2), days(2, 3)])
    assert "--watermark" not in str(interrupted(raised, first, rows=[running(days(1, 2))]))
    assert "--watermark 2024-01-02" in str(interrupted(raised, last, rows=[running(days(2, 3))]))


@pytest.mark.system
def test_a_process_leaves_before_threads_of_others_find_the_interpreter_gone(place: Place):
    program = (
        "import os\n"
        "class TakenDown:\n"
        "    def __del__(self): os.write(2, b'taken down')\n"
        "kept = TakenDown()\n"
        f"{PROCESS[2]}"
    )
    for words, code in ((["--help"], 0), (["status", str(place.spec)], 0), (["status"], 2)):
        called = [sys.executable, "-c", program, *words]
        done = subprocess.run(called, capture_output=True, text=True, check=False)
        assert done.returncode == code and (done.stdout != "") == (code == 0)
        assert "taken down" not in done.stderr


@pytest.mark.system
def test_whoever_reads_the_output_may_stop_reading(place: Place):
    command = f"set -o pipefail; {sys.executable} -c '{PROCESS[2]}' explain {place.spec} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == "" and done.stdout.startswith("rides")
