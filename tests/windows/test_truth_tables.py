"""Which windows hold an instant, and which of them had closed, a tick before, at and after each boundary."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.intervals import LATEST_US
from pipelines.spec.model import Cumulate, Custom, PerElement, Session, Shape, Sliding, Unaligned, Window
from pipelines.windows import held_kept, held_missed, starts_of, windows_kept, windows_missed

#   size 20, step 10             instant -> starts of the windows that hold it
SLIDING = Sliding(size_us=20, step_us=10)
SHIFTED = Sliding(size_us=20, step_us=10, offset_us=3)
UNEVEN = Sliding(size_us=25, step_us=10)
SPARSE = Sliding(size_us=5, step_us=10)
TUMBLING = Sliding(size_us=10, step_us=10)


@pytest.mark.parametrize(
    ("sliding", "table"),
    [
        (TUMBLING, {-11: [-20], -10: [-10], -1: [-10], 0: [0], 9: [0], 10: [10]}),
        (SLIDING, {-11: [-30, -20], -10: [-20, -10], -1: [-20, -10], 0: [-10, 0], 9: [-10, 0], 10: [0, 10]}),
        (SHIFTED, {-8: [-27, -17], -7: [-17, -7], 2: [-17, -7], 3: [-7, 3], 12: [-7, 3], 13: [3, 13]}),
        (UNEVEN, {-1: [-20, -10], 0: [-20, -10, 0], 4: [-20, -10, 0], 5: [-10, 0], 10: [-10, 0, 10]}),
        (SPARSE, {-11: [], -10: [-10], -6: [-10], -5: [], -1: [], 0: [0], 4: [0], 5: [], 9: [], 10: [10]}),
    ],
)
def test_an_instant_lies_in_every_window_that_holds_it(
    spark: SparkSession, sliding: Sliding, table: dict[int, list[int]]
) -> None:
    instants = spark.createDataFrame([(at,) for at in table], "at BIGINT")
    found = instants.select("at", starts_of(F.col("at"), sliding).alias("starts")).collect()
    assert {row.at: row.starts for row in found} == table


#   windows over 15: [0, 20) and [10, 30); a lateness of 5 closes them at 25 and at 35
@pytest.mark.parametrize(
    ("watermark", "missed"),
    [(None, 0), (-1, 0), (15, 0), (24, 0), (25, 1), (34, 1), (35, 2), (36, 2), (LATEST_US, 2)],
)
def test_a_window_is_closed_when_the_watermark_reaches_its_end_and_lateness(
    spark: SparkSession, watermark: int | None, missed: int
) -> None:
    instants = spark.createDataFrame([(15,)], "at BIGINT")
    at, window = F.col("at"), Window(name="it", shape=SLIDING, allowed_lateness_us=5)
    found = instants.select(
        windows_missed(at, window, watermark_us=watermark).alias("missed"),
        windows_kept(at, window, watermark_us=watermark).alias("kept"),
    ).collect()
    assert [(row.missed, row.kept) for row in found] == [(missed, 2 - missed)]


#   windows over 15: [0, 20) closes at 25 and [10, 30) at 35
@pytest.mark.parametrize(("begins", "held"), [(0, [25, 35]), (10, [35]), (20, []), (-10, [25, 35])])
@pytest.mark.parametrize("watermark", [None, 24, 25, 34, 35, LATEST_US])
def test_windows_that_start_before_the_first_of_a_definition_are_not_missed(
    spark: SparkSession, begins: int, held: list[int], watermark: int | None
) -> None:
    instants = spark.createDataFrame([(15,)], "at BIGINT")
    window = Window(name="it", shape=SLIDING, allowed_lateness_us=5, from_us=begins)
    found = instants.select(
        windows_missed(F.col("at"), window, watermark_us=watermark).alias("missed"),
        windows_kept(F.col("at"), window, watermark_us=watermark).alias("kept"),
    ).collect()
    closed = sum(1 for closes in held if watermark is not None and closes <= watermark)
    assert [(row.missed, row.kept) for row in found] == [(closed, len(held) - closed)]


@pytest.mark.parametrize("watermark", [None, 0, 100, LATEST_US])
def test_an_instant_between_windows_misses_none_and_keeps_none(
    spark: SparkSession, watermark: int | None
) -> None:
    instants = spark.createDataFrame([(7,)], "at BIGINT")
    at, window = F.col("at"), Window(name="it", shape=SPARSE)
    found = instants.select(
        windows_missed(at, window, watermark_us=watermark).alias("missed"),
        windows_kept(at, window, watermark_us=watermark).alias("kept"),
    ).collect()
    assert [(row.missed, row.kept) for row in found] == [(0, 0)]


MINUTE = 60_000_000


@pytest.mark.parametrize("watermark", [-36, -35, -14, -1, 0, 1, 14, 35])
@pytest.mark.parametrize("lateness", [0, 5])
@pytest.mark.parametrize(("size", "step"), [(30, 60), (30, 30), (10, 10), (25, 10)])
def test_minutes_around_1970_are_no_numbers_of_32_bits(
    spark: SparkSession, size: int, step: int, lateness: int, watermark: int
) -> None:
    """Up to 35 minutes fit into one, and no sum of two of them."""
    window = Window(
        name="it",
        shape=Sliding(size_us=size * MINUTE, step_us=step * MINUTE),
        allowed_lateness_us=lateness * MINUTE,
    )
    instants = spark.createDataFrame([(at * MINUTE,) for at in range(-90, 91, 5)], "at BIGINT")
    found = instants.select(
        "at", windows_missed(F.col("at"), window, watermark_us=watermark * MINUTE).alias("missed")
    ).collect()
    starts = range(-20 * step, 20 * step, step)
    assert {row.at // MINUTE: row.missed for row in found} == {
        at: sum(1 for it in starts if it <= at < it + size and it + size + lateness <= watermark)
        for at in range(-90, 91, 5)
    }


#   [0, 20) with a lateness of 5 closes at 25, and a tick later where an event at 20 may still join
AT_THE_END = {None: 0, 19: 0, 20: 0, 24: 0, 25: 1, 26: 1, 27: 1, LATEST_US - 1: 1, LATEST_US: 1}
A_TICK_LATER = {**AT_THE_END, 25: 0}


@pytest.mark.parametrize(
    ("shape", "table"),
    [
        (Session(gap_us=20), A_TICK_LATER),
        (Session(gap_us=20, max_us=50), A_TICK_LATER),
        (Session(gap_us=20, touching="split"), AT_THE_END),
        (Session(gap_us=20, touching="split", max_us=50), AT_THE_END),
        (Custom(attribute="tests.windows.bursts:AT_MOST_THREE"), A_TICK_LATER),
        (Custom(attribute="tests.windows.bursts:APART"), AT_THE_END),
        (Custom(attribute="tests.windows.bursts:NONE_TO_TWO"), AT_THE_END),
        (PerElement(column="length"), AT_THE_END),
        (Unaligned(size_us=20), AT_THE_END),
        (Cumulate(size_us=20, step_us=10), AT_THE_END),
    ],
    ids=str,
)
def test_a_window_closes_at_its_end_and_lateness_or_a_tick_later_where_one_that_touches_it_merges(
    spark: SparkSession, shape: Shape, table: dict[int | None, int]
) -> None:
    window = Window(name="it", shape=shape, allowed_lateness_us=5)
    held = F.array(F.struct(F.lit(0).alias("start_us"), F.lit(20).alias("end_us")))
    (found,) = (
        spark.range(1)
        .select(
            F.array([held_missed(held, window, watermark_us=it) for it in table]).alias("missed"),
            F.array([F.size(held_kept(held, window, watermark_us=it)) for it in table]).alias("kept"),
        )
        .collect()
    )
    assert dict(zip(table, found.missed, strict=True)) == table
    assert found.kept == [1 - missed for missed in table.values()]
