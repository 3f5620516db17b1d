"""Reading one mapping of a spec: each key once, by its kind, with every problem kept for the end.

A `Fields` says what it found and what is allowed; it never raises, so that all problems of a spec are
told together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from pipelines.spec.durations import FINER, parse_duration, parse_instant, show_duration
from pipelines.spec.functions import LIKE_COLUMNS
from pipelines.spec.secret_values import hide
from pipelines.spec.sql import problems_of
from pipelines.spec.yaml import Located, as_key

Read = TypeVar("Read")


class Problems:
    """The problems of a document, in the order of its lines."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []

    def add(self, line: int, text: str) -> None:
        self._found.append((line, text))

    def told(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(f"line {line}: {text}" for line, text in sorted(self._found, key=lambda it: it[0]))
        )

    def __len__(self) -> int:
        return len(self._found)


class Fields:
    """A mapping under the name `where`, of which keys are taken one by one; `close` refuses the rest."""

    def __init__(
        self,
        located: Located | None,
        where: str,
        *,
        problems: Problems,
        inherited: Mapping[str, Located] | None = None,
    ) -> None:
        self.where = where
        self.inherited = inherited or {}
        self.problems = problems
        self.line = located.line if located is not None else 1
        self.items: Mapping[str, Located] = {}
        self._taken: set[str] = set()
        self._sections: list[Fields] = []
        if located is not None and isinstance(located.value, Mapping):
            self.items = located.value
        elif located is not None and located.value is not None:
            self.refuse(located, f"found {kind_of(located)}; allowed is a mapping")

    def __contains__(self, name: str) -> bool:
        return name in self.items

    def take(self, name: str) -> Located | None:
        """The value under a key, `None` where the key is not there or holds null."""
        self._taken.add(name)
        located = self.items.get(name)
        return None if located is None or located.value is None else located

    def refuse(self, located: Located | None, text: str, *, name: str = "") -> None:
        line = located.line if located is not None else self.line
        path = ".".join(part for part in (self._where(located), name) if part)
        # A mapping that was forgotten leaves an address where nobody looks for secrets.
        self.problems.add(line, hide(f"{path}: {text}" if path else text, ()))

    def _where(self, located: Located | None) -> str:
        """Where a value stands: what all sources share stands under `source`, and is told there, once."""
        shared = any(located is other for other in self.inherited.values())
        return "source" if shared else self.where

    def text(self, name: str, *, required: bool = False) -> str | None:
        located = self.take(name)
        if located is None:
            if required:
                self.refuse(None, f"`{name}` is missing; it is required")
            return None
        if isinstance(located.value, str) and located.value.strip():
            return located.value
        self.refuse(located, f"found {kind_of(located)}; allowed is a text", name=name)
        return None

    def sql(self, name: str, *, required: bool = False) -> str | None:
        """A SQL expression; what cannot be over a row alone is refused, and is none."""
        located = self.items.get(name)
        if located is not None and isinstance(located.value, bool | int | float):
            self._taken.add(name)
            return located.written
        written = self.text(name, required=required)
        if located is not None and located.value is None and not required:
            self.refuse(located, "found nothing; allowed is a SQL expression", name=name)
        if written is not None and located is not None:
            problems = problems_of(written, may_be_columns=LIKE_COLUMNS)
            for problem in problems:
                self.refuse(located, f"`{written}`: {problem}", name=name)
            return None if problems else written
        return None

    def duration(self, name: str, *, positive: bool = False, calendar: bool = False) -> int | None:
        return self.read(name, lambda value: _length(value, positive=positive, calendar=calendar))

    def instant(self, name: str) -> int | None:
        """Microseconds since 1970. YAML leaves out what is below them: there it is the text that is read."""
        located = self.take(name)
        written = located.written if located is not None else ""
        return self.read(name, lambda value: parse_instant(written if FINER.search(written) else value))

    def read(self, name: str, parse: Callable[[object], Read]) -> Read | None:
        """A value as `parse` makes it; what `parse` raises as `ValueError` is the problem."""
        located = self.take(name)
        if located is None:
            return None
        try:
            return parse(located.plain())
        except ValueError as error:
            self.refuse(located, str(error), name=name)
            return None

    def choice(self, name: str, allowed: tuple[str, ...]) -> str | None:
        located = self.take(name)
        if located is None or located.value in allowed:
            return None if located is None else str(located.value)
        self.refuse(located, f"found {kind_of(located)}; allowed is {' | '.join(allowed)}", name=name)
        return None

    def flag(self, name: str) -> bool:
        located = self.take(name)
        if located is None or isinstance(located.value, bool):
            return bool(located is not None and located.value)
        self.refuse(located, f"found {kind_of(located)}; allowed is true or false", name=name)
        return False

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of texts."""
        located = self.take(name)
        if located is None:
            return None
        if not isinstance(located.value, tuple):
            like = f", like `[{located.value}]`" if isinstance(located.value, str) else ""
            self.refuse(located, f"found {kind_of(located)}; allowed is a list of names{like}", name=name)
            return None
        items = located.value
        others = [item for item in items if not isinstance(item.value, str)]
        for item in others:
            self.refuse(item, f"found {kind_of(item)}; allowed is a list of names", name=name)
        return None if others else tuple(str(item.value) for item in items)

    def within(self, name: str) -> Fields:
        """The mapping under a key; an empty one where there is none."""
        located = self.take(name)
        where = self._where(located)
        section = Fields(located, f"{where}.{name}" if where else name, problems=self.problems)
        self._sections.append(section)
        return section

    def refuse_empty(self, name: str, allowed: str) -> None:
        """Refuse that a required mapping is not there, or has nothing in it."""
        located = self.items.get(name)
        if located is None or located.value is None:
            self.refuse(located, f"`{name}` is missing; {allowed}")
        elif isinstance(located.value, Mapping) and not located.value:
            self.refuse(located, f"found {kind_of(located)}; {allowed}", name=name)

    def close(self) -> None:
        """Refuse every key that was not asked for."""
        for name, located in self.items.items():
            if name not in self._taken:
                allowed = ", ".join(sorted(self._taken))
                told = f"found the unknown key `{as_key(name)}`{self._meant(name)}; allowed are {allowed}"
                self.refuse(located, told)

    def _meant(self, name: str) -> str:
        """What an unknown key may stand for: one of a section, or one that is written almost like it."""
        homes = [it.where for it in self._sections if name in it._taken]
        if homes:
            return f" (it belongs under `{homes[0]}`)"
        close = get_close_matches(name, self._taken, n=1)
        return f" (did you mean `{close[0]}`?)" if close else ""


def _length(value: object, *, positive: bool, calendar: bool) -> int:
    length_us = parse_duration(value, calendar=calendar)
    if positive and length_us == 0:
        raise ValueError(f"found {show_duration(length_us)}; allowed is a length above zero")
    return length_us


def kind_of(located: Located) -> str:
    """What was found, in words."""
    value = located.value
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, tuple):
        return "a list" if value else "an empty list"
    return "nothing" if value is None else f"`{value}`"
