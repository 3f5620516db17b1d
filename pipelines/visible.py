"""Text from data as people may see it: what moves a cursor or begins a line stands there as its escape."""

from __future__ import annotations

import re

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """The text with each control character as Python writes it, so that none reaches a terminal, or begins
    a line of a log that nobody wrote.
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
