"""Early and late panes in every mode, over Delta, batch after batch, equal the oracle's plain loops."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.oracle.publishing import Definition, Event, Publisher, Row
from tests.oracle.shapes import counted_sessions, sessions, slid, tumbled
from tests.walk.published import rows_of

SECOND = 1_000_000
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
        "event_time": pa.timestamp("us", tz="UTC"),
        "arrival_time": pa.timestamp("us", tz="UTC"),
    }
)


def tumbling(size: int, **rules: object) -> tuple[str, Definition]:
    definition = Definition(name="", windows_of=lambda at: tumbled(at, size * SECOND), **rules)
    return f"tumbling: {size} s", definition


def sliding(size: int, step: int, **rules: object) -> tuple[str, Definition]:
    definition = Definition(name="", windows_of=lambda at: slid(at, size * SECOND, step * SECOND), **rules)
    return f"sliding: {size} s, step: {step} s", definition


def ever(**rules: object) -> tuple[str, Definition]:
    return "global: true", Definition(name="", windows_of=lambda _: [(EARLIEST_US, LATEST_US)], **rules)


def session(gap: int, longest: int | None = None, **rules: object) -> tuple[str, Definition]:
    of = partial(sessions, gap=gap * SECOND, longest=longest and longest * SECOND)
    bound = f", max: {longest} s" if longest else ""
    rules = {"gap": gap * SECOND, "touching": "merge", **rules}
    return f"session: {gap} s{bound}", Definition(name="", sessions_of=of, **rules)


def at_most_three(**rules: object) -> tuple[str, Definition]:
    of = partial(counted_sessions, gap=10 * SECOND, most=3)
    rules = {"gap": 10 * SECOND, "touching": "merge", **rules}
    return 'custom: "tests.windows.bursts:AT_MOST_THREE"', Definition(name="", sessions_of=of, **rules)


EARLY = {"early": "each batch", "lateness": 90 * SECOND}
CHOSEN = {
    "whole": tumbling(30, **EARLY),
    "news": sliding(50, 20, **EARLY, mode="discarding"),
    "three": tumbling(100, early=("rows", 3), late=("rows", 2), lateness=100 * SECOND, mode="retracting"),
    "timed": session(25, early=("every", 100 * SECOND), late=("every", 100 * SECOND), lateness=90 * SECOND),
    "visits": session(15, **EARLY, mode="discarding"),
}
OTHERS = {
    "undone": tumbling(30, **EARLY, mode="retracting"),
    "timed": tumbling(200, early=("every", 100 * SECOND), late=("every", 70 * SECOND), lateness=90 * SECOND),
    "slow": sliding(90, 30, late=("rows", 4), lateness=130 * SECOND, mode="discarding"),
    "ever": ever(early="each batch", mode="discarding"),
    "visits": session(15, **EARLY, mode="retracting"),
    "bursts": session(15, 40, **EARLY),
    "counted": session(20, early=("rows", 3), late=("rows", 2), lateness=90 * SECOND, mode="discarding"),
    "threes": at_most_three(**EARLY, mode="retracting"),
}


def written(name: str, shape: str, definition: Definition) -> str:
    def trigger(it: object) -> str:
        if not isinstance(it, tuple):
            return str(it)
        return f"{{rows: {it[1]}}}" if it[0] == "rows" else f"{{every: {it[1] // SECOND} s}}"

    early, late = trigger(definition.early), trigger(definition.late)
    lateness = f"allowed_lateness: {definition.lateness // SECOND} s"
    panes = f"panes: {{early: {early}, late: {late}, mode: {definition.mode}}}"
    return f"  {name}: {{{shape}, {lateness}, {panes}}}\n"


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


class Story:
    """A folder with events and a spec, run batch by batch here and by the oracle."""

    def __init__(
        self, spark: SparkSession, folder: Path, events: list[Event], told: dict[str, tuple[str, Definition]]
    ) -> None:
        self.events, self.store = events, folder / "store" / "story"
        for name in ("data", "dags"):
            (folder / name).mkdir()
        windows = "".join(written(name, *it) for name, it in told.items())
        (folder / "dags" / "story.yml").write_text(SPEC + windows)
        rows = [
            {"user": it.key, "number": it.number, "event_time": it.event_us, "arrival_time": it.arrival_us}
            for it in events
        ]
        pq.write_table(pa.Table.from_pylist(rows, schema=ROWS), folder / "data" / "rows.parquet")
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
        return sorted(self._published(batch, revision=revision), key=str), sorted(wanted, key=str)

    def _published(self, batch: Interval, *, revision: int) -> list[Row]:
        rows = rows_of(self.store / "panes")
        names = [name for name in Row._fields if name not in ("key", "start", "end")]
        return [
            Row(key=it["user"], start=it["start"], end=it["end"], **{name: it[name] for name in names})
            for it in rows
            if it["batch_end"] == batch.end_us and it["revision"] == revision and not it["restated"]
        ]

    def windows(self) -> dict[tuple[str, str, int, int], tuple[int, int]]:
        return {
            (it["window"], it["user"], it["start"], it["end"]): (it["total"], it["event_count"])
            for it in rows_of(self.store / "windows")
        }

    def wanted_windows(self) -> dict[tuple[str, str, int, int], tuple[int, int]]:
        return {place: it for publisher in self.publishers for place, it in publisher.standing().items()}


FEW = {name: CHOSEN[name] for name in ("news", "timed")}
CUT = {
    "counted": session(15, 40, early=("rows", 4), late=("rows", 3), lateness=90 * SECOND),
    "timed": session(
        15, 40, early=("every", 100 * SECOND), late=("every", 70 * SECOND), lateness=90 * SECOND
    ),
}
"""An early event may cut a published one into several, of which one is published before the others."""


@pytest.mark.parametrize(
    ("told", "seed"),
    [
        pytest.param(FEW, 4, id="few"),
        pytest.param(CHOSEN, 1, id="chosen", marks=pytest.mark.slow),
        pytest.param(CHOSEN, 2, id="chosen again", marks=pytest.mark.slow),
        pytest.param(OTHERS, 3, id="others", marks=pytest.mark.slow),
        *[pytest.param(CUT, seed, id=f"cut anew {seed}", marks=pytest.mark.slow) for seed in (5, 19, 29)],
    ],
)
def test_panes_are_those_of_the_plain_loops(
    spark: SparkSession, tmp_path: Path, told: dict[str, tuple[str, Definition]], seed: int
) -> None:
    story = Story(spark, tmp_path, by_chance(seed, 70), told)
    batches = 2 if told is FEW else 5
    for start in range(0, batches * LENGTH, LENGTH):
        batch = Interval(start, start + LENGTH)
        found, wanted = story.run(batch)
        assert found == wanted, batch
    # Nothing arrives any more, but timers go on, and all that waits is published at closing.
    for start, final in ((5 * LENGTH, False), (6 * LENGTH, True))[told is FEW :]:
        found, wanted = story.run(Interval(start, start + LENGTH), final=final)
        assert found == wanted, start
    assert story.windows() == story.wanted_windows()


def test_the_newest_batch_again_with_the_last_watermark_publishes_what_is_due_as_in_its_turn(
    spark: SparkSession, tmp_path: Path
) -> None:
    told = {"whole": CHOSEN["whole"], "visits": CHOSEN["visits"], "undone": OTHERS["undone"]}
    story, batch = Story(spark, tmp_path, by_chance(4, 70), told), Interval(0, LENGTH)
    found, wanted = story.run(batch)
    assert found == wanted
    # All of its events are known.
    story.events = []
    found, wanted = story.run(batch, final=True, revision=1)
    assert found == wanted
    assert {row.timing for row in found} == {"ON_TIME"}
    assert story.windows() == story.wanted_windows()
