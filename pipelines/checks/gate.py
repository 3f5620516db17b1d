"""The gate after a stage: what stops the run, what the reader is told, and what the `checks` table keeps.

Only `stop` stops. A failed `warn` is told and kept, a failed `quarantine` has taken its rows out already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

from pipelines.checks.expectation import Expectation, OnFailure
from pipelines.checks.results import Result
from pipelines.visible import visible

Row = Mapping[str, object]
SAMPLE_ROWS = 10
WIDEST = 40
"""Longer values are cut in a table of samples."""


class CheckRow(NamedTuple):
    """A row of the `checks` table, beside its batch and revision."""

    stage: str
    expectation: str
    column: str | None
    on_failure: str
    success: bool
    observed: str
    unexpected_count: int | None


def failed(results: Sequence[Result], on_failure: OnFailure) -> tuple[Result, ...]:
    """The results that are not as expected, of the expectations that say what to do so."""
    return tuple(
        result for result in results if not result.success and result.expectation.on_failure == on_failure
    )


def check_rows(results: Sequence[Result]) -> tuple[CheckRow, ...]:
    """The results as the `checks` table keeps them."""
    return tuple(
        CheckRow(
            stage=result.expectation.stage,
            expectation=result.expectation.name,
            column=result.column,
            on_failure=result.expectation.on_failure,
            success=result.success,
            observed=result.observed,
            unexpected_count=result.unexpected_count,
        )
        for result in results
    )


def stop_message(results: Sequence[Result], samples: Mapping[Expectation, Sequence[Row]]) -> str:
    """What a reader needs of the failed results: what, where, found, wanted, rows.

    `samples` holds the rows that show it, for those of the expectations that have some; of each, ten are
    told.
    """
    stages = ", ".join(dict.fromkeys(result.expectation.stage for result in results))
    told = [_told(result, samples.get(result.expectation, ())) for result in results]
    number = "A check" if len(results) == 1 else f"{len(results)} checks"
    return "\n".join([f"{number} at stage {stages} stopped the run:", *told])


def stop_advice(page: str | Path) -> str:
    """Where a reader of the log finds all results of a run that was stopped, and what to do."""
    return (
        f"All results are on the Data Docs page {page}. Nothing after this stage was written. Mend the data "
        "and run the batch again (in Airflow clear `accumulate` of all sources, which reads them, with what "
        "comes after), or, if the rows are right, relax the rule in the expectations file."
    )


def warning(result: Result) -> str:
    """One line for a failed expectation that does not stop the run."""
    return f"{_subject(result)}: found {visible(result.observed)}{_wanted(result)}"


def _told(result: Result, rows: Sequence[Row]) -> str:
    line = f" (line {result.expectation.line})" if result.expectation.line else ""
    text = f"  - {_subject(result)}{line}: found {visible(result.observed)}{_wanted(result)}"
    if rows:
        return f"{text}; some of the rows:\n{table(rows, result.expectation.columns)}"
    samples = visible(", ".join(result.samples))
    return f"{text}; some of the values: {samples}" if samples else text


def _subject(result: Result) -> str:
    of = "" if result.column is None else f" of column {result.column}"
    return f"{result.expectation.name}{of}"


def _wanted(result: Result) -> str:
    wanted = result.expectation.wanted
    if wanted:
        return f"; wanted {wanted}"
    return "; wanted none" if result.unexpected_count else ""


def table(rows: Sequence[Row], first: Sequence[str] = ()) -> str:
    """Ten rows as aligned text, the named columns first. Sash's own columns are left out."""
    names = list(dict.fromkeys(name for row in rows for name in row if not name.startswith("_")))
    names.sort(key=lambda name: (name not in first, list(first).index(name) if name in first else 0))
    cells = [[_cell(row.get(name)) for name in names] for row in rows[:SAMPLE_ROWS]]
    text = tabulate(
        cells, headers=[visible(name) for name in names], tablefmt="simple", disable_numparse=True
    )
    return "\n".join(f"    {line.rstrip()}" for line in text.splitlines())


def _cell(value: object) -> str:
    text = "null" if value is None else visible(str(value))
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
