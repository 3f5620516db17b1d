"""What a command line says, and how it says that it was not understood."""

from __future__ import annotations

import shlex
from importlib.metadata import version

import pytest

from pipelines.cli.again import place_of
from pipelines.cli.arguments import read_arguments
from pipelines.cli.manual import COMMANDS
from pipelines.errors import CorrectTheCall


def read(line: str):
    return read_arguments(line.split())


def test_a_run_says_its_batch_and_its_flags():
    arguments = read("run a.yml --from 2013-01-01 --to 2013-01-02 --every 1h --final --yes --wait --replace")
    assert (arguments.command, arguments.spec) == ("run", "a.yml")
    assert (arguments.since, arguments.until, arguments.every) == ("2013-01-01", "2013-01-02", "1h")
    assert arguments.final and arguments.yes and arguments.wait and arguments.replace
    assert not (arguments.rebuild or arguments.ignore_lateness or arguments.debug)


def test_what_is_not_said_is_none_or_false():
    arguments = read("run a.yml")
    assert [arguments.since, arguments.until, arguments.every, arguments.watermark] == [None] * 4
    assert [arguments.store, arguments.spark] == [None] * 2


def test_options_may_stand_before_the_spec():
    assert read("show --limit 5 a.yml windows").limit == 5


@pytest.mark.parametrize("command", [*COMMANDS])
def test_every_command_takes_store_spark_and_debug(command: str):
    batch = "--from 2013 --to 2014"
    needed = {"stage": f"combine {batch}", "abandon": batch, "replay": "late", "follow": "--every 10s"}
    words = {**needed, "show": "runs"}.get(command, "")
    arguments = read(f"{command} a.yml {words} --store s --spark local[2] --debug")
    assert (arguments.store, arguments.spark, arguments.debug) == ("s", "local[2]", True)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ran a.yml", "invalid choice: 'ran' (choose from"),
        ("run", "required: SPEC"),
        ("run a.yml --form 2013-01-01", "unrecognized arguments: --form"),
        ("run a.yml --rep", "unrecognized arguments: --rep"),
        ("run a.yml b.yml", "unrecognized arguments: b.yml"),
        ("stage a.yml mix --from 2013-01-01 --to 2014-01-01", "invalid choice: 'mix'"),
        ("stage a.yml combine --from 2013-01-01", "required: --to"),
        (
            "abandon a.yml --from 2013-01-01 --to 2014-01-01 --every 1h",
            "unrecognized arguments: --every",
        ),
        ("show a.yml windows --limit -1", "--limit"),
        ("show a.yml windows --limit few", "found `few`, wanted a whole number"),
        ("show a.yml windows --format xml", "invalid choice: 'xml'"),
    ],
)
def test_a_call_that_is_not_understood_is_told_with_the_page_that_helps(line: str, told: str):
    with pytest.raises(CorrectTheCall) as raised:
        read(line)
    assert told in str(raised.value)
    command = line.split(maxsplit=1)[0]
    page = f"sash {command}" if command in COMMANDS else "sash"
    assert f"`{page} --help` shows how it is called" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_without_words_the_page_of_all_commands_is_shown(
    words: list[str], capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as left:
        read_arguments(words)
    page = capsys.readouterr().out
    assert left.value.code == 0
    assert all(command in page for command in COMMANDS)


def test_versions_are_told_of_all_that_a_fault_may_lie_in(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        read("--version")
    told = capsys.readouterr().out
    assert left.value.code == 0
    assert told.count("\n") == 1
    assert told.startswith(f"sash {version('sash')}, pyspark {version('pyspark')}, delta-spark ")


@pytest.mark.parametrize("command", [*COMMANDS])
def test_the_page_of_a_command_has_examples_and_exit_codes(command: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        read(f"{command} --help")
    page = capsys.readouterr().out
    assert left.value.code == 0
    assert f"usage: sash {command} " in page
    assert f"  sash {command} dags/airport_traffic.yml" in page
    assert all(f"\n  {code}  " in page for code in range(5))


@pytest.mark.parametrize("command", [*COMMANDS])
def test_the_examples_of_a_page_are_calls_that_are_understood(command: str):
    lines = [line for line in COMMANDS[command].examples.splitlines() if line]
    assert lines
    for line in lines:
        assert read_arguments(shlex.split(line)[1:]).command == command


def test_a_command_that_is_told_has_no_password_of_its_store():
    arguments = read("status a.yml --store s3a://KEY:SECRET@events/x")
    assert place_of(arguments) == " --store 's3a://KEY:***@events/x'"
