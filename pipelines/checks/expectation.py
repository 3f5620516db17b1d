"""One expectation about the rows of one stage, and the expectations of a pipeline as a suite.

Names and arguments are Great Expectations' own, kept as they were written: nothing here knows what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Literal, get_args

Stage = Literal["events", "partial_frames", "frames", "sessions", "panes"]
OnFailure = Literal["stop", "warn", "quarantine"]
STAGES: tuple[Stage, ...] = get_args(Stage)
ON_FAILURE: tuple[OnFailure, ...] = get_args(OnFailure)


@dataclass(frozen=True, slots=True)
class Entries:
    """A mapping that can be hashed, for the few arguments that are mappings."""

    pairs: tuple[tuple[str, Value], ...]


Value = str | int | float | bool | date | datetime | tuple["Value", ...] | Entries | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What is expected of the rows of a stage, and what to do otherwise. `line` is where it stands."""

    stage: Stage
    name: str
    arguments: tuple[tuple[str, Value], ...]
    on_failure: OnFailure = "stop"
    line: int = 0

    def argument(self, name: str) -> Value:
        """The argument of that name, `None` where it was not given."""
        return dict(self.arguments).get(name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is about, in the order given; none where it is about the table."""
        if self.name.startswith("expect_table_"):
            return ()
        single = [self.argument(name) for name in ("column", "column_A", "column_B")]
        several = self.argument("column_list")
        named = [*single, *(several if isinstance(several, tuple) else ())]
        return tuple(name for name in named if isinstance(name, str))

    @property
    def column(self) -> str | None:
        """The same as the `checks` table shows them: `a`, `a, b`, or null."""
        return ", ".join(self.columns) or None

    @property
    def wanted(self) -> str:
        """Its arguments beside the columns, as they are written in the suite."""
        return ", ".join(f"{name}: {show(value)}" for name, value in self._beside_columns())

    @property
    def rule(self) -> str:
        """Its name with columns and arguments, which tells it from all others of its stage."""
        told = [*self.columns]
        told += [f"{name}={show(value)}" for name, value in self._beside_columns() if name != "mostly"]
        return f"{self.name}({', '.join(told)})"

    def _beside_columns(self) -> Iterator[tuple[str, Value]]:
        for name, value in self.arguments:
            if name not in ("column", "column_A", "column_B", "column_list", *REMARKS):
                yield name, value


REMARKS = ("description", "meta", "notes", "severity")
"""Arguments that every expectation takes and that change nothing about what it expects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """All expectations of a pipeline. Without a file there are none."""

    path: Path | None = None
    expectations: tuple[Expectation, ...] = ()

    def at(self, stage: Stage) -> tuple[Expectation, ...]:
        """The expectations of one stage, as they stand in the file."""
        return tuple(expectation for expectation in self.expectations if expectation.stage == stage)


def freeze(value: object) -> Value:
    """A value as read from YAML, with tuples for lists and `Entries` for mappings."""
    if isinstance(value, dict):
        return Entries(tuple((str(name), freeze(item)) for name, item in value.items()))
    if isinstance(value, list | tuple | set):
        return tuple(freeze(item) for item in value)
    if value is None or isinstance(value, str | int | float | date):
        return value
    raise TypeError(f"an argument is text, a number, a date, a list or a mapping; found {type(value)}")


def thaw(value: Value) -> object:
    """The same value with plain lists and dicts, as Great Expectations takes it."""
    if isinstance(value, Entries):
        return {name: thaw(item) for name, item in value.pairs}
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    return value


def show(value: Value) -> str:
    """A value as YAML would have it, in one line."""
    if isinstance(value, Entries):
        return "{" + ", ".join(f"{name}: {show(item)}" for name, item in value.pairs) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(show(item) for item in value)}]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
