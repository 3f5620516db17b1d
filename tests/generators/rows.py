"""Generated events: few keys, times that crowd around boundaries, some late, some without a time."""

from __future__ import annotations

import math
from decimal import Decimal

from hypothesis import strategies as st

from tests.oracle import Event, Pipeline
from tests.oracle.model import Value

SECOND = 1_000_000
KEYS = (None, "a", "b", "c")
DEVICES = (None, "x", "y")
NEARBY = (-1, 0, 1, 2 * SECOND)
DELAYS = (-3 * SECOND, 0, 0, 1, SECOND, 20 * SECOND, 20 * SECOND, 70 * SECOND, 150 * SECOND)

values = st.fixed_dictionaries(
    {
        "number": st.none() | st.integers(-3, 3),
        "money": st.none() | st.integers(-250, 250).map(lambda cents: Decimal(cents).scaleb(-2)),
        "real": st.none() | st.integers(-8, 8).map(lambda quarters: quarters / 4),
        "wild": st.sampled_from((None, 0.25, 1.5, 1.5, -2.0, math.inf, -math.inf, math.nan)),
    }
)
TICKETS = (None,) * 12 + tuple(range(6))
"""Ids: most events have none, the others share a few."""
often_none = st.sampled_from((False,) * 15 + (True,))


def events_of(pipeline: Pipeline, *, most: int, devices: bool) -> st.SearchStrategy[list[Event]]:
    """Rows for all sources of the pipeline, at most so many."""
    return st.lists(drafts(pipeline, devices=devices), min_size=most // 2, max_size=most).map(numbered)


@st.composite
def drafts(draw: st.DrawFn, pipeline: Pipeline, *, devices: bool) -> Event:
    """One event, not numbered yet. Boundaries lie at multiples of five seconds, also before 1970."""
    time_us = draw(st.integers(-12, 24)) * 5 * SECOND + draw(st.sampled_from(NEARBY))
    without_event_time, without_arrival = draw(often_none), draw(often_none)
    return Event(
        id=0,
        source=draw(st.sampled_from([source.name for source in pipeline.sources])),
        substream=draw(st.sampled_from(DEVICES)) if devices else None,
        key=(draw(st.sampled_from(KEYS)),),
        event_us=None if without_event_time else time_us,
        arrival_us=None if without_arrival else time_us + draw(st.sampled_from(DELAYS)),
        values=draw(values_for(pipeline)),
    )


def values_for(pipeline: Pipeline) -> st.SearchStrategy[dict[str, Value]]:
    """The columns that have values, with an id where a source has one."""
    if not any(source.event_id for source in pipeline.sources):
        return values
    return st.builds(lambda of, ticket: {**of, "ticket": ticket}, values, st.sampled_from(TICKETS))


def numbered(events: list[Event]) -> list[Event]:
    return [Event(**{**vars(event), "id": number}) for number, event in enumerate(events)]
