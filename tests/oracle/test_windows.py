"""The oracle's windows, as truth tables that begin with negative times."""

from __future__ import annotations

import pytest

from tests.oracle import LATEST, Aggregate, Pipeline, Window
from tests.oracle.windows import frame_of, is_closed, is_due, missed_and_kept, windows_of

TUMBLING = Window(name="tumbling", size=10, step=10)
SHIFTED = Window(name="shifted", size=10, step=10, offset=3)
SLIDING = Window(name="sliding", size=20, step=10)
UNEVEN = Window(name="uneven", size=25, step=10)
GAPPED = Window(name="gapped", size=10, step=30)


@pytest.mark.parametrize(
    ("instant", "window", "starts"),
    [
        (-11, TUMBLING, [-20]),
        (-10, TUMBLING, [-10]),
        (-1, TUMBLING, [-10]),
        (0, TUMBLING, [0]),
        (9, TUMBLING, [0]),
        (10, TUMBLING, [10]),
        (-8, SHIFTED, [-17]),
        (-7, SHIFTED, [-7]),
        (2, SHIFTED, [-7]),
        (3, SHIFTED, [3]),
        (-1, SLIDING, [-20, -10]),
        (0, SLIDING, [-10, 0]),
        (9, SLIDING, [-10, 0]),
        (10, SLIDING, [0, 10]),
        (4, UNEVEN, [-20, -10, 0]),
        (5, UNEVEN, [-10, 0]),
        (9, UNEVEN, [-10, 0]),
        (10, UNEVEN, [-10, 0, 10]),
        (-21, GAPPED, [-30]),
        (-20, GAPPED, []),
        (-1, GAPPED, []),
        (0, GAPPED, [0]),
        (9, GAPPED, [0]),
        (10, GAPPED, []),
    ],
)
def test_an_instant_lies_in_the_windows_that_start_at(
    instant: int, window: Window, starts: list[int]
) -> None:
    assert windows_of(instant, window) == [(start, start + window.size) for start in starts]


@pytest.mark.parametrize(
    "window", [TUMBLING, SHIFTED, SLIDING, UNEVEN, GAPPED], ids=lambda window: window.name
)
def test_looking_at_every_start_finds_the_same_windows(window: Window) -> None:
    starts = [start for start in range(-200, 200) if (start - window.offset) % window.step == 0]
    for instant in range(-60, 60):
        held = [(start, start + window.size) for start in starts if start <= instant < start + window.size]
        assert windows_of(instant, window) == held


@pytest.mark.parametrize(
    ("instant", "frame"), [(-6, (-10, -5)), (-5, (-5, 0)), (-1, (-5, 0)), (0, (0, 5)), (5, (5, 10))]
)
def test_a_frame_is_the_common_divisor_of_sizes_steps_and_offsets(
    instant: int, frame: tuple[int, int]
) -> None:
    count = Aggregate(name="rows", op="count")
    assert frame_of(instant, Pipeline(aggregates=(count,), windows=(UNEVEN,))) == frame


#  wm:      9    10    14    15     LATEST        the window is [0, 10), its lateness 5
#  due      no   yes   yes   yes    yes
#  closed   no   no    no    yes    yes
@pytest.mark.parametrize(
    ("watermark", "due", "closed"),
    [
        (None, False, False),
        (9, False, False),
        (10, True, False),
        (14, True, False),
        (15, True, True),
        (LATEST, True, True),
    ],
)
def test_a_window_is_due_at_its_end_and_closed_after_its_lateness(
    watermark: int | None, due: bool, closed: bool
) -> None:
    window = Window(name="patient", size=10, step=10, lateness=5)
    assert is_due((0, 10), watermark) is due
    assert is_closed((0, 10), window, watermark) is closed


def test_the_last_watermark_closes_also_what_ends_after_it() -> None:
    window = Window(name="patient", size=10, step=10, lateness=LATEST)
    assert is_closed((LATEST, LATEST + 10), window, LATEST)
    assert not is_closed((LATEST, LATEST + 10), window, LATEST - 1)


@pytest.mark.parametrize(
    ("watermark", "missed", "kept"),
    [(None, 0, 3), (9, 0, 3), (10, 1, 2), (19, 1, 2), (20, 2, 1), (29, 2, 1), (30, 3, 0)],
)
def test_an_event_misses_its_closed_windows_and_keeps_the_others(
    watermark: int | None, missed: int, kept: int
) -> None:
    sliding = Window(name="sliding", size=30, step=10)
    assert missed_and_kept(5, sliding, watermark) == (missed, kept)
