"""When a grid has coarser frames, and how long they are."""

from __future__ import annotations

import pytest

from pipelines.spec import changes_between, coarser_us, frame_us, state_fingerprint
from tests.spec.conftest import Read

MINUTE = 60_000_000
WINDOWS = "hourly: {tumbling: 1 hour}"


@pytest.mark.parametrize(
    ("windows", "minutes"),
    [
        ("hourly: {tumbling: 1 hour}", None),
        ("a: {tumbling: 1 minute}\n  b: {sliding: 499 minutes, step: 1 minute}", None),
        ("a: {tumbling: 1 minute}\n  b: {sliding: 500 minutes, step: 1 minute}", 15),
        ("a: {tumbling: 1 minute}\n  b: {tumbling: 1 day}", 30),
        ("a: {tumbling: 1 minute}\n  b: {sliding: 7 days, step: 1 minute}", 60),
        ("a: {tumbling: 1 hour}\n  b: {sliding: 30 days, step: 1 hour}", 24 * 60),
        ("a: {tumbling: 7 minutes}\n  b: {sliding: 70 days, step: 7 minutes}", None),
        ("a: {tumbling: 1 day}\n  b: {sliding: 5000 days, step: 1 day}", None),
        ("a: {tumbling: 1 minute}\n  b: {cumulate: 1 day, step: 1 minute}", None),
        ("a: {tumbling: 1 minute}\n  b: {tumbling: 7 days, time: arrival}", None),
    ],
)
def test_coarser_frames_divide_the_day_and_are_made_of_whole_frames(
    windows: str, minutes: int | None, read: Read
) -> None:
    pipeline = read((WINDOWS, windows))
    length_us = coarser_us(pipeline)
    assert length_us == (None if minutes is None else minutes * MINUTE)
    if length_us is not None:
        assert 24 * 60 * MINUTE % length_us == length_us % frame_us(pipeline) == 0


def test_a_window_that_needs_coarser_frames_leaves_the_fine_ones_as_they_are(read: Read) -> None:
    before = read((WINDOWS, "a: {tumbling: 1 minute}"))
    after = read((WINDOWS, "a: {tumbling: 1 minute}\n  b: {sliding: 7 days, step: 1 minute}"))
    told = [state_fingerprint(it) for it in (before, after)]
    found = changes_between(told[0], told[1])
    assert (found.problems, found.new_windows) == ((), ("b",))
    assert found.frame_lengths == (("aligned", MINUTE),)
