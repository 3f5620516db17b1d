"""Expectations between the stages, in Great Expectations' own names.

In come the candidate rows of a stage and the expectations about them, out go results: rows for the `checks`
table, Data Docs, and the message of a run that has to stop. Promised: a check sees exactly the candidate
rows, row rules mean what Great Expectations means by them, and it is imported only when there is something
for it to do.
"""

from pipelines.checks.docs import build_docs
from pipelines.checks.expectation import STAGES, Expectation, OnFailure, Stage, Suite
from pipelines.checks.gate import CheckRow, check_rows, failed, stop_advice, stop_message, warning
from pipelines.checks.predicates import compile_rule
from pipelines.checks.results import Result, result_of_counts
from pipelines.checks.row_rules import is_row_rule
from pipelines.checks.samples import sample_rows
from pipelines.checks.suite import load_suite
from pipelines.checks.validate import validate
from pipelines.checks.verify import missing_columns, verify_rules, wrong_conditions
from pipelines.checks.vocabulary import unknown_names

__all__ = [
    "STAGES",
    "CheckRow",
    "Expectation",
    "OnFailure",
    "Result",
    "Stage",
    "Suite",
    "build_docs",
    "check_rows",
    "compile_rule",
    "failed",
    "is_row_rule",
    "load_suite",
    "missing_columns",
    "result_of_counts",
    "sample_rows",
    "stop_advice",
    "stop_message",
    "unknown_names",
    "validate",
    "verify_rules",
    "warning",
    "wrong_conditions",
]
