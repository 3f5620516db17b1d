"""Errors as people read them: one paragraph, and never a page of Java.

Only an error of ours carries its own words. Of any other the line is sought that says most.
"""

from __future__ import annotations

import re

from py4j.protocol import Py4JError, Py4JNetworkError

from pipelines.errors import SashError
from pipelines.visible import visible

SPARK_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]{3,}\] [^\n]*")
"""How Spark words an error: its name in brackets, then a sentence."""
CAUSE_IN_FILES = re.compile(r"Caused by: java\.(?:io|nio)\.[\w.]*Exception: ([^\n]*)")
"""What Java says of a file: that the disk is full, that somebody may not write there."""
CAUSE_IN_DELTA = re.compile(r"\n\s*(?:\x1b\[\d+m)?↳(?:\x1b\[\d+m)?\s*")
"""How delta-rs sets what went wrong below what it was doing, with a coloured arrow."""
JAVA_CLASS = re.compile(r"^:?\s*(?:[a-z_][\w]*\.)+[A-Z][\w$]*(?:Exception|Error): ")
SPARK_IS_GONE = (
    "Spark ended in the middle of the work, or cannot be reached: it was killed, or the machine ran out of "
    "memory (SASH_MEMORY is what it may take, 2g unless set); nothing half done counts, so run the same again"
)
JAVA_CALL = "An error occurred while calling "
CALL_WITHOUT_ANSWER = re.compile(rf"{JAVA_CALL}\S+")
"""All that Py4J says of a call during which the JVM went away; of one that failed Java's words follow."""


class Interrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C; the message says what to do next."""


def told(error: BaseException) -> str:
    """The paragraph about an error."""
    if isinstance(error, SashError | Interrupted):
        return str(error)
    if isinstance(error, ConnectionError | Py4JNetworkError) or _has_no_answer(error):
        return SPARK_IS_GONE
    return (
        f"{type(error).__name__}: {visible(_line_that_says_most(str(error)))}; that was not "
        "expected: running again may help, and --debug shows where it came from"
    )


def _has_no_answer(error: BaseException) -> bool:
    return isinstance(error, Py4JError) and CALL_WITHOUT_ANSWER.fullmatch(str(error).strip()) is not None


def _line_that_says_most(text: str) -> str:
    text = CAUSE_IN_DELTA.sub(": ", text)
    conditions = SPARK_CONDITION.findall(text)
    if conditions:
        # Spark wraps one error in another: the last is where it began.
        condition, causes = str(conditions[-1]).strip().removesuffix("."), CAUSE_IN_FILES.findall(text)
        return f"{condition}: {causes[-1].strip()}" if causes and causes[-1] not in condition else condition
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(JAVA_CALL)]
    return JAVA_CLASS.sub("", lines[0]).strip().removesuffix(".") if lines else "without a message"
