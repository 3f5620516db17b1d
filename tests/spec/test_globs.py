"""Which globs may find the same file."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import product

import pytest

from pipelines.spec.globs import may_meet, those_that_may_meet


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("s3a://b/1*.json", "s3a://b/10*.json", True),
        ("s3a://b/01*.json", "s3a://b/10*.json", False),
        ("d/1*.{json,jsonl}", "d/10*.{json,jsonl}", True),
        ("d/1-*.json", "d/10-*.json", False),
        ("d/*2024-01-01*.csv", "d/*2024-01-02*.csv", True),
        ("d/2024-01-01*.csv", "d/2024-01-02*.csv", False),
        ("d/2024-01-01/*", "d/2024-01-02/*", False),
        ("d/1*", "d/1/x", False),
        ("d/[0-9]*", "d/x", True),
        ("d/?", "d/xy", False),
        (r"d/\*", "d/x", False),
        ("d/a", "d/a", True),
        ("d/ab*", "d/*ba", True),
        ("", "*", True),
    ],
)
def test_globs_meet_where_a_path_may_be_found_by_both(one: str, other: str, *, expected: bool) -> None:
    assert may_meet(one, other) == may_meet(other, one) == expected


def test_globs_meet_where_some_text_says_so() -> None:
    globs = ["".join(it) for length in (1, 2, 3) for it in product("ab*?", repeat=length)]
    texts = ["".join(it) for length in range(5) for it in product("ab", repeat=length)]
    found = {glob: {text for text in texts if fnmatchcase(text, glob)} for glob in globs}
    wrong = [
        (one, other)
        for one in globs
        for other in globs
        if may_meet(one, other) == found[one].isdisjoint(found[other])
    ]
    assert wrong == []


def test_of_the_paths_of_a_batch_those_are_told_that_may_meet_whatever_stands_between_them() -> None:
    assert those_that_may_meet([f"s3a://b/{hour:02}*.json" for hour in range(24)]) == []
    told = those_that_may_meet([f"s3a://b/{hour}*.json" for hour in (1, 2, 3, 10, 30)])
    assert sorted(told) == [f"s3a://b/{hour}*.json" for hour in (1, 10, 3, 30)]
