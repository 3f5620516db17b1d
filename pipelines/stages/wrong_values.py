"""What Spark raises over a spec or its data, told so that its reader knows what to do: of a value that an
expression of the spec, or a function of the user's, cannot bear, which it is.

Spark stops the whole batch for one of them, and the same rows stop it again.
"""

from __future__ import annotations

import re

from pyspark.errors import AnalysisException, PythonException

from pipelines.errors import CorrectTheSpec, RunAgain, SashError, with_causes
from pipelines.ingest.unreadable import unreadable_file
from pipelines.stages.site import Site
from pipelines.visible import visible

DATA_EXCEPTION = re.compile(
    r"(?:\A|Exception: )(\[(?!DELTA_)[A-Z0-9_.]+\] "
    r"(?:(?!SQLSTATE: |\n\tat |\nCaused by: ).)*SQLSTATE: 22\w{3})",
    re.DOTALL,
)
"""How Spark words what the SQL standard calls a data exception: at the beginning, or at that of a cause. The
value stands in it as it is, and may be of several lines.
"""
EXPRESSION = re.compile(r"^== SQL .*==\n(.+?)\n *\^", re.MULTILINE | re.DOTALL)
BYPASS = re.compile(
    r" (If necessary set \S+ to \S+ to bypass this error(, and return NULL instead)?"
    r"|Use 'try_\w+' to tolerate overflow and return NULL instead)\."
)
RAISED = re.compile(r"Traceback \(.*\n(?: .*\n)+(\S.*)$", re.MULTILINE)
"""The line after a traceback: what a function of the user's raised."""
OF_PYTHON = "org.apache.spark.api.python.PythonException: "
ADVICE = (
    "let such a value be null, with `try_cast`, `try_to_timestamp` or `nullif(…, 0)` (a rule about nulls can "
    "then quarantine its row), sum decimals where a sum of whole numbers overflows and decimals of "
    "fewer digits after the point where one of decimals does, or mend the data"
)


def in_words(error: Exception, site: Site) -> SashError | None:
    """The error as one of ours, if it is about the spec, a value of the data or a file; else nothing."""
    if isinstance(error, SashError):
        return None
    spec = site.pipeline.path.name
    if isinstance(error, AnalysisException):
        return CorrectTheSpec(spec, (str(error).strip().splitlines()[0],))
    unreadable = unreadable_file(error, tables=site.folders)
    if unreadable is not None:
        return RunAgain(unreadable)
    problem = wrong_value(error)
    return None if problem is None else CorrectTheSpec(spec, (problem,))


def wrong_value(error: Exception) -> str | None:
    """The problem, if the error is about a value of the data: the expression, what was found, what to do."""
    told = with_causes(error)
    raised = RAISED.findall(told) if isinstance(error, PythonException) or OF_PYTHON in told else []
    if raised:
        return f"a custom function fails: {visible(raised[-1])}; mend it, or the data"
    found = DATA_EXCEPTION.search(told)
    if found is None:
        return None
    expression = EXPRESSION.search(told)
    place = f"`{expression[1]}` fails on a value" if expression else "an expression fails on a value"
    return f"{place}: {visible(BYPASS.sub('', found[1]))}; {ADVICE}"
