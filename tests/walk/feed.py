"""A case as files: its spec as YAML, its rows as Parquet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.intervals import show_instant
from tests.generators import condition_of, expression_of
from tests.oracle import Aggregate, Event, Pipeline, Source, Window

INSTANT = pa.timestamp("us", tz="UTC")
ROWS = pa.schema(
    {
        "id": pa.int64(),
        "key": pa.string(),
        "device": pa.string(),
        "ticket": pa.int64(),
        "number": pa.int64(),
        "money": pa.decimal128(10, 2),
        "real": pa.float64(),
        "wild": pa.float64(),
        "event_time": INSTANT,
        "arrival_time": INSTANT,
    }
)


def write_rows(folder: Path, source: str, events: Iterable[Event]) -> None:
    """The rows of one source as two files, in the order given, in the place of those before."""
    mine = [row_of(event) for event in events if event.source == source]
    (folder / source).mkdir(parents=True, exist_ok=True)
    for name, part in (("first", mine[::2]), ("second", mine[1::2])):
        pq.write_table(pa.Table.from_pylist(part, schema=ROWS), folder / source / f"{name}.parquet")


def row_of(event: Event) -> dict[str, object]:
    times = {"event_time": event.event_us, "arrival_time": event.arrival_us}
    return {"id": event.id, "key": event.key[0], "device": event.substream, **event.values, **times}


def spec_text(name: str, pipeline: Pipeline, *, devices: bool) -> str:
    """The spec that says in YAML what the described pipeline says to the oracle."""
    lines = [f"name: {name}", "source:", "  format: parquet", "  event_time: event_time"]
    lines += ["  arrival_time: arrival_time", *(["  substream: device"] if devices else [])]
    lines += ["sources:"]
    lines += [f"  {source.name}: {source_text(source)}" for source in pipeline.sources]
    lines += ["key: [key]", "aggregates:"]
    lines += [f"  {aggregate.name}: {aggregate_text(aggregate)}" for aggregate in pipeline.aggregates]
    lines += ["windows:", *[f"  {window.name}: {window_text(window)}" for window in pipeline.windows]]
    return "\n".join([*lines, ""])


def source_text(source: Source) -> str:
    entries = {"path": f"data/{source.name}", "max_disorder": micros(source.max_disorder)}
    if source.idle_after is not None:
        entries["idle_after"] = micros(source.idle_after)
    if source.max_ahead is not None:
        entries["max_ahead"] = micros(source.max_ahead)
    if source.event_id is not None:
        within = {} if source.within is None else {"within": micros(source.within)}
        entries["event_id"] = mapping({"of": f"[{source.event_id}]", **within})
    return mapping(entries)


def aggregate_text(aggregate: Aggregate) -> str:
    condition = condition_of(aggregate)
    options = {name: str(told) for name, told in aggregate.options.items()}
    entries = {aggregate.op: f'"{expression_of(aggregate)}"', **options}
    return mapping(entries if condition is None else {**entries, "where": f'"{condition}"'})


def window_text(window: Window) -> str:
    entries = {"sliding": micros(window.size), "step": micros(window.step)}
    if window.size == window.step:
        entries = {"tumbling": micros(window.size)}
    if window.begins is not None:
        entries["from"] = show_instant(window.begins)
    return mapping({**entries, "offset": micros(window.offset), "allowed_lateness": micros(window.lateness)})


def micros(duration: int) -> str:
    return f"{duration} microseconds"


def mapping(entries: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in entries.items()) + "}"
