"""A key that stands in the wrong place is told where it belongs."""

from __future__ import annotations

import pytest

from tests.spec.conftest import Refused


@pytest.mark.parametrize(
    ("written", "section"),
    [
        ("allowed_lateness: 1 hour", "time"),
        ("batch: 1 hour\ntime: {max_disorder: 1 hour}", "time"),
        ("mode: retracting", "panes"),
        ("catchup: true\nschedule: {start: 2024-01-01}", "schedule"),
        ("late_events: 90 days", "retention"),
    ],
)
def test_a_key_of_a_section_at_the_top_is_told_which(written: str, section: str, refused: Refused) -> None:
    (told,) = refused(("key: [city]", f"key: [city]\n{written}"))
    name = written.partition(":")[0]
    assert told.startswith(
        f"line 4: found the unknown key `{name}` (it belongs under `{section}`); allowed are"
    )
