"""The `windows` and `panes` sections: which windows there are, and when they publish."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, cast

from pipelines.intervals import LATEST_US
from pipelines.spec.durations import ISO, OF_MONTHS, parse_duration, show_duration
from pipelines.spec.fields import Fields, Problems
from pipelines.spec.model import (
    Cumulate,
    Custom,
    EachBatch,
    Every,
    Global,
    Mode,
    Panes,
    PerElement,
    Rows,
    Session,
    Shape,
    Sliding,
    Trigger,
    Unaligned,
    Window,
)
from pipelines.spec.modules import parse_attribute
from pipelines.spec.yaml import Located

MODES = ("accumulating", "discarding", "retracting")
MOST_ROWS = 2**63 - 1
COLUMN = re.compile(r"[^\W\d][\w-]*")
"""What is no duration, and a column that has one."""
TRIGGERS = "each batch | {every: <duration>} | {rows: <number>}"


def read_windows(
    document: Fields, common: Panes, *, lateness_us: int, problems: Problems
) -> tuple[Window, ...]:
    """The window definitions in the order of the spec."""
    section = document.within("windows")
    document.refuse_empty("windows", "allowed is a mapping of names to windows like `{tumbling: 1 hour}`")
    found = []
    for name, located in section.items.items():
        section.take(name)
        fields = Fields(located, f"windows.{name}", problems=problems)
        before = len(problems)
        shape = _shape(fields)
        from_us = _from_us(fields, shape)
        own_us = fields.duration("allowed_lateness")
        panes = read_panes(fields.within("panes"), common)
        time = fields.choice("time", ("event", "arrival")) or "event"
        is_understood = len(problems) == before
        fields.close()
        if shape is not None and is_understood:
            window = Window(
                name=name,
                shape=shape,
                from_us=from_us,
                allowed_lateness_us=lateness_us if own_us is None else own_us,
                panes=panes,
                time=cast(Literal["event", "arrival"], time),
            )
            found.append(window)
    return tuple(found)


def read_panes(fields: Fields, common: Panes) -> Panes:
    """A `panes` section; what it does not say is as in the common one."""
    early, late = fields.take("early"), fields.take("late")
    mode = fields.choice("mode", MODES)
    fields.close()
    if early is None:
        first = common.early
    elif early.value == "none":
        first = None
    else:
        first = _trigger(fields, early, name="early")
    again = _trigger(fields, late, name="late") if late is not None else None
    return Panes(early=first, late=again or common.late, mode=cast(Mode, mode or common.mode))


def _trigger(fields: Fields, located: Located, *, name: str) -> Trigger | None:
    if located.value == "each batch":
        return EachBatch()
    if isinstance(located.value, Mapping) and len(located.value) == 1:
        inner = Fields(located, f"{fields.where}.{name}", problems=fields.problems)
        if inner.take("every") is not None:
            every_us = inner.duration("every")
            # No time has to pass for a batch that has news.
            return None if every_us is None else Every(every_us=every_us) if every_us else EachBatch()
        if inner.take("rows") is not None:
            rows = inner.read("rows", _positive_number)
            return Rows(rows=rows) if rows else None
    none = "none | " if name == "early" else ""
    fields.refuse(located, f"found `{located.plain()}`; allowed is {none}{TRIGGERS}", name=name)
    return None


def _shape(fields: Fields) -> Shape | None:
    kinds = [kind for kind in _SHAPES if kind in fields]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none"
        fields.refuse(None, f"found {found}; allowed is one of {', '.join(_SHAPES)}")
        for kind in _SHAPES:
            fields.take(kind)
        return None
    if fields.take(kinds[0]) is None:
        return _refused(fields, kinds[0], text=f"found nothing; allowed is {_ALLOWED[kinds[0]]}")
    return _SHAPES[kinds[0]](fields)


def _from_us(fields: Fields, shape: Shape | None) -> int | None:
    """Where the first window starts, of shapes whose starts are the same for all events."""
    from_us = fields.instant("from")
    if from_us is None or shape is None:
        return None
    if isinstance(shape, Sliding | Cumulate):
        apart_us = shape.step_us if isinstance(shape, Sliding) else shape.size_us
        first_us = from_us + (shape.offset_us - from_us) % apart_us
        if first_us > LATEST_US:
            told = "found it after the start of the last window before the year 10000; take an earlier one"
            fields.refuse(fields.items.get("from"), told, name="from")
            return None
        return first_us
    told = "found it on windows that do not start at the same instants for all keys and events"
    fields.refuse(fields.items.get("from"), f"{told}; allowed is it on aligned ones", name="from")
    return None


def _global(fields: Fields) -> Shape | None:
    if fields.flag("global"):
        return Global()
    # What is no flag at all is refused already.
    if fields.items["global"].value is False:
        return _refused(fields, "global", text="found false; allowed is true")
    return None


def _custom(fields: Fields) -> Shape | None:
    attribute = fields.read("custom", parse_attribute)
    return Custom(attribute=attribute) if attribute else None


def _tumbling(fields: Fields) -> Shape | None:
    size = fields.take("tumbling")
    offset_us = fields.read("offset", parse_duration) or 0
    shift = fields.take("unaligned")
    if shift is not None and shift.value is not False:
        if "offset" in fields:
            return _refused(
                fields, "offset", text="found it beside `unaligned`, which shifts each key; keep one"
            )
        size_us = fields.duration("tumbling", positive=True)
        expression = None if shift.value is True else fields.sql("unaligned")
        return Unaligned(size_us=size_us, shift=expression) if size_us else None
    if (
        size is not None
        and isinstance(size.value, str)
        and COLUMN.fullmatch(size.value)
        and not ISO.fullmatch(size.value)
        and not OF_MONTHS.fullmatch(size.value)
    ):
        return PerElement(column=size.value, offset_us=offset_us)
    size_us = fields.duration("tumbling", positive=True)
    return Sliding(size_us=size_us, step_us=size_us, offset_us=offset_us) if size_us else None


def _stepping(fields: Fields, *, kind: str) -> Shape | None:
    size_us, step_us = fields.duration(kind, positive=True), fields.duration("step", positive=True)
    offset_us = fields.read("offset", parse_duration) or 0
    if fields.take("step") is None:
        return _refused(fields, "", text=f"`step` is missing; {kind} needs one")
    if not size_us or not step_us:
        return None
    if kind == "sliding":
        return Sliding(size_us=size_us, step_us=step_us, offset_us=offset_us)
    if size_us % step_us:
        sizes = f"found size {show_duration(size_us)} and step {show_duration(step_us)}"
        return _refused(fields, "step", text=f"{sizes}; allowed is a size that is a multiple of the step")
    return Cumulate(size_us=size_us, step_us=step_us, offset_us=offset_us)


def _session(fields: Fields) -> Shape | None:
    gap_us = fields.duration("session", positive=True)
    touching = fields.choice("touching", ("merge", "split")) or "merge"
    max_us = fields.duration("max", positive=True)
    if gap_us and max_us and max_us <= gap_us:
        found = f"found {show_duration(max_us)}; allowed is more than the gap, {show_duration(gap_us)}"
        return _refused(fields, "max", text=found)
    if not gap_us:
        return None
    return Session(gap_us=gap_us, touching=cast(Literal["merge", "split"], touching), max_us=max_us)


def _refused(fields: Fields, name: str, *, text: str) -> Shape | None:
    fields.refuse(fields.items.get(name), text, name=name)
    return None


def _positive_number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_ROWS:
        return value
    raise ValueError(f"found `{value}`; allowed is a whole number from 1 to {MOST_ROWS}")


_ALLOWED = {
    "tumbling": "a length like `1 hour`, or a column that has the length",
    "sliding": "a length like `2 hours`",
    "cumulate": "a length like `1 day`",
    "session": "a gap like `10 minutes`",
    "global": "true",
    "custom": "`module:attribute`",
}
_SHAPES: dict[str, Callable[[Fields], Shape | None]] = {
    "tumbling": _tumbling,
    "sliding": partial(_stepping, kind="sliding"),
    "cumulate": partial(_stepping, kind="cumulate"),
    "session": _session,
    "global": _global,
    "custom": _custom,
}
