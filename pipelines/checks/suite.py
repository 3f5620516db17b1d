"""The expectations file of a pipeline → its suite.

Unknown stages and keys are refused, and so is what contradicts itself: all problems in one message, each
with its line. What only Great Expectations knows (its other names and arguments) is left to `unknown_names`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import cast

from pipelines.checks.arguments import argument_problems
from pipelines.checks.expectation import (
    ON_FAILURE,
    STAGES,
    Entries,
    Expectation,
    OnFailure,
    Stage,
    Suite,
    freeze,
)
from pipelines.checks.row_rules import ROW_RULES, is_row_rule
from pipelines.errors import CorrectTheSpec
from pipelines.spec.fields import Problems
from pipelines.spec.yaml import Located, read_yaml

ON_FAILURE_KEY = "on_failure"
NAMES_BEGIN = "expect_"
ITEM = "an item is like `expect_column_values_to_not_be_null: {column: origin}`, with `on_failure` beside it"


def load_suite(path: Path | None) -> Suite:
    """The suite in a file; without one, a suite that expects nothing. Raises `CorrectTheSpec`."""
    if path is None:
        return Suite()
    problems = Problems()
    expectations = tuple(_expectations(read_yaml(path), problems))
    _refuse_repeated(expectations, problems)
    if problems:
        raise CorrectTheSpec(str(path), problems.told())
    return Suite(path=path, expectations=expectations)


def _expectations(document: Located, problems: Problems) -> Iterator[Expectation]:
    if document.value is None:
        return
    if not isinstance(document.value, Mapping):
        problems.add(document.line, f"found no mapping; allowed are the stages {', '.join(STAGES)}")
        return
    for name, items in document.value.items():
        if name not in STAGES:
            problems.add(
                items.line, f"unknown stage `{name}`{_meant(name, STAGES)}; allowed are {', '.join(STAGES)}"
            )
        elif isinstance(items.value, tuple):
            for item in items.value:
                yield from _expectation(name, item, problems=problems)
        elif items.value is not None:
            problems.add(items.line, f"`{name}` holds no list; {ITEM}")


def _expectation(stage: Stage, item: Located, *, problems: Problems) -> Iterator[Expectation]:
    if not isinstance(item.value, Mapping):
        problems.add(item.line, f"found {item.plain()!r}; {ITEM}")
        return
    name = _name(item.value, item.line, problems=problems)
    if name is None:
        return
    written = item.value[name]
    arguments = Entries(()) if written.value is None else freeze(written.plain())
    if not isinstance(arguments, Entries):
        problems.add(written.line, f"`{name}`: found no mapping of arguments; {ITEM}")
        return
    on_failure = _on_failure(item.value.get(ON_FAILURE_KEY), problems)
    expectation = Expectation(
        stage=stage, name=name, arguments=arguments.pairs, on_failure=on_failure, line=written.line
    )
    for problem in (*argument_problems(expectation), *_misplaced(expectation)):
        problems.add(expectation.line, f"`{name}`: {problem}")
    yield expectation


def _name(item: Mapping[str, Located], line: int, *, problems: Problems) -> str | None:
    names = [key for key in item if key.startswith(NAMES_BEGIN)]
    for key, located in item.items():
        if key not in names and key != ON_FAILURE_KEY:
            problems.add(located.line, f"unknown key `{key}`{_meant(key, (ON_FAILURE_KEY,))}; {ITEM}")
    if len(names) == 1:
        return names[0]
    found = f"{', '.join(names)} in one item" if names else "no expectation"
    problems.add(line, f"found {found}; {ITEM}")
    return None


def _on_failure(located: Located | None, problems: Problems) -> OnFailure:
    if located is None:
        return "stop"
    if located.value in ON_FAILURE:
        return cast(OnFailure, located.value)
    problems.add(located.line, f"`on_failure` is {located.plain()!r}; allowed are {', '.join(ON_FAILURE)}")
    return "stop"


def _misplaced(expectation: Expectation) -> Iterator[str]:
    if expectation.on_failure != "quarantine":
        return
    allowed = "allowed here are stop, warn"
    if expectation.stage != "events":
        yield f"`on_failure: quarantine` is for events, not for {expectation.stage}; {allowed}"
    elif not is_row_rule(expectation):
        rules = ", ".join(ROW_RULES)
        yield (
            "`on_failure: quarantine` is for rules that can be told of each row alone, which Sash tells by "
            f"itself: {rules}, with a `row_condition` in Spark's SQL; {allowed}"
        )


def _refuse_repeated(expectations: tuple[Expectation, ...], problems: Problems) -> None:
    first: dict[tuple[str, str, str], Expectation] = {}
    for expectation in expectations:
        what = (expectation.stage, expectation.name, repr(sorted(expectation.arguments, key=str)))
        before = first.setdefault(what, expectation)
        if before is not expectation:
            told = f"`{expectation.name}` with these arguments stands on line {before.line} already"
            problems.add(expectation.line, f"{told}; keep one of them")


def _meant(found: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(found, known, n=1)
    return f", did you mean `{close[0]}`?" if close else ""
