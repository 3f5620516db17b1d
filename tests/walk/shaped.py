"""Windows of every shape, each as a spec writes it and as the oracle's plain loops have it."""

from __future__ import annotations

from functools import partial

from pipelines.intervals import EARLIEST_US, LATEST_US
from tests.oracle.publishing import Definition
from tests.oracle.shapes import counted_sessions, cumulated, sessions, slid, tumbled

SECOND = 1_000_000
LENGTHS = (10, 27, 44)
"""Of an event's own window, by the remainder of its number; the column `length` says so too."""

Shaped = tuple[str, Definition]


def tumbling(size: int, *, by: str = "event", **rules: object) -> Shaped:
    definition = Definition(
        name="",
        windows_of=lambda it: tumbled(it.event_us, size * SECOND),
        by_arrival=by == "arrival",
        **rules,
    )
    return f"tumbling: {size} s, time: {by}", definition


def sliding(size: int, step: int, **rules: object) -> Shaped:
    definition = Definition(
        name="", windows_of=lambda it: slid(it.event_us, size * SECOND, step * SECOND), **rules
    )
    return f"sliding: {size} s, step: {step} s", definition


def growing(size: int, step: int, **rules: object) -> Shaped:
    definition = Definition(
        name="", windows_of=lambda it: cumulated(it.event_us, size * SECOND, step * SECOND), **rules
    )
    return f"cumulate: {size} s, step: {step} s", definition


def shifted(size: int, **rules: object) -> Shaped:
    """Shifted by some seconds, which the number of the event tells."""
    definition = Definition(
        name="", windows_of=lambda it: tumbled(it.event_us, size * SECOND, it.number % 7 * SECOND), **rules
    )
    return f"tumbling: {size} s, unaligned: number % 7", definition


def own(**rules: object) -> Shaped:
    """As long as each event says."""
    definition = Definition(
        name="", windows_of=lambda it: tumbled(it.event_us, LENGTHS[it.number % 3] * SECOND), **rules
    )
    return "tumbling: length", definition


def none_to_two(**rules: object) -> Shaped:
    """A function that only assigns: no window, one or two, of 40 and 60 seconds, begun every 20."""
    starts = partial(tumbled, size=20 * SECOND)
    definition = Definition(
        name="",
        windows_of=lambda it: [
            (start, start + (2 + longer) * 20 * SECOND)
            for start, _ in starts(it.event_us)
            for longer in range(it.number % 3)
        ],
        **rules,
    )
    return 'custom: "tests.windows.bursts:NONE_TO_TWO"', definition


def ever(**rules: object) -> Shaped:
    return "global: true", Definition(name="", windows_of=lambda _: [(EARLIEST_US, LATEST_US)], **rules)


def session(gap: int, longest: int | None = None, *, by: str = "event", **rules: object) -> Shaped:
    of = partial(sessions, gap=gap * SECOND, longest=longest and longest * SECOND)
    bound = f", max: {longest} s" if longest else ""
    rules = {"gap": gap * SECOND, "touching": "merge", "by_arrival": by == "arrival", **rules}
    return f"session: {gap} s{bound}, time: {by}", Definition(name="", sessions_of=of, **rules)


def at_most_three(**rules: object) -> Shaped:
    return _at_most("AT_MOST_THREE", gap=10 * SECOND, most=3, **rules)


def pairs(**rules: object) -> Shaped:
    return _at_most("PAIRS", gap=8 * SECOND, most=2, **rules)


def _at_most(name: str, *, gap: int, most: int, **rules: object) -> Shaped:
    of = partial(counted_sessions, gap=gap, most=most)
    rules = {"gap": gap, "touching": "merge", **rules}
    return f'custom: "tests.windows.bursts:{name}"', Definition(name="", sessions_of=of, **rules)


def written(name: str, shape: str, definition: Definition) -> str:
    """The line of a spec that defines the window."""

    def trigger(it: object) -> str:
        if not isinstance(it, tuple):
            return str(it)
        return f"{{rows: {it[1]}}}" if it[0] == "rows" else f"{{every: {it[1] // SECOND} s}}"

    early, late = trigger(definition.early), trigger(definition.late)
    lateness = f"allowed_lateness: {definition.lateness // SECOND} s"
    panes = f"panes: {{early: {early}, late: {late}, mode: {definition.mode}}}"
    return f"  {name}: {{{shape}, {lateness}, {panes}}}\n"
