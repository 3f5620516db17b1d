"""Plain sessions in any order of batches: told by hand, and beside the plain loops that know one order."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.publishing import Definition, Event, Publisher
from tests.oracle.sessions import Held, Sessions
from tests.oracle.shapes import Bounds, counted_sessions, sessions

GAP = 10
FIRST, SECOND, THIRD = ((start, start + 100) for start in (0, 100, 200))
CUTS = {
    "whole": (partial(sessions, gap=GAP), False, False),
    "short": (partial(sessions, gap=GAP, longest=25), True, True),
    "pairs": (partial(counted_sessions, gap=GAP, most=2), True, False),
}
batches = st.lists(st.lists(st.integers(0, 150), max_size=8), min_size=1, max_size=5)


def kept(lateness: int, *, cut: str = "whole") -> Sessions:
    of, chained, in_order = CUTS[cut]
    return Sessions(gap=GAP, lateness=lateness, cut=of, chained=chained, in_order=in_order)


def held(*instants: int) -> dict[str, list[Held]]:
    """Events told apart by when they happened."""
    return {"one": [Held(at, at, 1) for at in instants]}


def bounds(mine: Sessions) -> list[Bounds]:
    return sorted(mine.bounds_of(it) for it in mine.sessions)


def test_an_event_begins_anew_beside_a_closed_session_and_a_restatement_joins_what_it_meets() -> None:
    mine = kept(0)
    mine.run(FIRST, held(82), judged_by=None, in_turn=True)
    mine.run(SECOND, held(86), judged_by=93, in_turn=True)
    assert bounds(mine) == [(82, 92), (86, 96)]
    mine.run(FIRST, held(82, 94), judged_by=None, in_turn=False)
    assert bounds(mine) == [(82, 92), (86, 104)]
    mine.run(FIRST, held(82, 80, 94), judged_by=None, in_turn=False)
    assert bounds(mine) == [(80, 104)]


def test_an_event_that_goes_takes_its_session_apart_though_it_has_closed() -> None:
    mine = kept(0)
    mine.run(FIRST, held(10), judged_by=None, in_turn=True)
    mine.run(SECOND, held(18, 26), judged_by=None, in_turn=False)
    assert bounds(mine) == [(10, 36)]
    mine.run(SECOND, held(26), judged_by=50, in_turn=False)
    assert bounds(mine) == [(10, 20)] and mine.lost[SECOND] == [26]


def test_what_is_in_the_place_of_others_joins_all_that_it_meets() -> None:
    mine = kept(0)
    mine.run(FIRST, held(82), judged_by=None, in_turn=True)
    mine.run(SECOND, held(86), judged_by=93, in_turn=True)
    mine.run((0, 200), held(82, 86), judged_by=None, in_turn=False, covered=[FIRST, SECOND])
    assert bounds(mine) == [(82, 96)] and list(mine.partials) == [(0, 200)]


@pytest.mark.parametrize("cut", CUTS)
@given(told=batches, order=st.permutations(range(5)))
def test_where_nothing_closes_the_order_of_batches_makes_no_difference(
    cut: str, told: list[list[int]], order: list[int]
) -> None:
    mine, newest = kept(10**6, cut=cut), -1
    for number in [it for it in order if it < len(told)]:
        rows = {"one": [Held(at, 100 * number + place, 1) for place, at in enumerate(told[number])]}
        mine.run((number, number + 1), rows, judged_by=100, in_turn=number > newest)
        newest = max(newest, number)
    assert bounds(mine) == sorted(CUTS[cut][0]([at for batch in told for at in batch]))


@given(told=batches)
def test_in_order_they_are_those_of_the_plain_loops_of_panes(told: list[list[int]]) -> None:
    mine = kept(5)
    publisher = Publisher(
        Definition(name="", sessions_of=CUTS["whole"][0], gap=GAP, touching="merge", lateness=5), ""
    )
    watermark = None
    for number, instants in enumerate(told):
        events = [Event(100 * number + place, "", at, number) for place, at in enumerate(instants)]
        reached = [it.event_us - 20 for it in events] + ([] if watermark is None else [watermark])
        after = max(reached, default=None)
        publisher.run(events, end=number + 1, before=watermark, after=after)
        rows = {"one": [Held(it.event_us, it.number, 1) for it in events]}
        mine.run((number, number + 1), rows, judged_by=watermark, in_turn=True)
        watermark = after
    wanted = [{it.number for it in one.events} for one in publisher.windows if not one.is_gone]
    assert sorted(map(sorted, wanted)) == sorted(sorted(it.id for it in one) for one in mine.sessions)
