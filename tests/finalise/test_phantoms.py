"""What sliding windows elsewhere are known to leave behind, and these do not, whatever the strategy.

Frames of one microsecond, windows of three at every microsecond, if nothing else is said:

    frames     0   1   2   3   4   5
    windows   [-2   1)
                  …       [3       6)
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import inf, isnan, nan

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, DoubleType, LongType

from pipelines.aggregates.extremes import LARGEST
from pipelines.aggregates.sums import ROWS, TOTAL
from pipelines.finalise.parts import StatePart
from pipelines.finalise.planner import Strategy, plan_of
from pipelines.finalise.sliding import sliding_states
from pipelines.spec import Sliding

LEAST_LONG, MOST_LONG = -(1 << 63), (1 << 63) - 1
STRATEGIES = ("deduct", "prefix–suffix", "recombine")

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def totals(
    spark: SparkSession,
    values: Mapping[int, object],
    *,
    strategy: Strategy,
    kind: DataType | None = None,
    sliding: Sliding | None = None,
) -> dict[int, object]:
    """The sum of each window over frames of one event each, by its start."""
    kind, sliding = kind or DoubleType(), sliding or Sliding(size_us=3, step_us=1)
    parts = [
        StatePart(column="event_count", part=ROWS, kind=LongType()),
        StatePart(column="sum__total", part=TOTAL, kind=kind),
    ]
    schema = f"_frame_us BIGINT, event_count BIGINT, sum__total {kind.simpleString()}"
    frames = spark.createDataFrame([(at, 1, value) for at, value in values.items()], schema)
    plan = plan_of(parts, shape=sliding, frame_us=1, only=strategy)
    return {row[0]: row[2] for row in sliding_states(frames, parts, key=[], plan=plan).collect()}


@every_strategy
def test_a_window_whose_sum_is_zero_is_published(spark: SparkSession, strategy: Strategy) -> None:
    found = totals(spark, {0: 5, 1: -5, 9: 0}, strategy=strategy, kind=LongType())
    assert found == {-2: 5, -1: 0, 0: 0, 1: -5, 7: 0, 8: 0, 9: 0}


@every_strategy
def test_a_float_window_has_no_residue_after_its_events_left(spark: SparkSession, strategy: Strategy) -> None:
    found = totals(spark, {0: 0.1, 1: 0.2, 2: 0.3, 6: 0.7}, strategy=strategy)
    assert (found[2], found[4], found[6]) == (0.3, 0.7, 0.7)
    assert 3 not in found


@every_strategy
def test_1e17_and_1_and_minus_1e17(spark: SparkSession, strategy: Strategy) -> None:
    found = totals(spark, {0: 1e17, 3: 1.0, 6: -1e17}, strategy=strategy)
    assert [found[at] for at in (-2, 0, 1, 3, 4, 6)] == [1e17, 1e17, 1.0, 1.0, -1e17, -1e17]
    together = totals(spark, {0: 1e17, 1: 1.0, 2: -1e17, 4: 2.0}, strategy=strategy)
    # All three: zero or one, by their order; once they have left, nothing of them.
    assert together[0] in (0.0, 1.0) and together[2] == -1e17
    assert (together[3], together[4]) == (2.0, 2.0)


@every_strategy
def test_infinity_leaves_a_window_whole(spark: SparkSession, strategy: Strategy) -> None:
    found = totals(spark, {0: inf, 1: -inf, 2: nan, 3: 2.0, 4: 3.0}, strategy=strategy)
    assert found[-2] == inf and isnan(found[-1]) and isnan(found[1])
    assert (found[3], found[4]) == (5.0, 3.0)


@every_strategy
def test_a_long_sum_may_overflow_on_the_way_but_not_in_a_window(
    spark: SparkSession, strategy: Strategy
) -> None:
    swinging = {at: MOST_LONG if at % 2 else LEAST_LONG for at in range(10)}
    pairs = totals(spark, swinging, strategy=strategy, kind=LongType(), sliding=Sliding(size_us=2, step_us=1))
    assert pairs == {-1: LEAST_LONG, **dict.fromkeys(range(9), -1), 9: MOST_LONG}


@every_strategy
@pytest.mark.parametrize("values", [{0: MOST_LONG, 1: 1}, {0: LEAST_LONG, 1: -1}])
def test_a_long_sum_that_does_not_fit_fails_and_never_wraps(
    spark: SparkSession, values: Mapping[int, object], strategy: Strategy
) -> None:
    with pytest.raises(ArithmeticException, match=r"(?i)overflow"):
        totals(spark, values, strategy=strategy, kind=LongType())
    apart = {at * 5: value for at, value in values.items()}
    assert totals(spark, apart, strategy=strategy, kind=LongType())[0] == values[0]


@every_strategy
@pytest.mark.parametrize("digits", [27, 37, 38])
def test_decimals_keep_every_digit(spark: SparkSession, digits: int, strategy: Strategy) -> None:
    most = Decimal("9" * (digits - 12) + ".123456789012")
    minus = most.copy_negate()
    after_one = Decimal("-" + "9" * (digits - 13) + "8.123456789012")
    found = totals(
        spark, {0: most, 1: minus, 2: Decimal(1), 5: most}, strategy=strategy, kind=DecimalType(digits, 12)
    )
    assert (found[-2], found[-1], found[0], found[1], found[3]) == (most, 0, 1, after_one, most)


def test_decimals_at_the_limit_of_a_digit_to_spare_are_added_whatever_their_sign(spark: SparkSession) -> None:
    most = f"{'9' * 36}.99"
    part = StatePart(column="sum__total", part=TOTAL, kind=DecimalType(38, 2))
    one, other = (F.col(name).cast(part.kind) for name in ("one", "other"))
    pairs = [(f"-{most}", "1.00"), ("1.00", f"-{most}"), (most, "-1.00"), (f"-{'9' * 36}.98", "-0.01")]
    added = spark.createDataFrame(pairs, "one STRING, other STRING").select(part.merge(one, other))
    less = f"{'9' * 35}8.99"
    expected = [f"-{less}", f"-{less}", less, f"-{most}"]
    assert [row[0] for row in added.collect()] == [Decimal(it) for it in expected]


@every_strategy
def test_a_decimal_sum_that_needs_more_than_38_digits_fails_and_is_never_rounded(
    spark: SparkSession, strategy: Strategy
) -> None:
    values = {0: Decimal(f"{'9' * 20}.{'9' * 18}"), 1: Decimal("0.000000000000000001")}
    with pytest.raises(ArithmeticException, match=r"(?i)overflow|out_of_range"):
        totals(spark, values, strategy=strategy, kind=DecimalType(38, 18))


@every_strategy
def test_windows_longer_than_the_data_begin_before_it_and_before_1970(
    spark: SparkSession, strategy: Strategy
) -> None:
    sliding = Sliding(size_us=100, step_us=25, offset_us=5)
    found = totals(spark, {-3: 1, 4: 2}, strategy=strategy, kind=LongType(), sliding=sliding)
    assert found == {-95: 3, -70: 3, -45: 3, -20: 3}


@every_strategy
def test_frames_between_windows_are_in_none(spark: SparkSession, strategy: Strategy) -> None:
    sliding = Sliding(size_us=2, step_us=5)
    found = totals(spark, dict.fromkeys(range(-5, 7), 1), strategy=strategy, kind=LongType(), sliding=sliding)
    assert found == {-5: 2, 0: 2, 5: 2}


def test_one_hot_key_is_shuffled_by_its_blocks_once(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [
        StatePart(column="event_count", part=ROWS, kind=LongType()),
        StatePart(column="most__extreme", part=LARGEST, kind=LongType()),
    ]
    frames = spark.createDataFrame(
        [], "hot STRING, _frame_us BIGINT, event_count BIGINT, most__extreme BIGINT"
    )
    plan = plan_of(parts, shape=Sliding(size_us=9, step_us=1), frame_us=1)
    assert [choice.strategy for choice in plan.choices] == ["deduct", "prefix–suffix"]
    sliding_states(frames, parts, key=["hot"], plan=plan).explain("simple")
    page = capsys.readouterr().out
    assert page.count("Exchange ") == 1 and "_block_us" in page.split("hashpartitioning(")[1].split(")")[0]
