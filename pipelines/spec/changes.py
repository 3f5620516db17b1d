"""What a changed spec asks of tables that an older one made, told from the two fingerprints of their state.

Windows over frames that are there can be added, and windows can be taken away. Whatever else frames cannot
serve has to be computed anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pipelines.spec.durations import show_duration

CORE, IDS, READ, PANES, LATE, GRID, OWN = "#core", "#ids.", "#read.", "#panes.", "#late.", "@", "own"
SUBSTREAM = "#substream."
LATENESS = "#lateness"
OF_ALL_PANES = "#panes"
"""Told of all windows at once in older fingerprints."""
ONCE_TOLD = "/"
"""Began what older fingerprints said of coarser frames."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """`problems` that the tables cannot serve, the names of `new_windows` that they can, and the lengths of
    their frames by grid, in microseconds, which stay. `reshaped` are those of the new windows whose name
    stood for another shape, now or once. `new_triggers`: news may wait under older ones. `read_otherwise`: by
    source what of its SQL reads rows otherwise now, which older frames know nothing of. `latenesses`: how
    late events could be, in microseconds, of windows whose late news may have waited for that long.
    """

    problems: tuple[str, ...] = ()
    new_windows: tuple[str, ...] = ()
    reshaped: tuple[str, ...] = ()
    frame_lengths: tuple[tuple[str, int], ...] = ()
    new_triggers: bool = False
    read_otherwise: tuple[tuple[str, str], ...] = ()
    latenesses: tuple[tuple[str, int], ...] = ()


def windows_of(fingerprint: str) -> frozenset[str]:
    """The names of the windows that a state fingerprint tells of."""
    return frozenset(_windows(_parsed(fingerprint)))


def sources_of(fingerprint: str) -> frozenset[str]:
    """The names of the sources that a state fingerprint tells of."""
    return _sources(_parsed(fingerprint))


def known_as(source: str, *, before: str, after: str) -> str | None:
    """The name under which a source's substreams were known by the one state fingerprint; `None` where they
    were told apart otherwise. It has another name where it alone is new and one alone is gone.
    """
    was, now = sources_of(before), sources_of(after)
    gone = was - now
    name = next(iter(gone)) if now - was == {source} and len(gone) == 1 else source
    told, told_now = _parsed(before).get(f"{SUBSTREAM}{name}"), _parsed(after).get(f"{SUBSTREAM}{source}")
    # Older fingerprints tell nothing of it.
    return name if told in (None, told_now) else None


def latenesses_of(fingerprint: str) -> dict[str, int]:
    """How late events may be, in microseconds, of the windows whose late news may wait."""
    told = _parsed(fingerprint).items()
    return {name.removeprefix(LATE): int(us) for name, us in told if name.startswith(LATE)}


def have_other_triggers(before: str, after: str) -> bool:
    """Whether panes of a window were told by other triggers under the one state fingerprint than under the
    other; of one that is new nothing can wait.
    """
    was, now = _parsed(before), _parsed(after)
    both = [name for name in was.keys() & now.keys() if name.startswith(PANES)]
    return OF_ALL_PANES in was or any(was[name] != now[name] for name in both)


def have_other_windows(before: str, after: str) -> bool:
    """Whether there are other windows under the one state fingerprint than under the other, or events of
    theirs may be late otherwise. The oldest fingerprints tell of none.
    """
    was, now = _parsed(before), _parsed(after)
    told = bool(_windows(was) and _windows(now))
    return told and (_windows(was) != _windows(now) or was.get(LATENESS) != now.get(LATENESS))


def without_reading(fingerprint: str) -> str:
    """A state fingerprint without what it tells of how rows are read, told apart and judged."""
    told = (READ, SUBSTREAM, LATENESS)
    return ";".join(entry for entry in fingerprint.split(";") if not entry.startswith(told))


def has_ids(fingerprint: str) -> bool:
    """Whether a source of the spec with that state fingerprint has an `event_id`."""
    return any(name.startswith(IDS) for name in _parsed(fingerprint))


def changes_between(before: str, after: str, *, known: Collection[str] = ()) -> Changes:
    """What changed between two state fingerprints.

    `known` are windows of fingerprints before: what was published of such a name may still stand.
    """
    was, now = _parsed(before), _parsed(after)
    if was.get(CORE) != now.get(CORE):
        return Changes(problems=("key or aggregates differ from those that its frames were made for",))
    problems = []
    for name in sorted(was.keys() & now.keys()):
        if name.startswith(IDS) and was[name] != now[name]:
            source = name.removeprefix(IDS)
            problems.append(f"event_id of source `{source}` is of other columns than those remembered")
    lengths = {name: int(us) for name, us in was.items() if name.startswith(GRID)}
    for name, us in now.items():
        if name.startswith(GRID) and name in lengths and int(us) % lengths[name]:
            kept, asked = show_duration(lengths[name]), show_duration(int(us))
            problems.append(f"frames are {kept} long, and the windows now need frames of {asked}")
    windows = _windows(now)
    new = [name for name, told in windows.items() if was.get(name) != told]
    reshaped = [name for name in new if name in was or name in known]
    for name in new:
        grid = windows[name].split(".")[0]
        if name in was and (was[name].split(".")[0] != grid or grid == OWN):
            problems.append(
                f"window `{name}` has another shape, which the frames that there are cannot serve"
            )
        elif f"{GRID}{grid}" not in lengths:
            problems.append(f"window `{name}` is new, and there are no frames that it could be made of")
    return Changes(
        problems=tuple(problems),
        new_windows=tuple(new),
        reshaped=tuple(reshaped),
        new_triggers=have_other_triggers(before, after),
        read_otherwise=tuple(_read_otherwise(was, now)),
        frame_lengths=tuple(sorted((name.removeprefix(GRID), us) for name, us in lengths.items())),
    )


def _read_otherwise(was: dict[str, str], now: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Of sources that are in both, of which older fingerprints tell nothing, and of such as may have had
    another name before, for some are gone: under a new one no id is remembered.
    """
    for name in sorted(was.keys() & now.keys()):
        if name.startswith(READ) and was[name] != now[name]:
            source, what = name.removeprefix(READ).split(".")
            yield source, what
    known, named = _sources(was), _sources(now)
    if known - named:
        known |= named
    for name in sorted(now.keys() - was.keys()):
        if name.startswith(IDS) and name.removeprefix(IDS) in known:
            yield name.removeprefix(IDS), "event_id"


def _windows(entries: dict[str, str]) -> dict[str, str]:
    return {name: told for name, told in entries.items() if not name.startswith(("#", GRID, ONCE_TOLD))}


def _sources(entries: dict[str, str]) -> frozenset[str]:
    return frozenset(name.removeprefix(READ).split(".")[0] for name in entries if name.startswith(READ))


def _parsed(fingerprint: str) -> dict[str, str]:
    """The entries of a fingerprint; one that is not of this kind is a core alone."""
    if "=" not in fingerprint:
        return {CORE: fingerprint}
    return dict(entry.split("=", 1) for entry in fingerprint.split(";"))
