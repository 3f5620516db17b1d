"""The arguments of row rules: what each may hold, told without Great Expectations.

Every problem says what was found and what is allowed; all of a rule are told at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import TypeGuard

from pipelines.checks.expectation import REMARKS, Entries, Expectation, Value, show
from pipelines.checks.row_rules import IGNORE_ROW_IF, ROW_RULES, SCOPE, Shape
from pipelines.spec import parse_instant
from pipelines.spec.sql import problems_of

PAIR = 2
IN_SET = "expect_column_values_to_be_in_set"


def argument_problems(expectation: Expectation) -> Iterator[str]:
    """What is wrong with the arguments of a row rule; of others only with what is kept beside them, with
    their SQL, and with bounds that nothing lies between.
    """
    yield from _refused_conditions(expectation)
    for name, (allowed, fits) in OF_REMARKS.items():
        remark = expectation.argument(name)
        if remark is not None and not fits(remark):
            yield f"`{name}` is {show(remark)}; allowed is {allowed}"
    shape = ROW_RULES.get(expectation.name)
    if shape is None:
        yield from _crossed_bounds(expectation)
        return
    known = (*shape.required, *shape.optional, *SCOPE, *REMARKS)
    for name in shape.required:
        if expectation.argument(name) is None:
            yield f"`{name}` is missing"
    for name, value in expectation.arguments:
        if name not in known:
            yield f"unknown argument `{name}`; allowed are {', '.join(known)}"
        elif value is not None and name in KINDS and not KINDS[name][1](value):
            yield f"`{name}` is {value!r}; allowed is {KINDS[name][0]}"
    ignored = expectation.argument("ignore_row_if")
    for columns, choices in IGNORE_ROW_IF.items():
        if columns in shape.required and ignored is not None and ignored not in choices:
            yield f"`ignore_row_if` is {ignored!r}; allowed is {' or '.join(choices)}"
    yield from _contradictions(expectation, shape)


def _contradictions(expectation: Expectation, shape: Shape) -> Iterator[str]:
    low, high = expectation.argument("min_value"), expectation.argument("max_value")
    if "min_value" in shape.optional and low is None and high is None:
        yield "neither `min_value` nor `max_value` is given; one of them is needed"
    yield from _crossed_bounds(expectation)
    allowed = expectation.argument("value_set")
    if expectation.name == IN_SET and isinstance(allowed, tuple) and None in allowed:
        yield "`value_set` has a null, beside which no value is unexpected: leave it out, nulls do not count"
    condition, parser = expectation.argument("row_condition"), expectation.argument("condition_parser")
    if isinstance(condition, str) and parser is None:
        yield "`row_condition` needs a `condition_parser`; for Spark SQL that is `spark`"


def _crossed_bounds(expectation: Expectation) -> Iterator[str]:
    low, high = expectation.argument("min_value"), expectation.argument("max_value")
    least, most = (it if _is_number(it) else _instant_us(it) for it in (low, high))
    if _is_number(low) == _is_number(high) and least is not None and most is not None and least > most:
        yield f"`min_value` {low} is above `max_value` {high}; no value lies between"


def _refused_conditions(expectation: Expectation) -> Iterator[str]:
    condition, parser = expectation.argument("row_condition"), expectation.argument("condition_parser")
    if condition is not None and not isinstance(condition, str):
        yield "`row_condition` is no text; allowed is SQL, with `condition_parser: spark`"
    # Great Expectations hands what is of none of its own parsers to Spark as it is.
    if isinstance(condition, str) and not str(parser).startswith("great_expectations"):
        for problem in problems_of(condition):
            yield f"`row_condition` `{condition}`: {problem}"


def _is_flag(value: Value) -> bool:
    return isinstance(value, bool)


def _is_text(value: Value) -> bool:
    return isinstance(value, str) and value != ""


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_share(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_bound(value: Value) -> bool:
    return _is_number(value) or isinstance(value, date) or _is_instant(value)


def _is_instant(value: Value) -> bool:
    return isinstance(value, str) and _instant_us(value) is not None


def _instant_us(value: Value) -> int | None:
    if not isinstance(value, str | date):
        return None
    try:
        return parse_instant(str(value))
    except ValueError:
        return None


def _are_texts(value: Value) -> bool:
    return isinstance(value, str) or (isinstance(value, tuple) and all(isinstance(it, str) for it in value))


def _is_regex_list(value: Value) -> bool:
    return isinstance(value, tuple) and value != () and all(_is_text(item) for item in value)


def _is_value_list(value: Value) -> bool:
    return isinstance(value, tuple) and not any(isinstance(item, tuple | Entries) for item in value)


def _is_pair(value: Value) -> bool:
    return isinstance(value, tuple) and len(value) == PAIR and _is_value_list(value)


def _is_pair_list(value: Value) -> bool:
    return isinstance(value, tuple) and all(_is_pair(item) for item in value)


def _is_column_list(value: Value) -> bool:
    return isinstance(value, tuple) and len(value) > 1 and all(_is_text(item) for item in value)


def _one_of(*allowed: str) -> tuple[str, Callable[[Value], bool]]:
    return " or ".join(allowed), lambda value: value in allowed


PARSERS = ("spark", "great_expectations", "great_expectations__experimental__", "pandas")

KINDS: dict[str, tuple[str, Callable[[Value], bool]]] = {
    **dict.fromkeys(("column", "column_A", "column_B"), ("the name of a column", _is_text)),
    **dict.fromkeys(("min_value", "max_value"), ("a number, a date or an instant", _is_bound)),
    **dict.fromkeys(("strict_min", "strict_max", "or_equal"), ("true or false", _is_flag)),
    "value": ("a number", _is_number),
    "value_set": ("a list of values", _is_value_list),
    "value_pairs_set": ("a list of pairs", _is_pair_list),
    "regex": ("a regular expression", _is_text),
    "regex_list": ("a list of regular expressions", _is_regex_list),
    "match_on": _one_of("any", "all"),
    "column_list": ("a list of two columns or more", _is_column_list),
    "sum_total": ("a number", _is_number),
    "mostly": ("a number from 0 to 1", _is_share),
    "condition_parser": _one_of(*PARSERS),
}

OF_REMARKS: dict[str, tuple[str, Callable[[Value], bool]]] = {
    "severity": _one_of("critical", "warning", "info"),
    "description": ("a text", lambda value: isinstance(value, str)),
    "notes": ("a text or a list of texts", _are_texts),
    "meta": ("a mapping", lambda value: isinstance(value, Entries)),
}
"""What Great Expectations keeps beside an expectation, of whatever kind."""
