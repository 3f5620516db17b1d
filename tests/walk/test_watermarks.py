"""Every rule of watermarks in one history on the walk: a source that was not seen yet, a device that comes
later and behind the others, one that falls silent and one that wakes up, a time when all are silent, batches
that run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.stages import run_stage
from pipelines.stages.running import STAGES
from tests.generators import SECOND, Case
from tests.oracle import Aggregate, Batch, Event, Pipeline, Source, Walk, Window
from tests.walk import Stand, same_tables
from tests.walk.stand import request_of

BATCH = 100
SILENT = 200 * SECOND
NO_VALUES = {"number": 1, "money": None, "real": None, "wild": None}
PIPELINE = Pipeline(
    sources=(
        Source(name="north", max_disorder=5 * SECOND, idle_after=SILENT),
        Source(name="south", idle_after=SILENT),
    ),
    aggregates=(Aggregate(name="rows", op="count"), Aggregate(name="total", op="sum", of="number")),
    windows=(Window(name="tens", size=10 * SECOND, step=10 * SECOND, lateness=30 * SECOND),),
)
TOLD = [
    # Source, device, happened, arrived, in seconds.
    ("north", "x", 40, 50),
    ("north", "x", 90, 95),
    # The south is heard for the first time, and a device that is behind.
    ("north", "x", 180, 190),
    ("south", "a", 60, 120),
    ("north", "y", 30, 150),
    ("south", "a", 190, 195),
    # `y` is silent, but not for long enough.
    ("north", "x", 280, 290),
    ("south", "a", 285, 290),
    # Now it is.
    ("north", "x", 380, 390),
    ("south", "a", 385, 390),
    # It wakes up behind the others: what it tells is late.
    ("north", "y", 100, 410),
    ("north", "x", 480, 490),
    ("south", "a", 470, 480),
    # From 500 to 700 nobody says a word; then one does.
    ("south", "a", 760, 780),
]
FOUND = [None, 25, 25, 375, 375, 375, 475, 760]
"""The watermark after each batch, in seconds."""


MISTAKEN = [("south", "x", 5, 5), ("south", "y", 50, 50), ("south", "y", 150, 150), ("south", "y", 250, 250)]
"""What `x` told was of `y`."""
AHEAD = [
    ("south", "x", 900, 50),
    ("south", "x", 110, 150),
    ("south", "x", 230, 250),
    ("south", "x", 310, 350),
]
"""What arrived first happened last."""


OF_TWO = [
    ("north", "x", 40, 50),
    ("south", "a", 60, 70),
    ("north", "x", 180, 190),
    ("south", "a", 170, 180),
    ("north", "x", 280, 290),
    ("south", "a", 270, 280),
]


@pytest.fixture
def case() -> Case:
    return case_of(PIPELINE, TOLD, batches=len(FOUND))


def case_of(pipeline: Pipeline, told: Sequence[tuple[str, str, int, int]], *, batches: int) -> Case:
    events = [
        Event(
            id=number,
            source=source,
            substream=device,
            key=("k",),
            event_us=happened * SECOND,
            arrival_us=arrived * SECOND,
            values=NO_VALUES,
        )
        for number, (source, device, happened, arrived) in enumerate(told)
    ]
    cut = [Batch(start=it * BATCH * SECOND, end=(it + 1) * BATCH * SECOND) for it in range(batches)]
    return Case(pipeline=pipeline, devices=True, events=events, batches=cut)


def test_the_oracle_finds_what_the_rules_say(case: Case) -> None:
    walk = Walk(pipeline=case.pipeline)
    for batch in case.batches:
        walk.run(batch, case.events)
    after = [it.watermark_after for it in walk.outcomes.values()]
    assert [None if it is None else it // SECOND for it in after] == FOUND


@pytest.mark.slow
def test_the_walk_keeps_all_rules_also_for_batches_that_run_again(
    spark: SparkSession, tmp_path: Path, case: Case
) -> None:
    stand, walk = Stand(spark, tmp_path, case), Walk(pipeline=case.pipeline)
    behind = [*case.events, replace(case.events[4], id=99, substream="z", event_us=20 * SECOND)]
    furthest = [*behind, replace(case.events[-2], id=100, substream="w", arrival_us=550 * SECOND)]
    *in_turn, last = case.batches
    again = [(case.batches[3], case.events), (in_turn[-1], case.events), (case.batches[1], behind)]
    # The one before the newest brings a device: to the newest, with the same rows again, it is nothing, and
    # the last knows of it.
    again += [(case.batches[5], furthest), (in_turn[-1], furthest)]
    for batch, rows in [*[(it, case.events) for it in in_turn], *again, (last, furthest)]:
        stand.feed(rows)
        stand.run(batch)
        walk.run(batch, rows)
        same_tables(stand, walk)
    assert walk.outcomes[in_turn[-1].bounds].revision == 0
    assert len(walk.outcomes[last.bounds].standings) == 5


@pytest.mark.slow
def test_a_device_that_a_correction_takes_away_holds_nothing_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = case_of(replace(PIPELINE, sources=(Source(name="south"),)), MISTAKEN, batches=3)
    stand, walk = Stand(spark, tmp_path, case), Walk(pipeline=case.pipeline)
    corrected = [replace(case.events[0], substream="y"), *case.events[1:]]
    first, second, third = case.batches
    for batch, rows in ((first, case.events), (second, case.events), (first, corrected), (third, corrected)):
        stand.feed(rows)
        stand.run(batch)
        walk.run(batch, rows)
        same_tables(stand, walk)
    after = [walk.outcomes[it.bounds].watermark_after for it in case.batches]
    assert after == [5 * SECOND, 5 * SECOND, 250 * SECOND]


@pytest.mark.slow
def test_the_newest_batch_again_leaves_to_the_next_what_an_older_one_has_told_since(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = case_of(replace(PIPELINE, sources=(Source(name="south"),)), AHEAD, batches=4)
    stand, walk = Stand(spark, tmp_path, case), Walk(pipeline=case.pipeline)
    oldest, second, newest, following = case.batches
    stand.feed(case.events)
    for batch in (second, newest, oldest, newest, second, following):
        stand.run(batch)
        walk.run(batch, case.events)
        same_tables(stand, walk)
    assert [it.batch for it in walk.ledger] == [second, newest, oldest, following]
    assert [it.watermark_after for it in walk.ledger] == [it * SECOND for it in (110, 230, 110, 900)]
    # It is judged by what the newest told itself.
    assert walk.ledger[-1].fates.late == []


@pytest.mark.slow
@pytest.mark.parametrize("happened", [10, None], ids=["late", "quarantined"])
def test_a_row_more_that_counts_nowhere_is_another_batch_which_knows_what_was_told_since(
    spark: SparkSession, tmp_path: Path, happened: int | None
) -> None:
    told = [("south", "y", 1, 50), *AHEAD[1:]]
    case = case_of(replace(PIPELINE, sources=(Source(name="south"),)), told, batches=4)
    stand, walk = Stand(spark, tmp_path, case), Walk(pipeline=case.pipeline)
    oldest, second, newest, following = case.batches
    at = None if happened is None else happened * SECOND
    more = [*case.events, replace(case.events[2], id=99, event_us=at)]
    before = [(batch, case.events) for batch in (second, newest, oldest)]
    for batch, rows in (*before, (newest, more), (following, more)):
        stand.feed(rows)
        stand.run(batch)
        walk.run(batch, rows)
        same_tables(stand, walk)
    assert [it.batch for it in walk.ledger] == [second, newest, oldest, newest, following]
    assert [it.watermark_after for it in walk.ledger[-2:]] == [230 * SECOND] * 2
    assert len(walk.ledger[-1].standings) == 2


@pytest.mark.slow
def test_the_next_batch_knows_what_was_told_since_where_one_source_alone_was_accumulated_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = case_of(PIPELINE, OF_TWO, batches=3)
    stand, walk = Stand(spark, tmp_path, case), Walk(pipeline=case.pipeline)
    oldest, newest, following = case.batches
    # The oldest brings a device of the south, the newest another row of the north.
    behind = [*case.events, replace(case.events[1], id=98, substream="z", event_us=20 * SECOND)]
    more = [*behind, replace(case.events[2], id=99, event_us=185 * SECOND)]
    for batch, rows in ((oldest, case.events), (newest, case.events), (oldest, behind), (newest, behind)):
        stand.feed(rows)
        stand.run(batch)
        walk.run(batch, rows)
    same_tables(stand, walk)
    stand.feed(more)
    for stage in STAGES:
        source = "north" if stage == "accumulate" else None
        run_stage(stand.site, request_of(newest), stage=stage, source=source)
    stand.run(following)
    for batch in (newest, following):
        walk.run(batch, more)
    outcome = walk.outcomes[following.bounds]
    found = {
        (it["source"], it["substream"]): it["watermark"]
        for it in stand.rows("watermarks")
        if it["batch_start"] == following.start
    }
    assert found.pop((None, None)) == outcome.watermark_after
    assert found == {place: it.watermark for place, it in outcome.standings.items()}
    assert ("south", "z") in found
