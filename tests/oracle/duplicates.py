"""Events whose id came before, in the same source, in the same batch or an earlier one."""

from __future__ import annotations

from collections.abc import Iterable

from tests.oracle.model import Event, Pipeline, Value
from tests.oracle.watermarks import source_named

Known = dict[tuple[str, Value], int]
"""By source and id the arrival that counted last."""


def repeated(events: Iterable[Event], pipeline: Pipeline, known: Known) -> set[int]:
    """The numbers of those that repeat an id. Of one id the earliest arrival counts, then the earliest event
    time, then the smallest row; what comes more than `within` after it counts again.
    """
    last, repeats = dict(known), set()
    for event in sorted(events, key=lambda it: (it.arrives_us, it.event_us, it.id)):
        place, within = named(event, pipeline), source_named(pipeline, event.source).within
        if place is None:
            continue
        if place in last and (within is None or event.arrives_us - last[place] <= within):
            repeats.add(event.id)
        else:
            last[place] = event.arrives_us
    return repeats


def counted(events: Iterable[Event], pipeline: Pipeline) -> Known:
    """What is known of ids after these events, which all counted."""
    known: Known = {}
    for event in events:
        place = named(event, pipeline)
        if place is not None:
            known[place] = max(event.arrives_us, known.get(place, event.arrives_us))
    return known


def named(event: Event, pipeline: Pipeline) -> tuple[str, Value] | None:
    """The source and the id of an event; half an id is none."""
    column = source_named(pipeline, event.source).event_id
    value = None if column is None else event.values.get(column)
    return None if value is None else (event.source, value)
