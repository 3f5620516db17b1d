"""What a soak runs of the kinds of windows that the other histories have not: small pipelines of one source,
each of two kinds, whose batches run in order, and again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tests.crash.histories import SESSIONS, Retold
from tests.generators import SECOND
from tests.oracle import Event
from tests.oracle.publishing import Definition
from tests.walk.shaped import (
    LENGTHS,
    Shaped,
    at_most_three,
    ever,
    growing,
    none_to_two,
    own,
    session,
    shifted,
    sliding,
)

ONE_SOURCE = replace(SESSIONS, sources=SESSIONS.sources[:1])


def by_real(text: str, definition: Definition) -> Shaped:
    """The column of lengths goes by another name here."""
    return text.replace("length", "real"), definition


@dataclass(kw_only=True)
class Small(Retold):
    """One source, two windows. Numbers of events shift windows and say how long they are."""

    pipeline = ONE_SOURCE

    def _event(self, number: int) -> Event:
        event = super()._event(number)
        values = {**event.values, "number": number, "real": float(LENGTHS[number % len(LENGTHS)])}
        return replace(event, source=ONE_SOURCE.sources[0].name, values=values)


@dataclass(kw_only=True)
class Growing(Small):
    """Windows that share a start, and windows of a key that are shifted."""

    name = "growing"
    shapes: ClassVar[Mapping[str, Shaped]] = {
        "grown": growing(60, 20, early="each batch", lateness=40 * SECOND, mode="retracting"),
        "shifted": shifted(20, lateness=30 * SECOND, late=("rows", 2), mode="discarding"),
    }


@dataclass(kw_only=True)
class Lasting(Small):
    """All time, and windows as long as each event says."""

    name = "lasting"
    shapes: ClassVar[Mapping[str, Shaped]] = {
        "ever": ever(early=("rows", 3), mode="retracting"),
        "own": by_real(*own(early="each batch", lateness=20 * SECOND, mode="discarding")),
    }


@dataclass(kw_only=True)
class Custom(Small):
    """By a function that only assigns, and by one that merges."""

    name = "custom"
    shapes: ClassVar[Mapping[str, Shaped]] = {
        "assigned": none_to_two(lateness=30 * SECOND, mode="retracting"),
        "threes": at_most_three(early="each batch", lateness=20 * SECOND, mode="accumulating"),
    }


@dataclass(kw_only=True)
class Arriving(Small):
    """By when events arrive: nothing is late for them."""

    name = "arriving"
    shapes: ClassVar[Mapping[str, Shaped]] = {
        "came": sliding(40, 20, by="arrival", early="each batch", mode="discarding"),
        "visits": session(6, 15, by="arrival", early=("every", 20 * SECOND), mode="retracting"),
    }


SMALL: tuple[type[Small], ...] = (Growing, Lasting, Custom, Arriving)
