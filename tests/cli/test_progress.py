"""How far a run is: lines where nobody watches, a bar where somebody does."""

from __future__ import annotations

import io
import sys

import pytest

from pipelines.cli.bar import bar_on_terminal
from pipelines.cli.progress import Bars, Lines, progress
from pipelines.cli.steps import steps_of
from pipelines.stages import Report

STEPS = steps_of(["east", "west"])
BATCHES = ("[1970-01-01 00:00, 1970-01-01 00:01)", "[1970-01-01 00:01, 1970-01-01 00:02)")


class Told:
    """A bar that keeps what it was told."""

    def __init__(self) -> None:
        self.moves: list[tuple[str, int]] = []
        self.notes: list[str] = []

    def move(self, words: str, advance: int) -> None:
        self.moves.append((words, advance))

    def note(self, line: str) -> None:
        self.notes.append(line)


def reports() -> list[Report]:
    return [Report(stage=step.split()[0], line=f"{step}: done") for step in STEPS]


def test_a_batch_goes_through_a_step_per_source_and_three_more():
    assert STEPS == ("accumulate east", "accumulate west", "combine", "finalise", "publish")


def test_without_a_terminal_each_report_is_a_line(capsys: pytest.CaptureFixture[str]):
    with progress(2, STEPS) as shown:
        assert isinstance(shown, Lines)
        shown.passes()
        shown.begins(BATCHES[0])
        shown.done(reports()[0])
    assert capsys.readouterr().out == "batch [1970-01-01 00:00, 1970-01-01 00:01)\n  accumulate east: done\n"


def test_a_bar_names_the_step_at_work_and_ends_full():
    told = Told()
    bars = Bars(told, STEPS)
    for batch in BATCHES:
        bars.begins(batch)
        for report in reports():
            bars.done(report)
    bars.passes()
    assert sum(advance for _, advance in told.moves) == (len(BATCHES) + 1) * len(STEPS)
    at_work = [words.split(") ")[1] for words, _ in told.moves[:5]]
    assert at_work == list(STEPS)
    assert told.notes == [f"batch {batch}: publish: done" for batch in BATCHES]


def test_on_a_terminal_a_bar_is_drawn_on_standard_error(monkeypatch: pytest.MonkeyPatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress(1, STEPS) as shown:
        assert isinstance(shown, Bars)
        shown.begins(BATCHES[0])
        for report in reports():
            shown.done(report)
    assert "publish: done" in terminal.getvalue()


def test_words_with_brackets_are_drawn_as_they_are(monkeypatch: pytest.MonkeyPatch):
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    with bar_on_terminal(1) as bar:
        bar.note("batch [red]")
    assert "batch [red]" in terminal.getvalue()
