"""Which types of a stored column hold all values of another type."""

from __future__ import annotations

import re

WIDENING = (
    ("byte", "short", "integer", "long"),
    ("byte", "short", "integer", "double"),
    ("byte", "short", "float", "double"),
)
"""Types, each of which holds all values of those before it."""
DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def holds(stored: str, wanted: str) -> bool:
    """Whether a column of the one type holds all values of the other, as both are told by `differing`."""
    room, asked = DECIMAL.fullmatch(stored), DECIMAL.fullmatch(wanted)
    if room and asked:
        (digits, scale), (places, behind) = (map(int, found.groups()) for found in (room, asked))
        return behind <= scale and places - behind <= digits - scale
    return stored in (wanted, "string") or any(
        stored in kinds and wanted in kinds[: kinds.index(stored) + 1] for kinds in WIDENING
    )
