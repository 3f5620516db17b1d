"""A folder with events and a spec of several windows, run batch by batch by the walk and by plain loops."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from pipelines.intervals import LATEST_US, Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.oracle.adding_up import added_up
from tests.oracle.publishing import Definition, Event, Loss, Publisher, Row
from tests.walk.published import in_microseconds, rows_of
from tests.walk.shaped import LENGTHS, SECOND, Shaped, written

LENGTH = 60 * SECOND
"""Of a batch."""
SPEC = """
name: story
source: {format: parquet, path: data, event_time: event_time, arrival_time: arrival_time}
key: [user]
aggregates: {total: {sum: number}}
time: {max_disorder: 20 s}
windows:
"""
ROWS = pa.schema(
    {
        "user": pa.string(),
        "number": pa.int64(),
        "length": pa.int64(),
        "event_time": pa.timestamp("us", tz="UTC"),
        "arrival_time": pa.timestamp("us", tz="UTC"),
    }
)
Windows = dict[tuple[str, str, int, int], tuple[int, int]]


def by_chance(seed: int, count: int) -> list[Event]:
    """Events on whole seconds, most of them near the end of what has arrived, some long before."""
    chosen = random.Random(seed)
    events = []
    for number in range(1, count + 1):
        arrival = chosen.randrange(0, 5 * LENGTH // SECOND)
        away = chosen.choice([0, 3, 10, 15, 25, 40, 90])
        user = chosen.choice(["ann", "ann", "bob"])
        events.append(Event(number, user, (arrival - away) * SECOND, arrival * SECOND))
    return events


def write_events(folder: Path, events: list[Event]) -> None:
    """Let these be the rows of the input."""
    rows = [
        {
            "user": it.key,
            "number": it.number,
            "length": LENGTHS[it.number % 3],
            "event_time": it.event_us,
            "arrival_time": it.arrival_us,
        }
        for it in events
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=ROWS), folder / "rows.parquet")


class Story:
    """What the walk tells of the events, and what it should."""

    def __init__(
        self, spark: SparkSession, folder: Path, events: list[Event], told: dict[str, Shaped]
    ) -> None:
        self.events, self.store = events, folder / "store" / "story"
        for name in ("data", "dags"):
            (folder / name).mkdir()
        windows = "".join(written(name, *it) for name, it in told.items())
        (folder / "dags" / "story.yml").write_text(SPEC + windows)
        write_events(folder / "data", events)
        self.site = Site(spark, str(folder / "store"), load(folder / "dags" / "story.yml"))
        self.publishers = [
            Publisher(Definition(**{**vars(it), "name": name}), user)
            for name, (_, it) in told.items()
            for user in sorted({event.key for event in events})
        ]
        self.watermark: int | None = None

    def run(self, batch: Interval, *, final: bool = False, revision: int = 0) -> tuple[list[Row], list[Row]]:
        """What the walk publishes in a batch, and what it should."""
        list(run_batch(self.site, Request(batch=batch, final=final)))
        mine = [it for it in self.events if batch.start_us <= it.arrival_us < batch.end_us]
        before = self.watermark
        reached = [it.event_us - 20 * SECOND for it in mine] + ([] if before is None else [before])
        self.watermark = LATEST_US if final else max(reached, default=None)
        wanted = [
            row
            for publisher in self.publishers
            for row in publisher.run(
                [it for it in mine if it.key == publisher.key],
                end=batch.end_us,
                before=before,
                after=self.watermark,
            )
        ]
        found = [
            _row(it)
            for it in rows_of(self.store / "panes")
            if it["batch_end"] == batch.end_us and it["revision"] == revision
        ]
        return sorted(found, key=str), sorted(wanted, key=str)

    def windows(self) -> Windows:
        """What stands in the walk."""
        return {
            (it["window"], it["user"], it["start"], it["end"]): (it["total"], it["event_count"])
            for it in rows_of(self.store / "windows")
        }

    def wanted_windows(self) -> Windows:
        """What should stand."""
        return {place: it for publisher in self.publishers for place, it in publisher.standing().items()}

    def added_up(self) -> Windows:
        """What the walk's own panes give."""
        panes = sorted(
            rows_of(self.store / "panes"),
            key=lambda it: (it["batch_end"], it["revision"], it["kind"] == "insert"),
        )
        return self.adding_up([_row(it) for it in panes])

    def adding_up(self, panes: Sequence[Row]) -> Windows:
        """What these panes give, in their order."""
        stands: Windows = {}
        for definition, key in [(it.definition, it.key) for it in self.publishers]:
            mine = [it for it in panes if (it.window, it.key) == (definition.name, key)]
            of_mine = added_up(mine, definition.mode)
            stands |= {(definition.name, key, *bounds): it for bounds, it in of_mine.items()}
        return stands

    def panes(self) -> list[Row]:
        """All that the walk has ever published."""
        return [_row(it) for it in rows_of(self.store / "panes")]

    def losses(self) -> list[Loss]:
        """What the walk keeps of events that were dropped from windows."""
        rows = in_microseconds(self.store / "late_events")
        return sorted(Loss(**{name: it[name] for name in Loss._fields}) for it in rows)

    def wanted_losses(self) -> list[Loss]:
        """What it should keep."""
        return sorted(it for publisher in self.publishers for it in publisher.losses)


def _row(told: dict) -> Row:
    names = [name for name in Row._fields if name not in ("key", "start", "end")]
    return Row(key=told["user"], start=told["start"], end=told["end"], **{name: told[name] for name in names})
