"""Great Expectations' own names and arguments, held against a suite.

Importing Great Expectations takes seconds, so it happens in here when asked, never by importing this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from difflib import get_close_matches
from typing import Protocol, cast

from pipelines.checks.expectation import REMARKS, Entries, Expectation, Suite, Value, thaw
from pipelines.checks.importing import imported

SET_BY_SASH = ("batch_id", "catch_exceptions", "id", "rendered_content", "result_format", "windows")
"""Arguments that Great Expectations knows but that have no meaning in a suite of ours."""
OF_OTHER_DATA = (
    "expect_query_results_to_match_comparison",
    "expect_table_row_count_to_equal_other_table",
)
BOUNDS = ("min_value", "max_value")
PARAMETER = "$PARAMETER"
"""Stands for a value that is told with each question, and for the clock."""


class ExpectationClass(Protocol):
    """As much of Great Expectations' expectation classes as is used here."""

    __fields__: dict[str, object]

    def __call__(self, **arguments: object) -> Asked: ...


class Asked(Protocol):
    """As much of one of its expectations as is used here."""

    def get_validation_dependencies(
        self, *, execution_engine: object, runtime_configuration: dict[str, object]
    ) -> object: ...


def unknown_names(suite: Suite) -> tuple[str, ...]:
    """What Great Expectations would refuse of a suite: names, arguments, types. No data is read."""
    return tuple(
        f"line {expectation.line}: {problem}"
        for expectation in suite.expectations
        for problem in _problems(expectation)
    )


def names() -> tuple[str, ...]:
    """The names of all expectations that there are."""
    imported()  # which registers them
    from great_expectations.expectations.registry import list_registered_expectation_implementations

    return tuple(sorted(list_registered_expectation_implementations()))


def arguments_of(name: str) -> tuple[str, ...]:
    """The arguments that an expectation takes, as far as a suite may say them."""
    return tuple(sorted(set(_class_of(name).__fields__) - set(SET_BY_SASH)))


def _class_of(name: str) -> ExpectationClass:
    imported()  # which registers them
    from great_expectations.expectations.registry import get_expectation_impl

    return cast(ExpectationClass, get_expectation_impl(name))


def _problems(expectation: Expectation) -> Iterator[str]:
    known_names = names()
    if expectation.name not in known_names:
        meant = _meant(expectation.name, known_names)
        yield f"there is no expectation `{expectation.name}` in Great Expectations{meant}"
        return
    if expectation.name in OF_OTHER_DATA:
        yield (
            f"`{expectation.name}` asks other data than the rows at stage {expectation.stage}, which are all "
            "that a check sees here"
        )
        return
    known = arguments_of(expectation.name)
    unknown = [name for name, _ in expectation.arguments if name not in known]
    for name in unknown:
        yield (
            f"`{expectation.name}` takes no argument `{name}`{_meant(name, known)}; "
            f"allowed are {', '.join(known)}"
        )
    bounds = [expectation.argument(name) for name in BOUNDS if name in known]
    astray = [*_astray(expectation)]
    yield from astray
    if expectation.name.endswith("_to_be_between") and bounds == [None, None]:
        yield f"`{expectation.name}` has neither `min_value` nor `max_value`; one of them is needed"
    elif not (unknown or astray):
        yield from _refusals(expectation)
    if not _runs_on_spark(expectation.name):
        yield f"`{expectation.name}` exists in Great Expectations, but not for Spark"


def _astray(expectation: Expectation) -> Iterator[str]:
    """Arguments that stand for values which nobody says here."""
    for name, value in expectation.arguments:
        if name not in REMARKS and _has_parameter(value):
            yield (
                f"`{expectation.name}`: `{name}`: found a `{PARAMETER}`, and nobody says the values of any "
                "here; write the value"
            )


def _has_parameter(value: Value) -> bool:
    if isinstance(value, Entries):
        return any(key == PARAMETER or _has_parameter(item) for key, item in value.pairs)
    return isinstance(value, tuple) and any(map(_has_parameter, value))


def _misread(name: str, written: object, *, read: object) -> str | None:
    """What is wrong with a bound that is taken for seconds since 1970, as some do with a number in a text."""
    if not (isinstance(written, str) and isinstance(read, date)):
        return None
    try:
        float(written)
    except ValueError:
        return None
    return (
        f"`{name}`: found the text {written!r}; write a number without quotes, and with a point and a sign "
        "where it has an exponent: 1.0e+6"
    )


def _refusals(expectation: Expectation) -> Iterator[str]:
    from great_expectations.compatibility.pydantic import ValidationError
    from great_expectations.exceptions import GreatExpectationsError
    from great_expectations.execution_engine import SparkDFExecutionEngine

    arguments = {name: thaw(value) for name, value in expectation.arguments}
    try:
        asked = _class_of(expectation.name)(**arguments)
        # Some look into their arguments only when they are asked what they need to know of the rows. Only the
        # engine's class is looked at; making a real one would start a session.
        engine = object.__new__(SparkDFExecutionEngine)
        misread = [_misread(it, arguments.get(it), read=getattr(asked, it, None)) for it in BOUNDS]
        yield from (f"`{expectation.name}`: {problem}" for problem in misread if problem is not None)
        asked.get_validation_dependencies(execution_engine=engine, runtime_configuration={})
    except ValidationError as refusal:
        # Of the alternatives that a type has, the first says best what is wanted.
        told = {str(error["loc"][0]): str(error["msg"]) for error in reversed(refusal.errors())}
        for name, message in told.items():
            found = f"found {arguments[name]!r}" if name in arguments else "found nothing"
            where = "" if name == "__root__" else f"`{name}`: {found}; "
            yield f"`{expectation.name}`: {where}{message}"
    except KeyError as missing:
        what = f"`{missing.args[0]}`" if isinstance(missing.args[0], str) else "an argument"
        yield f"`{expectation.name}`: {what} is missing; its page at Great Expectations tells what it takes"
    except (GreatExpectationsError, TypeError, ValueError) as refusal:
        yield f"`{expectation.name}`: {refusal}"


def _runs_on_spark(name: str) -> bool:
    from great_expectations.exceptions import MetricProviderError
    from great_expectations.execution_engine import SparkDFExecutionEngine
    from great_expectations.expectations.registry import get_metric_provider

    metric = getattr(_class_of(name), "map_metric", None)
    if metric is None or hasattr(_class_of(name), "_validate_spark"):
        return True
    try:
        get_metric_provider(f"{metric}.unexpected_count", object.__new__(SparkDFExecutionEngine))
    except MetricProviderError:
        return False
    return True


def _meant(found: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(found, known, n=1)
    return f"; did you mean `{close[0]}`?" if close else ""
