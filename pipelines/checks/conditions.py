"""What each row rule expects of a row that it counts: Great Expectations' own comparisons, as Spark columns.

They are null where a comparison with null is undecided, as in SQL. Nothing is built before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.checks.expectation import Expectation, Value
from pipelines.spec import parse_instant

LONG, MOST_DECIMAL = 2**63, 10**38


def columns_of(expectation: Expectation) -> list[Column]:
    """The columns that it is about, in the order given."""
    return [F.col(name) for name in expectation.columns]


def _column(expectation: Expectation) -> Column:
    return F.col(expectation.columns[0])


def _between(value: Column, expectation: Expectation) -> Column:
    low, high = expectation.argument("min_value"), expectation.argument("max_value")
    within = F.lit(True)
    if low is not None:
        bound = _literal(low)
        within &= value > bound if expectation.argument("strict_min") else value >= bound
    if high is not None:
        bound = _literal(high)
        within &= value < bound if expectation.argument("strict_max") else value <= bound
    return within


def _literal(bound: Value) -> Column:
    if isinstance(bound, str | date):
        return F.timestamp_micros(F.lit(parse_instant(str(bound))))
    return _plain(bound)


def _plain(value: Value) -> Column:
    """A literal, also of a number that is beyond 64 bits, or beyond all decimals."""
    if isinstance(value, int) and not -LONG <= value < LONG:
        return F.lit(Decimal(value) if abs(value) < MOST_DECIMAL else float(value))
    return F.lit(value)


def _same(item: Value) -> Column:
    """A value of a set; PySpark would take an instant without a zone for one of the machine's."""
    return _literal(item) if isinstance(item, date) else _plain(item)


def _items(expectation: Expectation, argument: str) -> list[Value]:
    items = expectation.argument(argument)
    return list(items) if isinstance(items, tuple) else []


def _in_set(expectation: Expectation) -> Column:
    return _column(expectation).isin([_same(item) for item in _items(expectation, "value_set")])


def _matches(expectation: Expectation) -> Column:
    return _column(expectation).rlike(str(expectation.argument("regex")))


def _matches_list(expectation: Expectation) -> Column:
    patterns = [str(item) for item in _items(expectation, "regex_list")]
    if expectation.argument("match_on") == "all":
        return reduce(Column.__and__, [_column(expectation).rlike(pattern) for pattern in patterns])
    return _column(expectation).rlike("|".join(patterns))


def _matches_none(expectation: Expectation) -> Column:
    patterns = [str(item) for item in _items(expectation, "regex_list")]
    return reduce(Column.__and__, [~_column(expectation).rlike(pattern) for pattern in patterns])


def _length_is(expectation: Expectation) -> Column:
    return F.length(_column(expectation)) == _plain(expectation.argument("value"))


def _greater(expectation: Expectation) -> Column:
    first, second = columns_of(expectation)
    if expectation.argument("or_equal"):
        return (first >= second) | first.eqNullSafe(second)
    return first > second


def _pair_in_set(expectation: Expectation) -> Column:
    first, second = columns_of(expectation)
    allowed = [pair for pair in _items(expectation, "value_pairs_set") if isinstance(pair, tuple)]
    equal = [first.eqNullSafe(_same(one)) & second.eqNullSafe(_same(other)) for one, other in allowed]
    return reduce(Column.__or__, equal, F.lit(False))


def _all_equal(expectation: Expectation) -> Column:
    first, *others = columns_of(expectation)
    return reduce(Column.__and__, [first.eqNullSafe(other) for other in others])


def _all_different(expectation: Expectation) -> Column:
    columns = columns_of(expectation)
    equal = [one.eqNullSafe(other) for place, one in enumerate(columns) for other in columns[place + 1 :]]
    return ~reduce(Column.__or__, equal)


def _sums_to(expectation: Expectation) -> Column:
    # As bigint, and null where even that overflows: no sum of the kind is then the total.
    zero = F.lit(0).cast("bigint")
    total = reduce(F.try_add, [F.coalesce(column, zero) for column in columns_of(expectation)])
    return F.coalesce(total == _plain(expectation.argument("sum_total")), F.lit(False))


EXPECTED: dict[str, Callable[[Expectation], Column]] = {
    "expect_column_values_to_not_be_null": lambda rule: _column(rule).isNotNull(),
    "expect_column_values_to_be_null": lambda rule: _column(rule).isNull(),
    "expect_column_values_to_be_between": lambda rule: _between(_column(rule), rule),
    "expect_column_values_to_be_in_set": _in_set,
    "expect_column_values_to_not_be_in_set": lambda rule: ~_in_set(rule),
    "expect_column_values_to_match_regex": _matches,
    "expect_column_values_to_not_match_regex": lambda rule: ~_matches(rule),
    "expect_column_values_to_match_regex_list": _matches_list,
    "expect_column_values_to_not_match_regex_list": _matches_none,
    "expect_column_value_lengths_to_be_between": lambda rule: _between(F.length(_column(rule)), rule),
    "expect_column_value_lengths_to_equal": _length_is,
    "expect_column_pair_values_a_to_be_greater_than_b": _greater,
    "expect_column_pair_values_to_be_equal": _all_equal,
    "expect_column_pair_values_to_be_in_set": _pair_in_set,
    "expect_multicolumn_values_to_be_equal": _all_equal,
    "expect_multicolumn_sum_to_equal": _sums_to,
    "expect_select_column_values_to_be_unique_within_record": _all_different,
}
"""What is expected of a row, by the name of the rule. They make columns when called, none on import."""
