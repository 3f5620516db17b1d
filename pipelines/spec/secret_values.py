"""What nobody should read in a log: passwords, tokens and keys among the options of readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pipelines.spec.model import Pipeline

NAMED = re.compile(
    r"pass(word|wd|phrase)|secret|token|credential|(access|api|account|private).?key|sas\b", re.I
)
"""Options whose value is a secret, by their name."""
IN_ADDRESS = re.compile(r"(?:://[^/\s:@]*:|(?:password|pwd|token|secret)=)([^@\s;&]+)", re.I)
"""A secret inside an address: `scheme://user:secret@host`, or `…?password=secret`."""
HIDDEN = "***"


def secrets_of(pipeline: Pipeline) -> tuple[str, ...]:
    """The secrets of all sources, the longest first."""
    found = {secret for source in pipeline.sources for secret in _secrets((source.path,), source.options)}
    return tuple(sorted(found, key=lambda secret: (-len(secret), secret)))


def hide(text: str, secrets: Iterable[str]) -> str:
    """The text with stars where a secret stood."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _secrets(addresses: Sequence[str | None], options: Iterable[tuple[str, str]]) -> Iterable[str]:
    for name, value in options:
        if NAMED.search(name) and value:
            yield value
        addresses = (*addresses, value)
    for address in addresses:
        yield from IN_ADDRESS.findall(address or "")
