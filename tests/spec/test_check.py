"""The length of a frame, and what is legal but probably not meant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.spec import Aggregate, Cumulate, Global, Session, Shape, Sliding, Window, frame_us, warnings
from tests.spec.conftest import Read

MINUTE, HOUR = 60_000_000, 3_600_000_000


def sliding(size_us: int, step_us: int, offset_us: int = 0) -> Sliding:
    return Sliding(size_us=size_us, step_us=step_us, offset_us=offset_us)


@pytest.mark.parametrize(
    ("shapes", "length_us"),
    [
        ([sliding(HOUR, HOUR)], HOUR),
        ([sliding(2 * HOUR, 30 * MINUTE)], 30 * MINUTE),
        ([sliding(HOUR, 7 * MINUTE)], MINUTE),
        ([sliding(HOUR, HOUR, 5 * MINUTE)], 5 * MINUTE),
        ([sliding(HOUR, HOUR, 65 * MINUTE)], 5 * MINUTE),
        ([sliding(HOUR, HOUR), sliding(45 * MINUTE, 45 * MINUTE)], 15 * MINUTE),
        ([Cumulate(size_us=HOUR, step_us=20 * MINUTE), Session(gap_us=7)], 20 * MINUTE),
        ([Global()], 0),
    ],
)
def test_a_frame_is_the_longest_that_divides_sizes_steps_and_offsets(
    shapes: list[Shape], length_us: int, read: Read
) -> None:
    windows = tuple(Window(name=f"w{at}", shape=shape) for at, shape in enumerate(shapes))
    assert frame_us(replace(read(), windows=windows)) == length_us


def test_windows_of_arrival_time_do_not_cut_the_frames_of_event_time(read: Read) -> None:
    windows = (
        Window(name="a", shape=sliding(HOUR, HOUR)),
        Window(name="b", shape=sliding(7, 7), time="arrival"),
    )
    assert frame_us(replace(read(), windows=windows)) == HOUR


@pytest.mark.parametrize(
    ("windows", "told"),
    [
        ("{sliding: 1 hour, step: 7 seconds}", "frames are 1 second long, tiny beside"),
        ("{tumbling: 1 hour}\n  b: {tumbling: 7 seconds}", "frames are 1 second long, tiny beside"),
        ("{sliding: 10001 minutes, step: 1 minute}", "takes 10,001 steps a size"),
        ("{cumulate: 10001 minutes, step: 1 minute}", "takes 10,001 steps a size"),
        ("{sliding: 10 minutes, step: 1 hour}", "events between windows are in none"),
    ],
)
def test_what_is_probably_not_meant_is_warned_of(windows: str, told: str, read: Read) -> None:
    assert any(told in warning for warning in warnings(read(("{tumbling: 1 hour}", windows))))


@pytest.mark.parametrize(
    "window",
    [
        "{tumbling: 1 hour}",
        "{sliding: 2 hours, step: 30 minutes}",
        "{sliding: 10 hours, step: 1 hour}",
        "{cumulate: 1 day, step: 5 minutes}",
        "{sliding: 1 day, step: 1 minute}",
    ],
)
def test_what_is_usual_is_not_warned_of(window: str, read: Read) -> None:
    assert warnings(read(("{tumbling: 1 hour}", window))) == ()


def test_a_list_that_grows_for_ever_is_warned_of(read: Read) -> None:
    pipeline = read()
    lists = (Aggregate(name="fares", op="collect_list", of="fare"),)
    endless = replace(pipeline, aggregates=lists, windows=(Window(name="all", shape=Global()),))
    assert len(warnings(endless)) == 1
    assert warnings(replace(pipeline, aggregates=lists)) == ()
