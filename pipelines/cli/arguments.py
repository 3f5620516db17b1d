"""The words of a command line, and the pages that teach them.

A word that is not understood raises `CorrectTheCall`, like every other thing that is wrong with a call.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn

from pipelines.cli.manual import COMMANDS, ENVIRONMENT, Page
from pipelines.cli.steps import STAGES
from pipelines.errors import CorrectTheCall

FORMATS = ("table", "csv", "json")
MOST_ROWS = 2**63 - 1
REPLAYED = ("late", "quarantine")


class Arguments(argparse.Namespace):
    """All that a command line can say. A command reads what it has options for."""

    command: str
    spec: str
    store: str | None
    spark: str | None
    debug: bool
    stage: str
    source: str | None
    table: str
    what: str
    replay: str | None
    since: str | None
    until: str | None
    every: str | None
    behind: str | None
    watermark: str | None
    final: bool
    replace: bool
    rebuild: bool
    ignore_lateness: bool
    wait: bool
    yes: bool
    where: str | None
    limit: int | None
    format: str


class Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong instead of leaving."""

    def error(self, message: str) -> NoReturn:
        raise CorrectTheCall(f"{message}; {_taught(self.prog)}")


class Versions(argparse.Action):
    """Prints what Sash is made of, for whoever reports a fault, and leaves."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        made_of = ("sash", "pyspark", "delta-spark", "deltalake")
        told = [f"{name} {version(name)}" for name in made_of]
        print(", ".join([*told, f"Python {platform.python_version()}"]))
        parser.exit()


def read_arguments(words: Sequence[str]) -> Arguments:
    """What the words say. Leaves, with what was asked for, at `--help` and `--version`."""
    found, unknown = _parser().parse_known_args(words or ["--help"], namespace=Arguments())
    if unknown:
        raise CorrectTheCall(
            f"unrecognized arguments: {' '.join(unknown)}; {_taught(f'sash {found.command}')}"
        )
    return found


def _taught(called: str) -> str:
    return f"`{called} --help` shows how it is called"


def _parser() -> Parser:
    listed = "\n".join(f"  {name:<9} {page.summary}" for name, page in COMMANDS.items())
    parser = Parser(
        prog="sash",
        usage="sash COMMAND SPEC [...]",
        description="Sash aggregates event streams per key over windows of event time, on Spark and Delta.",
        epilog=f"commands:\n{listed}\n\n`sash COMMAND --help` shows examples.\n\n{ENVIRONMENT}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=Versions, nargs=0, help="show the versions of Sash and what it is on"
    )
    commands = parser.add_subparsers(
        dest="command", prog="sash", required=True, metavar="COMMAND", help=argparse.SUPPRESS
    )
    for name, page in COMMANDS.items():
        _add_options(_add_command(commands, name, page=page), name)
    return parser


def _add_command(commands: argparse._SubParsersAction[Parser], name: str, *, page: Page) -> Parser:
    command = commands.add_parser(
        name,
        description=page.description,
        epilog=page.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_argument("spec", metavar="SPEC", help="the pipeline's file, like dags/airport_traffic.yml")
    everywhere = command.add_argument_group("for all commands")
    everywhere.add_argument(
        "--store",
        metavar="URI",
        help="where the tables lie; else SASH_STORE, else var/store in the pipeline's home",
    )
    everywhere.add_argument(
        "--spark", metavar="ADDRESS", help="local[2], spark://…, sc://…; else SASH_SPARK, else this machine"
    )
    everywhere.add_argument("--debug", action="store_true", help="show where in the code an error came from")
    return command


def _add_options(command: Parser, name: str) -> None:
    match name:
        case "run":
            _add_batch(command, required=False)
            _add_every(command)
            _add_flags(command)
        case "stage":
            command.add_argument("stage", metavar="STAGE", choices=STAGES, help=", ".join(STAGES))
            command.add_argument("--source", metavar="NAME", help="accumulate this source alone")
            _add_batch(command, required=True)
            _add_every(command)
            _add_flags(command)
        case "plan":
            _add_batch(command, required=False)
            _add_every(command)
            _add_flags(command)
            _add_options_of_a_plan(command)
        case "abandon":
            _add_batch(command, required=True)
        case "replay":
            command.add_argument("what", metavar="WHAT", choices=REPLAYED, help=", ".join(REPLAYED))
            _add_batch(command, required=False)
            _add_wait(command)
        case "follow":
            _add_options_of_following(command)
        case "show":
            _add_choice_of_rows(command)


def _add_choice_of_rows(command: Parser) -> None:
    command.add_argument("table", metavar="TABLE", help="windows, panes, runs, …: any other name lists them")
    command.add_argument("--where", metavar="SQL", help="a predicate over a row's columns")
    command.add_argument(
        "--limit", metavar="N", type=_whole, help="at most N rows; 20 where --format is table"
    )
    command.add_argument("--format", choices=FORMATS, default="table", help="table, csv or json lines")


def _add_options_of_following(command: Parser) -> None:
    command.add_argument("--every", metavar="DURATION", required=True, help="how long a batch is at least")
    command.add_argument(
        "--behind",
        metavar="DURATION",
        help="leave to the next batch what arrived in the last DURATION: as long as it may take from the "
        "arrival time of a row until it can be read",
    )
    command.add_argument("--from", dest="since", metavar="INSTANT", help="where to begin, if nothing has run")
    _add_wait(command)


def _add_every(command: Parser) -> None:
    command.add_argument(
        "--every", metavar="DURATION", help="cut the interval into consecutive batches of this length"
    )


def _add_options_of_a_plan(command: Parser) -> None:
    command.add_argument(
        "--replay",
        metavar="WHAT",
        choices=REPLAYED,
        help="what `sash replay` of late or quarantine would do; --from and --to leave batches out",
    )
    command.add_argument("--format", choices=("text", "json"), default="text", help="text or json")


def _add_batch(command: Parser, *, required: bool) -> None:
    command.add_argument(
        "--from", dest="since", metavar="INSTANT", required=required, help="first arrival time of the batch"
    )
    command.add_argument(
        "--to",
        dest="until",
        metavar="INSTANT",
        required=required,
        help="where it ends: this instant is not in it",
    )


def _add_flags(command: Parser) -> None:
    command.add_argument(
        "--watermark", metavar="INSTANT", help="raise the watermark to it after the (last) batch"
    )
    command.add_argument("--final", action="store_true", help="close everything after the (last) batch")
    command.add_argument(
        "--yes",
        action="store_true",
        help="do not ask before --final and --rebuild (in a script --final needs it, --rebuild asks nobody)",
    )
    command.add_argument(
        "--replace", action="store_true", help="take the place of older batches that it covers"
    )
    command.add_argument("--ignore-lateness", action="store_true", help="judge no event late")
    _add_wait(command)
    command.add_argument(
        "--rebuild", action="store_true", help="empty all tables first, after a change that they cannot serve"
    )


def _add_wait(command: Parser) -> None:
    command.add_argument("--wait", action="store_true", help="wait while another batch is unfinished")


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_ROWS:
        raise argparse.ArgumentTypeError(f"found `{text}`, wanted a whole number from 0 to {MOST_ROWS:,}")
    return int(text)
