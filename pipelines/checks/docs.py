"""Data Docs: Great Expectations' own pages about the results of a run, as files that any browser opens.

The newest thousand pages stay, and the index lists the newest of them. Nothing is fetched: the pages are
written from results alone, those of compiled row rules like all others.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from pipelines.checks.configurations import Details, configurations
from pipelines.checks.expectation import Expectation
from pipelines.checks.importing import imported
from pipelines.checks.results import Result
from pipelines.checks.site import file_name, forget_old_results, site_context
from pipelines.intervals import from_us


def build_docs(
    results: Sequence[Result], *, suite_name: str, run_name: str, folder: Path, at_us: int
) -> Path:
    """Write the page of these results into the folder, list it in the index, and return it.

    `at_us` is when the run looked, by the clock of whoever calls: the index is in its order.
    """
    imported()
    from great_expectations.data_context.types.resource_identifiers import (
        ExpectationSuiteIdentifier,
        ValidationResultIdentifier,
    )

    run: Details = {"run_name": file_name(run_name), "run_time": from_us(at_us).isoformat()}
    suite = file_name(suite_name)
    suite_key = ExpectationSuiteIdentifier(name=suite)
    result_key = ValidationResultIdentifier(suite_key, run, "checks")
    forget_old_results(folder)
    context = site_context(folder)
    context.stores["expectations"].set(suite_key, _suite(suite, results))
    context.stores["results"].set(result_key, _validation(suite, results, run=run))
    context.build_data_docs(resource_identifiers=[suite_key, result_key])
    return folder.joinpath("validations", *result_key.to_tuple()).with_suffix(".html").absolute()


def _suite(name: str, results: Sequence[Result]) -> object:
    expectations = _as_page([result.expectation for result in results])
    return imported().ExpectationSuite(name=name, expectations=expectations)


def _as_page(expectations: Sequence[Expectation]) -> list[Details]:
    """The expectations with what the pages would have as it stands, and a browser would read, as its text."""
    told = configurations(expectations)
    for one in told:
        arguments = one["kwargs"]
        for holder, name in ((arguments, "column"), (one, "description")):
            if isinstance(holder, dict) and isinstance(holder.get(name), str):
                holder[name] = _as_text(holder[name])
    return told


def _as_text(said: str) -> str:
    return html.escape(said, quote=False)


def _validation(suite: str, results: Sequence[Result], *, run: Details) -> object:
    from great_expectations.core import ExpectationSuiteValidationResult

    stages = dict.fromkeys(result.expectation.stage for result in results)
    successful = sum(result.success for result in results)
    return ExpectationSuiteValidationResult(
        suite_name=suite,
        success=successful == len(results),
        results=[_verdict(result) for result in results],
        statistics={
            "evaluated_expectations": len(results),
            "successful_expectations": successful,
            "unsuccessful_expectations": len(results) - successful,
            "success_percent": 100 * successful / len(results) if results else None,
        },
        meta={
            "run_id": run,
            "validation_time": run["run_time"],
            "active_batch_definition": {"data_asset_name": ", ".join(stages)},
        },
    )


def _verdict(result: Result) -> object:
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    (configuration,) = _as_page([result.expectation])
    return ExpectationValidationResult(
        success=result.success,
        expectation_config=ExpectationConfiguration(**configuration),
        result=_details(result),
    )


def _details(result: Result) -> Details:
    counted, unexpected = result.counted, result.unexpected_count
    if counted is None or unexpected is None:
        return {"observed_value": _as_text(result.observed)}
    percent = 100 * unexpected / counted if counted else 0.0
    return {
        "element_count": counted,
        "missing_count": 0,
        "missing_percent": 0.0,
        "unexpected_count": unexpected,
        "unexpected_percent": percent,
        "unexpected_percent_total": percent,
        "unexpected_percent_nonmissing": percent,
        "partial_unexpected_list": [_as_text(sample) for sample in result.samples],
    }
