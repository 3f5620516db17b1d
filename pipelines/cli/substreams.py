"""The watermarks of a pipeline's substreams after a batch, those that hold it back first."""

from __future__ import annotations

from pipelines.cli.again import place_of, spec_of
from pipelines.cli.arguments import Arguments
from pipelines.cli.written import Value, indented, instant, table
from pipelines.intervals import Interval
from pipelines.spec import Pipeline, show_duration
from pipelines.store.instants import in_microseconds
from pipelines.store.reader import read_table

SHOWN_SUBSTREAMS = 20
HEADERS = (
    "source",
    "substream",
    "watermark",
    "behind the batch",
    "newest_event_time",
    "newest_arrival_time",
    "is_idle",
)

Row = dict[str, Value]


def substreams(arguments: Arguments, pipeline: Pipeline, *, store: str, batch: Interval) -> str:
    """A table of the substreams, the furthest behind first, and the sources that have not been seen."""
    start, end = instant(batch.start_us), instant(batch.end_us)
    where = f"source IS NOT NULL AND batch_start = '{start}' AND batch_end = '{end}'"
    found: list[Row] = in_microseconds(
        read_table(store, pipeline.name, table="watermarks", where=where)
    ).to_pylist()
    found.sort(key=lambda row: (_us(row, "watermark") is not None, _us(row, "watermark") or 0))
    listed = [_line(row, batch) for row in found[:SHOWN_SUBSTREAMS]]
    page = f"Substreams, the furthest behind first\n{indented(table(HEADERS, listed))}"
    if len(found) > len(listed):
        page += (
            f"\n  and {len(found) - len(listed):,} more: `sash show {spec_of(arguments)} watermarks --where "
            f'"{where}" --limit {len(found)}{place_of(arguments)}` has all'
        )
    seen = {row["source"] for row in found}
    unseen = [source.name for source in pipeline.sources if source.name not in seen]
    if unseen:
        page += f"\n  not seen yet: {', '.join(unseen)}"
    return page


def _line(row: Row, batch: Interval) -> list[Value]:
    watermark_us = _us(row, "watermark")
    behind = "null" if watermark_us is None else show_duration(max(0, batch.end_us - watermark_us))
    times = [instant(_us(row, name)) for name in ("newest_event_time", "newest_arrival_time")]
    return [row["source"], row["substream"], instant(watermark_us), behind, *times, row["is_idle"]]


def _us(row: Row, name: str) -> int | None:
    value = row[name]
    return value if isinstance(value, int) else None
