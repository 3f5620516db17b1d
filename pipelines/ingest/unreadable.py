"""Files that Spark finds and cannot read, told so that their reader knows which, why, and what to do.

One of them stops the batch: what it holds would be missing. Nothing of the batch counts until it is mended.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote

from pipelines.errors import with_causes

FAILED = re.compile(
    r"\[FAILED_READ_FILE[A-Z0-9_.]*\] Encountered error while reading file (.+?)\.(?:\s+(?=[A-Z])|\s*$)(.*)",
    re.MULTILINE,
)
"""How Spark says so: the file, then what it takes for the reason, if anything."""
STATE = re.compile(r"\.?\s*(SQLSTATE: \w+)?\s*$")
CAUSE = re.compile(r"^Caused by: [\w.$]+: (?!.*FAILED_READ_FILE)(.+)$", re.MULTILINE)
NO_FOOTER = "Could not read footer"
LOCAL = re.compile(r"^file:/+")
OF_TIMES = (
    ". Spark reads no times of day: write them as texts or numbers, or declare `schema` without that column"
)
ADVICE = {
    "(TIMESTAMP(NANOS": ". Spark reads instants in microseconds: write the file so (pandas: "
    '`to_parquet(…, coerce_timestamps="us", allow_truncated_timestamps=True)`)',
    "(TIME(": OF_TIMES,
    "UNSUPPORTED_TIME_TYPE": OF_TIMES,
}
"""What to do about types of Parquet that Spark does not read, by how it words them."""


def unreadable_file(error: Exception, *, tables: Collection[str] = ()) -> str | None:
    """The problem, if the error is about a file that cannot be read; one below a folder of `tables` is Sash's
    own.
    """
    told = with_causes(error)
    found = FAILED.search(told)
    if found is None:
        return None
    path = LOCAL.sub("/", found[1])
    problem = f"the file {path} cannot be read: {_reason(STATE.sub('', found[2]), told[found.end() :])}"
    if any(unquote(path).startswith(f"{folder}/") for folder in tables):
        return (
            f"{problem}; it is one of a table: put it back from a copy, or compute all anew, with --rebuild"
        )
    return f"{problem}; put a whole one in its place, or take it away, and run the batch again"


def _reason(said: str, causes: str) -> str:
    if said.startswith(NO_FOOTER):
        return "it is no whole Parquet or ORC file"
    cause = CAUSE.search(causes)
    return said or (cause[1].strip() if cause else "Spark does not say why")


def advice_on(said: str) -> str:
    """What to do about a type that Spark says it does not read, empty if there is nothing to be said."""
    return next((advice for told, advice in ADVICE.items() if told in said), "")
