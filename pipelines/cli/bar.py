"""The bar of a run on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn


@dataclass(frozen=True, slots=True)
class TerminalBar:
    """One bar, with words before it and lines above it."""

    progress: Progress
    task: TaskID

    def move(self, words: str, advance: int) -> None:
        self.progress.update(self.task, description=words, advance=advance)

    def note(self, line: str) -> None:
        self.progress.console.print(line, markup=False, highlight=False)


@contextmanager
def bar_on_terminal(total: int) -> Iterator[TerminalBar]:
    """A bar on standard error, gone when the run is over."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        yield TerminalBar(shown, shown.add_task("starting Spark", total=total))
