"""On generated events the walk equals the oracle, in every table, batch by batch, and for one run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.generators import CATALOGUE, SECOND, Case, cases
from tests.oracle import Batch, Event, Pipeline, Walk, Window
from tests.oracle.tables import event_ids
from tests.walk import Stand, same_tables

rich_cases = cases(most_events=120, most_batches=3, repeated=True).filter(lambda case: case.is_rich)
two_batches = cases(most_events=120, most_batches=2).filter(lambda case: case.is_rich)
long_cases = st.booleans().flatmap(
    lambda repeated: cases(most_events=200, most_batches=5, repeated=repeated).filter(
        lambda case: case.is_rich
    )
)
positions = st.integers(0, 2)


def repeats_ids(case: Case) -> bool:
    """Whether events repeat ids in more than one batch, and an id counts again after a while."""
    walk = Walk(pipeline=case.pipeline)
    for batch in case.batches:
        walk.run(batch, case.events)
    counted = [(row["source"], row["ticket"]) for row in event_ids(walk, ("key",))]
    return sum(bool(it.fates.duplicates) for it in walk.ledger) > 1 and len(counted) > len(set(counted))


def examples(count: int, *, always_the_same: bool = True) -> settings:
    """A batch over Delta takes seconds: so few examples, each with many rows, and none of them shrunk."""
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=always_the_same,
        report_multiple_bugs=False,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.slow
@given(case=rich_cases.filter(repeats_ids))
@examples(1)
def test_any_pipeline_over_any_batches_equals_the_oracle(spark: SparkSession, case: Case) -> None:
    walk_through(spark, case, case.batches)


@given(case=two_batches, position=positions)
@examples(1)
def test_a_batch_again_and_with_other_data_equals_the_oracle(
    spark: SparkSession, case: Case, position: int
) -> None:
    walk_through(spark, case, case.batches, again=case.batches[position % len(case.batches)])


@pytest.mark.slow
@given(case=rich_cases)
@examples(1)
def test_an_older_batch_that_never_ran_equals_the_oracle(spark: SparkSession, case: Case) -> None:
    *older, left_out, newest = case.batches
    walk_through(spark, case, [*older, newest, left_out])


@pytest.mark.slow
@given(case=long_cases, position=positions)
@examples(12, always_the_same=False)
def test_any_batches_in_any_order_equal_the_oracle(spark: SparkSession, case: Case, position: int) -> None:
    left_out = case.batches[position % len(case.batches)]
    others = [batch for batch in case.batches if batch != left_out]
    walk_through(spark, case, [*others, left_out], again=others[0])


@pytest.mark.slow
def test_the_same_rows_after_an_older_batch_with_a_new_substream_equal_the_oracle(
    spark: SparkSession,
) -> None:
    """The third row is dropped from a window that the batch would correct, were it not the same again."""
    rows = [(40, 150, "x"), (52, 160, "x"), (45, 250, "x"), (1, 50, "y")]
    events = [
        Event(
            id=number,
            substream=device,
            key=("a",),
            event_us=at * SECOND,
            arrival_us=arrives * SECOND,
            values={"number": number, "money": None, "real": None, "wild": None},
        )
        for number, (at, arrives, device) in enumerate(rows)
    ]
    pipeline = Pipeline(
        aggregates=CATALOGUE[:3], windows=(Window(name="long", size=30 * SECOND, step=10 * SECOND),)
    )
    oldest, first, newest = (Batch(start=it * SECOND, end=(it + 100) * SECOND) for it in (0, 100, 200))
    case = Case(pipeline=pipeline, devices=True, events=events, batches=[first, newest, oldest])
    walk_through(spark, case, case.batches, again=first)


def walk_through(
    spark: SparkSession, case: Case, batches: list[Batch], *, again: Batch | None = None
) -> None:
    """Run the batches; then one again: with its rows reversed, with other rows, and as it was at first."""
    runs = [(batch, case.events) for batch in batches]
    if again is not None:
        repeated = replace(again, watermark=None, final=False)
        others = [moved(event) for event in case.events]
        runs += [(repeated, rows) for rows in (case.events[::-1], others, case.events)]
    with TemporaryDirectory() as folder:
        stand, walk = Stand(spark, Path(folder), case), Walk(pipeline=case.pipeline)
        for batch, rows in runs:
            stand.feed(rows)
            stand.run(batch)
            walk.run(batch, rows)
            same_tables(stand, walk)


def moved(event: Event) -> Event:
    """Each third row happens earlier, at the same arrival; each fifth has another key; the others stay."""
    if event.id % 3 == 0 and event.event_us is not None:
        return replace(event, event_us=event.event_us - 7 * SECOND, arrival_us=event.arrives_us)
    return replace(event, key=("d",)) if event.id % 5 == 0 else event
