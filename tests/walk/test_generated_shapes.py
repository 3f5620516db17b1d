"""Generated windows of every shape, with triggers and modes, over generated events: their panes, what stands,
and what was lost are those of the plain loops, batch after batch.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from tests.oracle.publishing import Event
from tests.walk.shaped import (
    SECOND,
    Shaped,
    at_most_three,
    bounded_by_hand,
    ever,
    growing,
    none_to_two,
    own,
    pairs,
    session,
    shifted,
    sliding,
    tumbling,
)
from tests.walk.story import LENGTH, Story
from tests.walk.test_generated import examples

BATCHES = 4
Told = dict[str, Shaped]


def seconds(*allowed: int) -> st.SearchStrategy[int]:
    return st.sampled_from(allowed)


sizes = seconds(1, 7, 10, 30, 90, 200)
steps = seconds(4, 10, 30)
triggers = st.one_of(
    st.just("each batch"),
    st.tuples(st.just("rows"), st.integers(1, 5)),
    st.tuples(st.just("every"), st.integers(1, 4).map(lambda halves: halves * LENGTH // 2)),
)
rules = st.fixed_dictionaries(
    {
        "lateness": seconds(0, 10, 40, 90, 300).map(lambda length: length * SECOND),
        "early": st.just("none") | triggers,
        "late": triggers,
        "mode": st.sampled_from(("accumulating", "discarding", "retracting")),
        "by": st.sampled_from(("event", "event", "event", "arrival")),
    }
)


@st.composite
def gaps(draw: st.DrawFn) -> Shaped:
    """Sessions of every kind."""
    gap = draw(seconds(1, 10, 25))
    longest = draw(st.none() | st.integers(gap + 1, 3 * gap))
    touching = draw(st.sampled_from(("merge", "split")))
    return session(gap, longest, touching=touching, **draw(rules))


shapes: dict[str, st.SearchStrategy[Shaped]] = {
    "tumbling": st.builds(lambda size, it: tumbling(size, **it), sizes, rules),
    "sliding": st.builds(lambda size, step, it: sliding(size, step, **it), sizes, steps, rules),
    "growing": st.builds(
        lambda step, often, it: growing(step * often, step, **it), steps, st.integers(1, 5), rules
    ),
    "shifted": st.builds(lambda size, it: shifted(size, **it), sizes, rules),
    "own": st.builds(lambda it: own(**it), rules),
    "none_to_two": st.builds(lambda it: none_to_two(**it), rules),
    "ever": st.builds(lambda it: ever(**{**it, "by": "event"}), rules),
    "session": gaps(),
    "bounded_by_hand": st.builds(lambda it: bounded_by_hand(**it), rules),
    "threes": st.builds(lambda it: at_most_three(**it), rules),
    "pairs": st.builds(lambda it: pairs(**it), rules),
}
some_shapes = st.lists(st.sampled_from(sorted(shapes)), min_size=4, max_size=6, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: shapes[name] for name in names})
)
all_shapes = st.fixed_dictionaries(shapes)


@st.composite
def happened(draw: st.DrawFn) -> list[Event]:
    """Events on whole seconds and a tick beside them, at times that meet each other, also before 1970."""
    arrivals = draw(st.lists(st.integers(0, BATCHES * LENGTH // SECOND - 1), min_size=40, max_size=90))
    events = []
    for number, arrival in enumerate(arrivals, start=1):
        away = draw(seconds(0, 3, 10, 10, 25, 25, 40, 90, 130))
        tick = draw(st.sampled_from((0, 0, 0, -1, 1)))
        events.append(
            Event(
                number,
                draw(st.sampled_from(("ann", "ann", "bob"))),
                (arrival - away) * SECOND + tick,
                arrival * SECOND,
            )
        )
    return events


def has_much(told: Told) -> bool:
    """Whether windows differ in what they publish, and when."""
    definitions = [definition for _, definition in told.values()]
    modes, early = {it.mode for it in definitions}, {it.early for it in definitions}
    return len(modes) > 1 and len(early) > 2 and any(it.lateness for it in definitions)


def are_many(events: list[Event]) -> bool:
    """Whether events are of both keys, at many instants."""
    return len({it.key for it in events}) > 1 and len({it.event_us for it in events}) > len(events) // 2


@given(told=some_shapes.filter(has_much), events=happened().filter(are_many))
@examples(1)
def test_some_windows_publish_what_the_plain_loops_do(
    spark: SparkSession, told: Told, events: list[Event]
) -> None:
    walk_through(spark, told, events)


@pytest.mark.slow
@given(told=all_shapes.filter(has_much), events=happened().filter(are_many))
@examples(6, always_the_same=False)
def test_all_windows_publish_what_the_plain_loops_do(
    spark: SparkSession, told: Told, events: list[Event]
) -> None:
    walk_through(spark, told, events)


def walk_through(spark: SparkSession, told: Told, events: list[Event]) -> None:
    """Batch after batch, then one in which nothing arrives, and one that closes everything."""
    with TemporaryDirectory() as folder:
        story = Story(spark, Path(folder), events, told)
        for number in range(BATCHES + 2):
            batch = Interval(number * LENGTH, (number + 1) * LENGTH)
            found, wanted = story.run(batch, final=number == BATCHES + 1)
            assert found == wanted, (batch, told, events)
        assert story.windows() == story.wanted_windows() == story.added_up(), (told, events)
        assert story.losses() == story.wanted_losses(), (told, events)
