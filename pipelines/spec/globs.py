"""Whether two globs may find the same file, told from their texts: for places where only Spark can look.

A class of letters is taken for any letter, and what stands in braces for anything within a folder: it is
better to look once more than to read a file twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

FIXED = re.compile(r"[^*?\[{\\]*")
TOKEN = re.compile(r"\\.|\[[^\]]*\]|\{[^{}]*\}|.", re.DOTALL)
ANY, ONE = "any letters", "one letter"
MOST_PAIRS = 500
"""So many are looked at, lest the paths of a long batch that begin with a star take minutes."""


def those_that_may_meet(paths: Sequence[str]) -> list[str]:
    """Of several globs those that may find a file that another one finds."""
    pairs = [pair for pair in islice(_begun_alike(paths), MOST_PAIRS) if may_meet(*pair)]
    return list(dict.fromkeys(path for pair in pairs for path in pair))


def may_meet(one: str, other: str) -> bool:
    """Whether there can be a path that both globs find."""
    mine, yours = [*_tokens(one), ""], [*_tokens(other), ""]
    # From behind: whether what is left of the one from each place may meet what is left of the other.
    behind = [False] * (len(yours) + 1)
    for first in reversed(mine):
        here = [False] * (len(yours) + 1)
        for place, second in reversed(list(enumerate(yours))):
            if first == second == "":
                here[place] = True
            elif first == ANY:
                here[place] = behind[place] or (second not in ("", "/") and here[place + 1])
            elif second == ANY:
                here[place] = here[place + 1] or (first not in ("", "/") and behind[place])
            else:
                is_one = ONE in (first, second) and not {"", "/"} & {first, second}
                here[place] = (is_one or first == second) and behind[place + 1]
        behind = here
    return behind[0]


def _begun_alike(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of which the one begins as the other does, up to the first that is not fixed."""
    fixed = sorted((found[0], path) for path in paths if (found := FIXED.match(path)))
    for place, (start, one) in enumerate(fixed):
        for beside in range(place + 1, len(fixed)):
            begins, other = fixed[beside]
            if not begins.startswith(start):
                break
            yield one, other


def _tokens(glob: str) -> list[str]:
    """Letters, and what stands for some."""
    kinds = {"[": ONE, "{": ANY, "*": ANY, "?": ONE}
    return [it[1] if it[0] == "\\" and len(it) > 1 else kinds.get(it[0], it) for it in TOKEN.findall(glob)]
