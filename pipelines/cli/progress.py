"""How far a run is: bars on a terminal, plain lines elsewhere.

Both are told the same: that a batch begins, and what each stage of it did.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from pipelines.stages import Report


class Progress(Protocol):
    """Somebody who is told how far a run is."""

    def begins(self, batch: str) -> None: ...

    def passes(self) -> None:
        """A batch is left out."""

    def done(self, report: Report) -> None: ...


def tell_warnings(report: Report) -> None:
    """A line for each expectation that failed and only warns."""
    for line in report.warnings:
        print(f"warning: {line}", file=sys.stderr, flush=True)


class Lines:
    """A line per batch, and one per stage of it."""

    def begins(self, batch: str) -> None:
        print(f"batch {batch}", flush=True)

    def passes(self) -> None:
        """How many they are is said at the end."""

    def done(self, report: Report) -> None:
        print(f"  {report.line}", flush=True)
        tell_warnings(report)


class Bars:
    """A bar over all batches that names the stage at work, and a line per batch that is done."""

    def __init__(self, bar: Bar, steps: Sequence[str]) -> None:
        self._bar = bar
        self._steps = steps
        self._batch = ""
        self._done = 0

    def begins(self, batch: str) -> None:
        self._batch = batch
        self._done = 0
        self._tell(0)

    def passes(self) -> None:
        self._bar.move(self._batch, len(self._steps))

    def done(self, report: Report) -> None:
        self._done += 1
        self._tell(1)
        for line in report.warnings:
            self._bar.note(f"warning: {line}")
        if self._done == len(self._steps):
            self._bar.note(f"batch {self._batch}: {report.line}")

    def _tell(self, advance: int) -> None:
        step = self._steps[min(self._done, len(self._steps) - 1)]
        self._bar.move(f"{self._batch} {step}", advance)


class Bar(Protocol):
    """A bar on a terminal."""

    def move(self, words: str, advance: int) -> None: ...

    def note(self, line: str) -> None: ...


@contextmanager
def progress(batches: int, steps: Sequence[str]) -> Iterator[Progress]:
    """Whoever is told of a run of so many batches, each of these steps."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    from pipelines.cli.bar import bar_on_terminal  # rich is needed on a terminal alone

    with bar_on_terminal(batches * len(steps)) as bar:
        yield Bars(bar, steps)
