"""What a stage did, in a line for people: what was read, dropped, written, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping

Counts = Mapping[str, int]


def line_of(
    stage: str, source: str | None, *, counts: Counts, seconds: float, handed_on: Counts | None = None
) -> str:
    """`accumulate ewr: read 2,812 rows; 2,790 accepted, 22 quarantined; wrote 401 partial frames; 3.2 s`.

    `handed_on` is what the stage before wrote, where that is known.
    """
    place = stage if source is None else f"{stage} {source}"
    told = [*_taken(stage, handed_on or {}), *_told(stage, counts)]
    return f"{place}: {'; '.join(told)}; {seconds:.1f} s"


def _taken(stage: str, handed_on: Counts) -> list[str]:
    match stage:
        case "combine" if partials := _these(handed_on, "partial frame", "partial session"):
            return [f"read {partials}"]
        case "finalise" if states := _these(handed_on, "frame", "session"):
            return [f"took up {states}"]
        case "publish" if handed_on:
            return [f"read {many(sum(handed_on.values()), 'pane')}"]
        case _:
            return []


def _told(stage: str, counts: Counts) -> list[str]:
    match stage:
        case "accumulate":
            fates = [f"{counts['accepted']:,} accepted"]
            fates += [
                f"{counts[fate]:,} {fate}"
                for fate in ("late", "quarantined", "duplicates")
                if counts.get(fate)
            ]
            read = f"read {many(counts['ingested'], 'row')}"
            return [read, ", ".join(fates), f"wrote {_these(counts, 'partial frame', 'partial session')}"]
        case "combine":
            return [f"wrote {_these(counts, 'frame', 'session')}"]
        case "finalise":
            timings = [f"{rows:,} {timing}" for timing, rows in sorted(counts.items())]
            return [
                f"wrote {many(sum(counts.values()), 'pane')}"
                + (f" ({', '.join(timings)})" if timings else "")
            ]
        case _:
            return [f"brought {many(counts['windows'], 'window')} up to date"]


def _these(counts: Counts, *kinds: str) -> str:
    """How many of each kind, of those that are counted."""
    found = {what: counts.get(f"{what}s".replace(" ", "_")) for what in kinds}
    return " and ".join(many(number, what) for what, number in found.items() if number is not None)


def many(number: int, what: str) -> str:
    """`1 row`, `2,812 rows`, `2 batches`."""
    plural = f"{what}es" if what.endswith("ch") else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}"
