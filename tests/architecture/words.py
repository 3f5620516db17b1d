"""Rules about words: one glossary in code and prose, and no command that is not there."""

from __future__ import annotations

import re

from tests.architecture.module import Complaints

SYNONYMS = re.compile(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))"
    r"(?i:(?:hop|tile|bucket|chunk|flush|emit)(?:s|es|d|ed|ing|ped|ping|ted|ting|ter)?)(?![a-z])"
)
"""As words, and as parts of names_like_this or NamesLikeThis."""

FOREIGN = re.compile(r"\.flush\(|flush=")
"""Python's own words for its own streams."""

TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
COMMAND = re.compile(r"`make ([a-z-]+)|^\s*\$?\s*make ([a-z-]+)", re.MULTILINE)


def keeps_to_the_glossary(path: str, text: str) -> Complaints:
    for number, line in enumerate(text.splitlines(), start=1):
        found = SYNONYMS.search(FOREIGN.sub("", line))
        if found:
            yield f"{path}:{number}: `{found[0]}` has another name here"


def names_only_targets_that_exist(path: str, text: str, makefile: str) -> Complaints:
    """What prose and messages tell people to type."""
    targets = set(TARGET.findall(makefile))
    for found in COMMAND.finditer(text):
        target = found[1] or found[2]
        if target not in targets:
            yield f"{path}: there is no `make {target}`"
