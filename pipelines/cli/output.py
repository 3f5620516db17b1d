"""The outputs of commands that write tables: they go on where nobody reads them any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO, cast

WRITING = ("abandon", "maintain", "replay", "run", "stage")
"""The commands that go on. `follow` has done its batch before it tells of it, and ends."""


class Unheard:
    """An output whose reader may go away, like `head` or a terminal, or whose disk may be full; what is said
    from then on is said to nobody.
    """

    def __init__(self, output: TextIO) -> None:
        self._output = output

    def write(self, text: str) -> int:
        try:
            written = self._output.write(text)
            # At once, so that nobody else comes upon the pipe that is broken.
            self._output.flush()
        except OSError:
            leave_nothing(self._output)
            return len(text)
        return written

    def __getattr__(self, name: str) -> object:
        return getattr(self._output, name)


@contextmanager
def output_of(words: Sequence[str]) -> Iterator[None]:
    """Let a command line write to the outputs of the process, which may be closed, or of few characters."""
    goes_on = bool(words) and words[0] in WRITING
    # There an escape would be another value.
    is_for_machines = not {"json", "csv", "--format=json", "--format=csv"}.isdisjoint(words)
    with ExitStack() as kept:

        def heard(output: TextIO | None) -> TextIO:
            if output is None:
                return kept.enter_context(Path(os.devnull).open("w"))
            if isinstance(output, TextIOWrapper) and output.errors == "strict" and not is_for_machines:
                # What the terminal has no character for is escaped, and does not end a page in the middle.
                output.reconfigure(errors="backslashreplace")
                kept.callback(output.reconfigure, errors="strict")
            return cast("TextIO", Unheard(output)) if goes_on else output

        kept.enter_context(redirect_stdout(heard(sys.stdout)))
        kept.enter_context(redirect_stderr(heard(sys.stderr)))
        yield


def leave_nothing(output: TextIO) -> None:
    """Leave nothing of it to be written at exit, where nobody reads."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)
