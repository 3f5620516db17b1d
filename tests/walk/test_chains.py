"""Chains of bounded and custom sessions, longer than a batch: only what hangs together with an event changes.

What is read of them is bounded by the chain that a batch touched, so whatever is beyond has to be as it was.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import Interval
from pipelines.stages import Request, run_batch
from tests.oracle.publishing import Event
from tests.walk.published import rows_of
from tests.walk.shaped import SECOND, Shaped, at_most_three, pairs, session, sparse
from tests.walk.story import LENGTH, Story, Windows, write_events

OPEN = {"early": "each batch", "lateness": 1_000 * SECOND}
TOLD = {
    "bounded": session(15, 40, **OPEN, mode="retracting"),
    "short": session(9, 20, **OPEN),
    "threes": at_most_three(**OPEN),
}
CLOSING = {
    "bounded": session(15, 40, early="each batch", lateness=60 * SECOND),
    "threes": at_most_three(early=("rows", 2), late=("rows", 2), lateness=60 * SECOND, mode="retracting"),
}
BATCHES = 6


def chains(seed: int) -> list[Event]:
    """Ann is there all the time, bob with pauses; some of what they did arrives batches later."""
    chosen = random.Random(seed)
    end = BATCHES * LENGTH // SECOND
    times = [("ann", at) for at in range(0, end, 7)] + [
        ("bob", at) for pause in range(0, end, 90) for at in range(pause, min(pause + 60, end), 9)
    ]
    events = []
    for number, (user, at) in enumerate(times, 1):
        away = chosen.choice([0, 0, 0, 0, 0, 0, 70, 150])
        arrival = min(at + away, end - 1)
        events.append(Event(number, user, (at + chosen.randrange(3)) * SECOND, arrival * SECOND))
    return events


@pytest.mark.slow
@pytest.mark.parametrize(("told", "seed"), [(TOLD, 1), (TOLD, 2), (CLOSING, 3), (CLOSING, 4)])
def test_chains_of_sessions_are_those_of_the_plain_loops(
    spark: SparkSession, tmp_path: Path, told: dict[str, Shaped], seed: int
) -> None:
    story = Story(spark, tmp_path, chains(seed), told)
    for start in range(0, BATCHES * LENGTH, LENGTH):
        found, wanted = story.run(Interval(start, start + LENGTH))
        assert found == wanted, start
    found, wanted = story.run(Interval(BATCHES * LENGTH, (BATCHES + 1) * LENGTH), final=True)
    assert found == wanted
    assert story.windows() == story.wanted_windows() == story.added_up()


@pytest.mark.slow
def test_a_restatement_cuts_and_joins_the_chains_that_it_touches(spark: SparkSession, tmp_path: Path) -> None:
    #  ann   0 ──7──14── … ── 203 ── 210 ── … ── 357       first without 196 to 210, then with a bridge again
    #  bob   0 … 54   90 … 144   180 … 234   270 … 324     60, 69, 78 join the first two, and go again
    events = [it._replace(arrival_us=it.event_us) for it in chains(5)]
    story = Story(spark, tmp_path, events, TOLD)
    batches = [Interval(start, start + LENGTH) for start in range(0, BATCHES * LENGTH, LENGTH)]
    for batch in batches:
        list(run_batch(story.site, Request(batch=batch)))
    assert story.windows() == standing(events)
    split = [it for it in events if it.key == "bob" or not 190 * SECOND <= it.event_us < 214 * SECOND]
    bridge = [Event(1_000 + at, "bob", at * SECOND, at * SECOND) for at in (60, 69, 78, 87)]
    for changed, batch in (
        (split, batches[3]),
        ([*split, *bridge], batches[1]),
        ([*events, *bridge], batches[3]),
        (events, batches[1]),
    ):
        write_events(tmp_path / "data", changed)
        list(run_batch(story.site, Request(batch=batch)))
        assert story.windows() == standing(changed), batch


def standing(events: list[Event]) -> Windows:
    """What stands where all events are known and every session is published."""
    found: Windows = {}
    for name, (_, definition) in TOLD.items():
        for user in {it.key for it in events}:
            mine = [it for it in events if it.key == user]
            bounds = definition.sessions_of([it.event_us for it in mine])
            for event in mine:
                place = (name, user, *max(it for it in bounds if it[0] <= event.event_us))
                total, count = found.get(place, (0, 0))
                found[place] = (total + event.number, count + 1)
    return found


@pytest.mark.slow
def test_a_piece_that_is_cut_off_with_a_closed_one_s_bounds_tells_its_news(
    spark: SparkSession, tmp_path: Path
) -> None:
    #        25      34
    #   1                      published, and closed
    #   1, 2    4              open again, as one, which waits
    #   1, 2    4, 8           four are too many: [25, 35) again, and nobody looks at it later
    rules = {"lateness": 5 * SECOND}
    told = {
        "waits": at_most_three(**rules, late=("rows", 5)),
        "undone": at_most_three(**rules, late=("rows", 5), mode="retracting"),
        "news": at_most_three(**rules, mode="discarding"),
    }
    # What bob does says how far it is: to 36 and to 42.
    events = [
        *[Event(1, "ann", 25 * SECOND, 0), Event(64, "bob", 56 * SECOND, 1)],
        *[Event(2, "ann", 25 * SECOND, LENGTH), Event(4, "ann", 34 * SECOND, LENGTH)],
        *[Event(128, "bob", 62 * SECOND, LENGTH), Event(8, "ann", 34 * SECOND, 2 * LENGTH)],
    ]
    story, stood = Story(spark, tmp_path, events, told), []
    for start in (0, LENGTH, 2 * LENGTH):
        list(run_batch(story.site, Request(batch=Interval(start, start + LENGTH))))
        of_ann = {place: sums for place, sums in story.windows().items() if place[1] == "ann"}
        stood.append({(name, at // SECOND, sums) for (name, _, at, _), (sums, _) in of_ann.items()})
    assert stood == [{(name, 25, total) for name in told} for total in (1, 1, 3)]
    assert story.windows() == story.added_up()


AGAIN = {
    #        38        43
    #   1, 2                    at first: published, as 3
    #   2         1             with another after it, no longer due: what was published stands
    #   2         1, 4          alone again, for three are too many
    "fewer": (pairs, [(2, 38), (1, 43)], 2),
    #   1, 2
    #   16, 32    1             as many, and others
    #   16, 32    1, 4
    "others": (at_most_three, [(16, 38), (32, 38), (1, 43)], 48),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", AGAIN)
def test_a_session_that_has_bounds_of_a_published_one_again_and_other_events_is_published(
    spark: SparkSession, tmp_path: Path, case: str
) -> None:
    shape, moved, total = AGAIN[case]
    rules = {"lateness": 300 * SECOND}
    told = {
        "whole": shape(**rules),
        "undone": shape(**rules, mode="retracting"),
        "news": shape(**rules, mode="discarding"),
        "waits": shape(**rules, late=("rows", 5)),
    }
    first = [Event(1, "ann", 38 * SECOND, 0), Event(2, "ann", 38 * SECOND, 0)]
    reached = Event(8, "bob", 69 * SECOND, SECOND)
    restated = [reached, *[Event(number, "ann", at * SECOND, 0) for number, at in moved]]
    story = Story(spark, tmp_path, [*first, reached], told)

    def stands(events: list[Event], batch: Interval) -> dict[str, set[tuple[int, int]]]:
        write_events(tmp_path / "data", events)
        list(run_batch(story.site, Request(batch=batch)))
        found: dict[str, set[tuple[int, int]]] = {}
        for (name, user, start, _), (summed, _) in story.windows().items():
            found.setdefault(name if user == "ann" else "bob", set()).add((start // SECOND, summed))
        return found

    assert stands([*first, reached], Interval(0, LENGTH)) == {name: {(38, 3)} for name in told}
    assert stands(restated, Interval(0, LENGTH)) == {name: {(38, 3)} for name in told}
    third = Event(4, "ann", 43 * SECOND, LENGTH)
    assert stands([*restated, third], Interval(LENGTH, 2 * LENGTH)) == {name: {(38, total)} for name in told}
    panes = [it for it in rows_of(tmp_path / "store" / "story" / "panes") if it["batch_start"] == LENGTH]
    found = sorted((it["window"], it["kind"], it["total"], it["timing"], it["pane_index"]) for it in panes)
    inserted = [(name, "insert", total, "LATE", 1) for name in told]
    assert found == sorted([*inserted, *[(name, "retract", 3, "LATE", 1) for name in ("news", "undone")]])


@pytest.mark.slow
def test_a_session_that_has_its_bounds_again_with_all_that_was_told_waits_for_its_trigger(
    spark: SparkSession, tmp_path: Path
) -> None:
    #        5     8    10               shorter than 15 seconds, no further apart than 10
    #                   1                published
    #              2    1                two in one, which wait; so that one stands
    #        4     2    1, 16            that one again, with one more, which waits too
    rules = {"lateness": 300 * SECOND, "late": ("rows", 5)}
    told = {"whole": session(10, 15, **rules), "news": session(10, 15, **rules, mode="discarding")}
    events = [
        Event(1, "ann", 10 * SECOND, 0),
        Event(8, "bob", 69 * SECOND, SECOND),
        Event(2, "ann", 8 * SECOND, LENGTH),
        Event(4, "ann", 5 * SECOND, 2 * LENGTH),
        Event(16, "ann", 10 * SECOND, 2 * LENGTH),
    ]
    story = Story(spark, tmp_path, events, told)
    published = []
    for number in range(4):
        found, wanted = story.run(Interval(number * LENGTH, (number + 1) * LENGTH), final=number == 3)
        assert found == wanted, number
        published.append(sorted({row.key for row in wanted}))
    assert published == [["ann"], [], [], ["ann", "bob"]]
    assert story.windows() == story.wanted_windows() == story.added_up()


@pytest.mark.slow
def test_what_a_later_pane_takes_back_has_the_index_of_that_pane(spark: SparkSession, tmp_path: Path) -> None:
    #  10    11       12    14    16      more than four in a run stay alone
    #   1             2                   published
    #         4                           waits
    #         8             16    32      so that both of 11 are one, and published; what stood stands
    #         8                           and takes them back, when the batch has no more than this
    told = {"held": sparse(lateness=300 * SECOND, late=("rows", 2))}
    first = [
        Event(1, "ann", 10 * SECOND, 0),
        Event(2, "ann", 12 * SECOND, 0),
        Event(64, "bob", 59 * SECOND, SECOND),
        Event(4, "ann", 11 * SECOND, LENGTH),
        Event(8, "ann", 11 * SECOND, 2 * LENGTH),
    ]
    moving = [Event(16, "ann", 14 * SECOND, 2 * LENGTH), Event(32, "ann", 16 * SECOND, 2 * LENGTH)]
    story = Story(spark, tmp_path, [*first, *moving], told)
    for number in range(3):
        found, wanted = story.run(Interval(number * LENGTH, (number + 1) * LENGTH))
        assert found == wanted, number
    before = {it for it in story.panes() if it.key == "ann"}
    assert sorted((it.total, it.pane_index) for it in before) == [(3, 0), (12, 0)]
    write_events(tmp_path / "data", first)
    list(run_batch(story.site, Request(batch=Interval(2 * LENGTH, 3 * LENGTH))))
    restated = {it for it in story.panes() if it.key == "ann"} - before
    assert sorted((it.kind, it.total, it.timing, it.pane_index, it.is_first) for it in restated) == [
        ("insert", 15, "LATE", 1, False),
        ("retract", 3, "LATE", 1, False),
        ("retract", 12, "LATE", 1, False),
    ]
    assert [it for it in story.windows().values() if it != (64, 1)] == [(15, 4)]
