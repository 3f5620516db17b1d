"""Panes alone give windows, whatever the events, the shape, the triggers and the mode."""

from __future__ import annotations

import random
from functools import partial
from itertools import product

import pytest

from tests.oracle.adding_up import added_up
from tests.oracle.publishing import LATEST, Definition, Event, Publisher, Row
from tests.oracle.shapes import counted_sessions, sessions, slid, tumbled

SHAPES = {
    "tumbling": {"windows_of": lambda it: tumbled(it.event_us, 10)},
    "sliding": {"windows_of": lambda it: slid(it.event_us, 15, 5)},
    "global": {"windows_of": lambda _: [(-1000, LATEST)]},
    "session": {"sessions_of": partial(sessions, gap=5), "gap": 5, "touching": "merge"},
    "split": {"sessions_of": partial(sessions, gap=5, splits=True), "gap": 5},
    "bounded": {"sessions_of": partial(sessions, gap=5, longest=12), "gap": 5, "touching": "merge"},
    "counted": {"sessions_of": partial(counted_sessions, gap=5, most=3), "gap": 5, "touching": "merge"},
}
MODES = ("accumulating", "discarding", "retracting")
BATCH, BATCHES = 10, 8


def by_chance(shape: str, mode: str, seed: int) -> tuple[Publisher, random.Random]:
    """A definition with triggers and lateness that the seed chooses."""
    chosen = random.Random(f"{shape} {mode} {seed}")
    definition = Definition(
        name="it",
        mode=mode,
        lateness=chosen.choice([0, 10, 40]),
        early=chosen.choice(["none", "each batch", ("rows", 2), ("every", 20)]),
        late=chosen.choice(["each batch", ("rows", 2), ("every", 20)]),
        **SHAPES[shape],
    )
    return Publisher(definition, "ann"), chosen


@pytest.mark.parametrize(("shape", "mode"), list(product(SHAPES, MODES)))
def test_what_stands_after_each_batch_is_what_the_panes_add_up_to(shape: str, mode: str) -> None:
    published = 0
    for seed in range(40):
        publisher, chosen = by_chance(shape, mode, seed)
        panes: list[Row] = []
        before: int | None = None
        number = 0
        for end in range(BATCH, BATCH * BATCHES + 1, BATCH):
            events = []
            for _ in range(chosen.randrange(5)):
                number += 1
                events.append(Event(number, "ann", end - chosen.randrange(1, 40), end - BATCH))
            reached = end - BATCH - chosen.choice([0, 5, 15])
            after = LATEST if end == BATCH * BATCHES else max(reached, reached if before is None else before)
            panes += publisher.run(events, end=end, before=before, after=after)
            before = after
            stands = {bounds[2:]: it for bounds, it in publisher.standing().items()}
            assert added_up(panes, mode) == stands, (seed, end)
        published += len(panes)
    assert published > 100
