"""Early and late panes in every mode, over Delta, batch after batch, equal the oracle's plain loops."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from tests.oracle.publishing import Event
from tests.walk.shaped import (
    SECOND,
    Shaped,
    at_most_three,
    ever,
    growing,
    none_to_two,
    own,
    session,
    shifted,
    sliding,
    tumbling,
)
from tests.walk.story import LENGTH, Story, by_chance

EARLY = {"early": "each batch", "lateness": 90 * SECOND}
ROWS = {"early": ("rows", 3), "late": ("rows", 2), "lateness": 90 * SECOND}
TIMED = {"early": ("every", 100 * SECOND), "late": ("every", 70 * SECOND), "lateness": 90 * SECOND}
STRICT = {"early": ("rows", 2), "late": ("rows", 2), "lateness": 10 * SECOND}
CHOSEN = {
    "whole": tumbling(30, **EARLY),
    "news": sliding(50, 20, **EARLY, mode="discarding"),
    "three": tumbling(100, **{**ROWS, "lateness": 100 * SECOND}, mode="retracting"),
    "timed": session(25, early=("every", 100 * SECOND), late=("every", 100 * SECOND), lateness=90 * SECOND),
    "visits": session(15, **EARLY, mode="discarding"),
}
OTHERS = {
    "undone": tumbling(30, **EARLY, mode="retracting"),
    "timed": tumbling(200, **TIMED),
    "slow": sliding(90, 30, late=("rows", 4), lateness=130 * SECOND, mode="discarding"),
    "ever": ever(early="each batch", mode="discarding"),
    "visits": session(15, **EARLY, mode="retracting"),
    "bursts": session(15, 40, **EARLY),
    "counted": session(20, **ROWS, mode="discarding"),
    "threes": at_most_three(**EARLY, mode="retracting"),
}
SHAPES = {
    "grown": growing(60, 20, **STRICT),
    "shifted": shifted(30, **EARLY, mode="retracting"),
    "own": own(**{**TIMED, "lateness": 40 * SECOND}, mode="discarding"),
    "chosen": none_to_two(**{**EARLY, "lateness": 10 * SECOND}, mode="discarding"),
    "came": tumbling(90, by="arrival", **EARLY, mode="retracting"),
    "stayed": session(10, by="arrival", **ROWS, mode="discarding"),
}
MODES = {
    "pieces": session(15, 40, **EARLY, mode="discarding"),
    "undone": session(15, 40, **{**EARLY, "lateness": 40 * SECOND}, mode="retracting"),
    "ever": ever(early="each batch", mode="retracting"),
    "whole": at_most_three(**{**ROWS, "lateness": 40 * SECOND}),
    "news": at_most_three(**TIMED, mode="discarding"),
}
FEW = {name: CHOSEN[name] for name in ("news", "timed")}
CUT = {
    "counted": session(15, 40, early=("rows", 4), late=("rows", 3), lateness=90 * SECOND),
    "timed": session(15, 40, **TIMED),
}
"""An early event may cut a published one into several, of which one is published before the others."""


@pytest.mark.parametrize(
    ("told", "seed"),
    [
        pytest.param(FEW, 4, id="few"),
        pytest.param(CHOSEN, 1, id="chosen", marks=pytest.mark.slow),
        pytest.param(CHOSEN, 2, id="chosen again", marks=pytest.mark.slow),
        pytest.param(OTHERS, 3, id="others", marks=pytest.mark.slow),
        pytest.param(SHAPES, 79, id="shapes", marks=pytest.mark.slow),
        pytest.param(MODES, 374, id="modes", marks=pytest.mark.slow),
        *[pytest.param(CUT, seed, id=f"cut anew {seed}", marks=pytest.mark.slow) for seed in (5, 19, 29)],
    ],
)
def test_panes_are_those_of_the_plain_loops(
    spark: SparkSession, tmp_path: Path, told: dict[str, Shaped], seed: int
) -> None:
    story = Story(spark, tmp_path, by_chance(seed, 70), told)
    batches = 2 if told is FEW else 5
    for start in range(0, batches * LENGTH, LENGTH):
        batch = Interval(start, start + LENGTH)
        found, wanted = story.run(batch)
        assert found == wanted, batch
    # Nothing arrives any more, but timers go on, and all that waits is published at closing.
    for start, final in ((5 * LENGTH, False), (6 * LENGTH, True))[told is FEW :]:
        found, wanted = story.run(Interval(start, start + LENGTH), final=final)
        assert found == wanted, start
    assert story.windows() == story.wanted_windows() == story.added_up()
    assert story.losses() == story.wanted_losses()
    assert bool(story.losses()) == (told in (SHAPES, MODES))


def test_the_newest_batch_again_with_the_last_watermark_publishes_what_is_due_as_in_its_turn(
    spark: SparkSession, tmp_path: Path
) -> None:
    told = {"whole": CHOSEN["whole"], "visits": CHOSEN["visits"], "undone": OTHERS["undone"]}
    story, batch = Story(spark, tmp_path, by_chance(4, 70), told), Interval(0, LENGTH)
    found, wanted = story.run(batch)
    assert found == wanted
    # All of its events are known.
    story.events = []
    found, wanted = story.run(batch, final=True, revision=1)
    assert found == wanted
    assert {row.timing for row in found} == {"ON_TIME"}
    assert story.windows() == story.wanted_windows() == story.added_up()


@pytest.mark.slow
def test_a_session_is_taken_back_by_those_that_hold_its_events_not_by_others_within_its_bounds(
    spark: SparkSession, tmp_path: Path
) -> None:
    #   0        9        18              three at most: [0, 28) is published
    #   0 1 2                             two are new: too few to be told of
    #         3 4 5                       all three are new, within the bounds of the one that was published
    #                  9        18       none is new
    first = [Event(number, "ann", at * SECOND, 0) for number, at in ((1, 0), (2, 9), (4, 18))]
    second = [Event(8 << at, "ann", at * SECOND, LENGTH) for at in (1, 2, 3, 4, 5)]
    threes = at_most_three(early=("rows", 3), lateness=300 * SECOND)
    story = Story(spark, tmp_path, [*first, *second], {"threes": threes})
    for start, final in ((0, False), (LENGTH, False), (2 * LENGTH, True)):
        found, wanted = story.run(Interval(start, start + LENGTH), final=final)
        assert found == wanted, start
        assert [row.kind for row in wanted].count("retract") == (1 if final else 0)
    assert story.windows() == story.wanted_windows() == story.added_up()


@pytest.mark.slow
def test_a_session_whose_events_are_all_new_waits_by_itself_within_the_bounds_of_a_published_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    #   0        9        18              published after two batches
    #    1 2 3 4 5                        come in the one after that, and wait for two of their own
    first = [Event(number, "ann", at * SECOND, 0) for number, at in ((1, 0), (2, 9), (4, 18))]
    second = [Event(8 << at, "ann", at * SECOND, 3 * LENGTH) for at in (1, 2, 3, 4, 5)]
    threes = at_most_three(early=("every", 2 * LENGTH), lateness=900 * SECOND)
    story = Story(spark, tmp_path, [*first, *second], {"threes": threes})
    for number in range(7):
        found, wanted = story.run(Interval(number * LENGTH, (number + 1) * LENGTH))
        assert found == wanted, number
        assert bool(wanted) == (number in (2, 4, 5)), number
