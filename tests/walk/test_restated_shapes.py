"""Generated windows of every shape, with triggers and modes, whose batches run again with other rows: what
each run publishes keeps the laws of a restatement, told from the events alone.

Nothing closes before the last batch, so that a window holds all events that there are of it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from pyspark.sql import SparkSession

from tests.oracle.publishing import Definition, Event
from tests.walk.retold import Changes, Retold, Run, again, may_tell, value, walk_through
from tests.walk.shaped import SECOND
from tests.walk.test_generated import examples
from tests.walk.test_generated_shapes import Told, all_shapes, are_many, happened, has_much, some_shapes


def open_for_long(told: Told) -> Told:
    """The same windows, none of which closes before all do."""
    return {name: (text, replace(it, lateness=900 * SECOND)) for name, (text, it) in told.items()}


def broken(definition: Definition, run: Run) -> list[object]:
    """What of one definition breaks a law, after a run."""
    found: list[object] = []
    before, after, restates = run.before, run.after, run.restates
    held = {place: it for place, it in after.contents.items() if place[0] == definition.name}
    same = {place for place, it in held.items() if before.contents.get(place) == it}
    # Of events that only moved within a window its states may tell, and need not.
    alike = {
        place for place, it in held.items() if value(before.contents.get(place, frozenset())) == value(it)
    }
    for row in (it for it in run.told if it.window == definition.name):
        place = (row.window, row.key, row.start, row.end)
        is_due = row.timing == "ON_TIME"
        takes_back = row.kind == "retract" and definition.mode == "accumulating"
        # A session that is gone is taken back when the one in its place is told of.
        if place in held and row.timing != run.timing_of(definition, row.end):
            found.append(("timing", row))
        if restates and place in same and (row.timing == "EARLY" or (is_due and takes_back)):
            found.append(("told of nothing", row))
        if not restates and takes_back and place in held:
            found.append(("taken back in its turn", row))
    for place, events in held.items():
        timing = run.timing_of(definition, place[3])
        is_said = timing == "ON_TIME" or (restates and place not in alike and may_tell(definition, timing))
        wanted = value(events) if is_said else None
        stands = after.windows.get(place)
        if is_said and stands != wanted:
            found.append(("not told", timing, place, stands, wanted))
        if not is_said and stands not in (before.windows.get(place), value(events)):
            found.append(("told otherwise", timing, place, stands, value(events)))
    if definition.sessions_of is None:
        stand = {place for place in after.windows if place[0] == definition.name}
        found += [("stands though gone", place) for place in stand - set(held)]
    return found


@given(told=some_shapes.filter(has_much), events=happened().filter(are_many), changes=again)
@examples(1)
def test_some_windows_keep_the_laws_of_a_restatement(
    spark: SparkSession, told: Told, events: list[Event], changes: Changes
) -> None:
    keep_the_laws(spark, told, events, changes)


@pytest.mark.slow
@given(told=all_shapes.filter(has_much), events=happened().filter(are_many), changes=again)
@examples(4, always_the_same=False)
def test_all_windows_keep_the_laws_of_a_restatement(
    spark: SparkSession, told: Told, events: list[Event], changes: Changes
) -> None:
    keep_the_laws(spark, told, events, changes)


def keep_the_laws(spark: SparkSession, told: Told, events: list[Event], changes: Changes) -> None:
    """Each run does, and in the end `windows` holds all events."""
    with TemporaryDirectory() as folder:
        story = Retold(spark, Path(folder), events, open_for_long(told))
        walk_through(story, changes, broken)
        stands = story.stands()
        wanted = {place: value(held) for place, held in stands.contents.items()}
        assert stands.windows == wanted, (told, events, changes)
