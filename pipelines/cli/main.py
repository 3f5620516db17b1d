"""`sash`: reads the words, runs the command, and turns whatever happens into an exit code.

A command is imported when it is asked for, so that none pays for what another needs.
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from pipelines.cli.arguments import Arguments, read_arguments
from pipelines.cli.output import Unheard, leave_nothing, output_of
from pipelines.cli.told import told
from pipelines.errors import SashError
from pipelines.spec import hide, secrets_of, understood


def process() -> NoReturn:
    """`main` as a process of its own, which leaves with its exit code.

    The interpreter is not taken down. Arrow reads Delta by way of Python in threads of its own, and one that
    lets go of a file just then would abort the process, whatever that had done: with the machine busy, every
    seventh that only read a small table.
    """
    code = SashError.exit_code

    def leave() -> None:
        for output in (sys.stdout, sys.stderr):
            if output is not None:
                output.flush()
        os._exit(code)

    # Registered first, it is called last of all that is to be done at exit.
    atexit.register(leave)
    try:
        code = main()
    except SystemExit as asked:
        # `--help` ends in the middle of reading the words.
        code = asked.code if isinstance(asked.code, int) else SashError.exit_code
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (that of the process, unless one is given) and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    with output_of(words):
        return _code_of(words)


def _code_of(words: Sequence[str]) -> int:
    arguments: Arguments | None = None
    try:
        arguments = read_arguments(words)
        _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt as error:
        _tell(told(error) if str(error) else "interrupted", words, arguments=arguments)
        return SashError.exit_code
    except SashError as error:
        _tell(told(error), words, arguments=arguments)
        return error.exit_code
    except Exception as error:  # noqa: BLE001  # the last place that can tell it in words
        if isinstance(error, BrokenPipeError) and not isinstance(sys.stdout, Unheard):
            # Whoever read our output has seen enough, like `head`.
            leave_nothing(sys.stdout)
            return 0
        _tell(told(error), words, arguments=arguments)
        return SashError.exit_code
    return 0


def _run(arguments: Arguments) -> None:
    name = arguments.command
    module = importlib.import_module(f"pipelines.cli.{name}")
    command: Callable[[Arguments], None] = getattr(module, name)
    command(arguments)


def _tell(paragraph: str, words: Sequence[str], *, arguments: Arguments | None) -> None:
    """The paragraph, after the traceback if that was asked for, without what the spec keeps secret."""
    secrets = _secrets(arguments)
    if "--debug" in words:
        print(hide(traceback.format_exc(), secrets), file=sys.stderr, end="")
    print(f"sash: {hide(paragraph, secrets)}", file=sys.stderr)


def _secrets(arguments: Arguments | None) -> tuple[str, ...]:
    try:
        return () if arguments is None else secrets_of(understood(Path(arguments.spec))[0])
    except Exception:  # noqa: BLE001  # whatever it is, the error that is being told says more
        # It is no spec, so it was not run and there is nothing in it that could be told.
        return ()
