"""`docs/semantics.md` as values: its drawing, its first table, its SQL."""

from __future__ import annotations

import re
from pathlib import Path

from tests.transcripts.reading import MINUTE, Told

TEXT = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text()
CLOCK = re.compile(r"10:(\d\d)")
PANE = re.compile(r"^\|.*\| (insert|retract) \| (EARLY|ON_TIME|LATE) \| (\d+) \| (\d+) \| (yes|no) \|$")


def recipes() -> list[str]:
    """All SQL, from the top."""
    return re.findall(r"```sql\n(.*?)```", TEXT, flags=re.DOTALL)


def drawn() -> dict[str, str]:
    """The lines of the drawing by the words before them."""
    told = TEXT.split("```")[1].splitlines()
    return {line[:13].strip(): line[13:] for line in told if line[:13].strip()}


def minutes(line: str) -> list[int]:
    """The times of a line, in minutes after ten."""
    return [int(found) for found in CLOCK.findall(line)]


def happened() -> dict[int, tuple[int, str]]:
    """By its payment, the minute of an event, which is half its place, and its letter."""
    paid = {found.start() // 2: int(found[0]) for found in re.finditer(r"\d+", drawn()["paid"])}
    letters = {found.start() // 2: found[0] for found in re.finditer(r"\w", drawn()["happened"])}
    return {paid[minute]: (minute, letter) for minute, letter in letters.items()}


def arrived() -> dict[str, int]:
    """By its letter, the minute in which an event arrived."""
    return {found[0]: found.start() // 2 for found in re.finditer(r"\w", drawn()["arrived"])}


def panes() -> dict[int, list[Told]]:
    """By the end of their batch, the panes that the table tells of the window."""
    found: dict[int, list[Told]] = {}
    until = 0
    for line in TEXT.splitlines():
        until = minutes(line)[0] if line.startswith("| 10:") else until
        pane = PANE.fullmatch(line)
        if pane:
            kind, timing, index, total, final = pane.groups()
            flags = (final == "yes", int(index) == 0, False)
            told = ("ann", 0, 10 * MINUTE, timing, int(index), kind, int(total), *flags)
            found.setdefault(until, []).append(told)
    return found
