"""Windows of every shape, each as a spec writes it and as the oracle's plain loops have it.

All take the rules of a definition: lateness, early and late panes, the mode, and `by="arrival"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pipelines.intervals import EARLIEST_US, LATEST_US
from tests.oracle.publishing import Definition
from tests.oracle.shapes import Bounds, counted_sessions, cumulated, sessions, slid, tumbled

SECOND = 1_000_000
LENGTHS = (10, 27, 44)
"""Of an event's own window, by the remainder of its number; the column `length` says so too."""

Shaped = tuple[str, Definition]


def tumbling(size: int, **rules: object) -> Shaped:
    return shaped(f"tumbling: {size} s", windows_of=lambda it: tumbled(it.event_us, size * SECOND), **rules)


def sliding(size: int, step: int, **rules: object) -> Shaped:
    return shaped(
        f"sliding: {size} s, step: {step} s",
        windows_of=lambda it: slid(it.event_us, size * SECOND, step * SECOND),
        **rules,
    )


def growing(size: int, step: int, **rules: object) -> Shaped:
    return shaped(
        f"cumulate: {size} s, step: {step} s",
        windows_of=lambda it: cumulated(it.event_us, size * SECOND, step * SECOND),
        **rules,
    )


def shifted(size: int, **rules: object) -> Shaped:
    """Shifted by some seconds, which the number of the event tells."""
    return shaped(
        f"tumbling: {size} s, unaligned: number % 7",
        windows_of=lambda it: tumbled(it.event_us, size * SECOND, it.number % 7 * SECOND),
        **rules,
    )


def own(**rules: object) -> Shaped:
    """As long as each event says."""
    return shaped(
        "tumbling: length",
        windows_of=lambda it: tumbled(it.event_us, LENGTHS[it.number % 3] * SECOND),
        **rules,
    )


def none_to_two(**rules: object) -> Shaped:
    """A function that only assigns: no window, one or two, of 40 and 60 seconds, begun every 20."""
    starts = partial(tumbled, size=20 * SECOND)
    return shaped(
        'custom: "tests.windows.bursts:NONE_TO_TWO"',
        windows_of=lambda it: [
            (start, start + (2 + longer) * 20 * SECOND)
            for start, _ in starts(it.event_us)
            for longer in range(it.number % 3)
        ],
        **rules,
    )


def ever(**rules: object) -> Shaped:
    return shaped("global: true", windows_of=lambda _: [(EARLIEST_US, LATEST_US)], **rules)


def session(gap: int, longest: int | None = None, *, touching: str = "merge", **rules: object) -> Shaped:
    bound = f", max: {longest} s" if longest else ""
    of = partial(sessions, gap=gap * SECOND, splits=touching == "split", longest=longest and longest * SECOND)
    return shaped(
        f"session: {gap} s{bound}, touching: {touching}",
        sessions_of=of,
        gap=gap * SECOND,
        touching=touching,
        **rules,
    )


def at_most_three(**rules: object) -> Shaped:
    return _at_most("AT_MOST_THREE", gap=10 * SECOND, most=3, **rules)


def pairs(**rules: object) -> Shaped:
    return _at_most("PAIRS", gap=8 * SECOND, most=2, **rules)


def sparse(**rules: object) -> Shaped:
    """One session of a run of four instants at most; of more each alone."""

    def of(instants: Sequence[int]) -> list[Bounds]:
        found: list[Bounds] = []
        for run in sessions(instants, gap=10 * SECOND):
            alone = [(it, it + 10 * SECOND) for it in sorted(set(instants)) if run[0] <= it < run[1]]
            found += alone if len(alone) > 4 else [run]
        return found

    text = 'custom: "tests.windows.bursts:SPARSE"'
    return shaped(text, sessions_of=of, gap=10 * SECOND, touching="merge", **rules)


def bounded_by_hand(**rules: object) -> Shaped:
    """What `session(10, 25)` is, by a function."""
    _, definition = session(10, 25, **rules)
    return f'custom: "tests.windows.bursts:BOUNDED", {_time(definition)}', definition


def _at_most(name: str, *, gap: int, most: int, **rules: object) -> Shaped:
    of = partial(counted_sessions, gap=gap, most=most)
    return shaped(
        f'custom: "tests.windows.bursts:{name}"', sessions_of=of, gap=gap, touching="merge", **rules
    )


def shaped(text: str, *, by: str = "event", **definition: object) -> Shaped:
    """A shape as a spec writes it, and its definition, which gets its name later."""
    told = Definition(name="", by_arrival=by == "arrival", **definition)
    return f"{text}, {_time(told)}", told


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


def _time(definition: Definition) -> str:
    return f"time: {'arrival' if definition.by_arrival else 'event'}"
