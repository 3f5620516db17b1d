"""What `sash status` tells of substreams, and where it says that the others are."""

from __future__ import annotations

import shlex

import pyarrow as pa
from deltalake import write_deltalake

from pipelines.spec import state_fingerprint
from pipelines.store.reader import table_path
from tests.cli.conftest import Place, day

INSTANT = pa.timestamp("us", tz="UTC")


def write_watermarks(place: Place, substreams: list[str]) -> None:
    """Those of two batches, the second of which ends with the day."""
    rows = [(name, number) for number in (1, 2) for name in substreams]
    starts, ends = ([day(number + it) for _, number in rows] for it in (0, 1))
    times = {
        name: pa.array(starts, INSTANT) for name in ("newest_event_time", "newest_arrival_time", "watermark")
    }
    bounds = {"batch_start": pa.array(starts, INSTANT), "batch_end": pa.array(ends, INSTANT)}
    names = {"source": ["main"] * len(rows), "substream": [name for name, _ in rows]}
    table = pa.table({**names, **times, "is_idle": [False] * len(rows), **bounds})
    write_deltalake(table_path(place.store, "rides", table="watermarks"), table)


def test_what_shows_the_others_can_be_copied(place: Place):
    for number in (1, 2):
        fingerprint = state_fingerprint(place.pipeline)
        place.write_run(day(number), day(number + 1), "published", fingerprint=fingerprint)
    write_watermarks(place, [f"bus {number}" for number in range(23)])
    page = place.sash("status").out
    line = next(it for it in page.splitlines() if "more: `" in it)
    assert line.startswith("  and 3 more: `sash show ") and line.endswith("` has all")
    _, command, spec, *words = shlex.split(line.split("`")[1])
    assert (command, spec) == ("show", str(place.spec))
    shown = place.sash("show", *words, "--format", "csv")
    assert (shown.code, shown.err) == (0, "")
    assert len(shown.out.splitlines()) == 24
