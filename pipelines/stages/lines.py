"""What a stage did, in a line for people: what was read, dropped, written, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping


def line_of(stage: str, source: str | None, *, counts: Mapping[str, int], seconds: float) -> str:
    """`accumulate ewr: read 2,812 rows; 2,790 accepted, 22 quarantined; wrote 401 partial frames; 3.2 s`."""
    place = stage if source is None else f"{stage} {source}"
    return f"{place}: {'; '.join(_told(stage, counts))}; {seconds:.1f} s"


def _told(stage: str, counts: Mapping[str, int]) -> list[str]:
    match stage:
        case "accumulate":
            fates = [f"{counts['accepted']:,} accepted"]
            fates += [
                f"{counts[fate]:,} {fate}"
                for fate in ("late", "quarantined", "duplicates")
                if counts.get(fate)
            ]
            read = f"read {_many(counts['ingested'], 'row')}"
            return [read, ", ".join(fates), f"wrote {_partials(counts)}"]
        case "combine":
            sessions = f" and {_many(counts['sessions'], 'session')}" if "sessions" in counts else ""
            return [f"combined {_many(counts['frames'], 'frame')}{sessions}"]
        case "finalise":
            timings = [f"{rows:,} {timing}" for timing, rows in sorted(counts.items())]
            return [
                f"wrote {_many(sum(counts.values()), 'pane')}"
                + (f" ({', '.join(timings)})" if timings else "")
            ]
        case _:
            return [f"brought {_many(counts['windows'], 'window')} up to date"]


def _partials(counts: Mapping[str, int]) -> str:
    kinds = [what for what in ("frame", "session") if f"partial_{what}s" in counts]
    return " and ".join(_many(counts[f"partial_{what}s"], f"partial {what}") for what in kinds)


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
