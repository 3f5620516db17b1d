"""Sessions of a function beside those that have closed: these stand, and it is asked of the open ones alone,
also where one lies around a closed one.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.stages import Request, run_batch
from tests.oracle.publishing import Event
from tests.walk.shaped import SECOND, shaped, sparse
from tests.walk.story import LENGTH, Story, write_events

FIRST, SECOND_ONE, THIRD = (Interval(it * LENGTH, (it + 1) * LENGTH) for it in range(3))
#  More than four in a run stay alone. By the end of the first batch five of six have closed.
EVENTS = [Event(2**it, "ann", at * SECOND, at * SECOND) for it, at in enumerate((12, 20, 28, 36, 44, 52, 61))]
CLOSED = {(at, at + 10): (2**it, 1) for it, at in enumerate((12, 20, 28, 36, 44))}


def stands(story: Story) -> dict[tuple[int, int], tuple[int, int]]:
    return {(start // SECOND, end // SECOND): it for (*_, start, end), it in story.windows().items()}


def test_a_closed_one_is_not_joined_to_what_comes_after(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(spark, tmp_path, EVENTS, {"came": sparse(by="arrival")})
    for batch in (FIRST, SECOND_ONE):
        found, wanted = story.run(batch)
        assert found == wanted
    assert stands(story) == CLOSED | {(52, 71): (96, 2)}
    # The same again changes nothing, nor does the first.
    panes = story.panes()
    for batch in (SECOND_ONE, FIRST):
        list(run_batch(story.site, Request(batch=batch)))
        assert story.panes() == panes
    # Without the last event the one before it is alone again.
    write_events(tmp_path / "data", EVENTS[:-1])
    list(run_batch(story.site, Request(batch=SECOND_ONE)))
    assert stands(story) == CLOSED | {(52, 62): (32, 1)}


def test_an_older_batch_joins_those_that_are_open_to_it(spark: SparkSession, tmp_path: Path) -> None:
    last = Event(64, "ann", 121 * SECOND, 121 * SECOND)
    story = Story(spark, tmp_path, [*EVENTS[:-1], last], {"came": sparse(by="arrival")})
    for batch in (FIRST, THIRD):
        list(run_batch(story.site, Request(batch=batch)))
    assert stands(story) == CLOSED | {(52, 62): (32, 1), (121, 131): (64, 1)}
    write_events(tmp_path / "data", [*EVENTS, last])
    list(run_batch(story.site, Request(batch=SECOND_ONE)))
    assert stands(story) == CLOSED | {(52, 71): (96, 2), (121, 131): (64, 1)}


def test_one_that_is_emptied_around_a_closed_one_is_retracted(spark: SparkSession, tmp_path: Path) -> None:
    #  Ten seconds long, 44, and ten each; the last moves the watermark.
    inner, outer = Event(3, "ann", 20 * SECOND, 20 * SECOND), Event(5, "ann", 10 * SECOND, 65 * SECOND)
    others = [Event(6, "bob", at * SECOND, at * SECOND) for at in (59, 119)]
    told = {"held": shaped('custom: "tests.windows.bursts:AS_LONG_AS_SAID"')}
    story = Story(spark, tmp_path, [inner, outer, *others], told)
    for batch in (FIRST, SECOND_ONE):
        list(run_batch(story.site, Request(batch=batch)))
    beside = {(20, 30): (3, 1), (59, 69): (6, 1)}
    assert stands(story) == beside | {(10, 54): (5, 1)}
    write_events(tmp_path / "data", [inner, *others])
    list(run_batch(story.site, Request(batch=SECOND_ONE)))
    assert stands(story) == beside
    told_of_it = [(it.kind, it.total) for it in story.panes() if it.start == 10 * SECOND]
    assert sorted(told_of_it) == [("insert", 5), ("retract", 5)]
