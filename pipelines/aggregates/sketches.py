"""Approximate aggregates: small states of many values, with an error that is known.

* `approx_distinct`: HyperLogLog of 2¹² registers; the standard error is 1.04/√4096 = 1.6 % (Apache
  DataSketches, "HLL Sketch accuracy"), and a few values are counted exactly.
* `approx_quantile`: KLL with k = 200; the rank of a result is within 1.33 % of the one asked for, with 99 %
  confidence (Apache DataSketches, "KLL Sketch accuracy"), and exact up to some hundred values. NaN is left
  out. KLL throws coins: two runs over the same values may differ within the error.

A state has the sketch and a fingerprint of all values beside it: two states are of the same values when
their fingerprints are the same, whatever the coins were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates.arrays import loose, record
from pipelines.aggregates.operation import Given, Operation, Over, Part, to_group
from pipelines.aggregates.options import told
from pipelines.spec.model import Aggregate

FINGERPRINT = "decimal(30,0)"
"""Holds the sum of ten thousand million hashes of 64 bits."""

Many = Callable[[Column], Column]
Two = Callable[[Column, Column], Column]


def _sketch(accumulate: Many, *, combine: Many, merge: Two) -> Part:
    def hashed(values: Column) -> Column:
        return F.when(values.isNotNull(), F.xxhash64(values)).cast("decimal(20,0)")

    def combined(states: Column, over: Over) -> Column:
        return record(sketch=over(combine(states["sketch"])), fingerprint=_sum(states["fingerprint"], over))

    def merged(one: Column, other: Column) -> Column:
        either = F.coalesce(merge(one["sketch"], other["sketch"]), one["sketch"], other["sketch"])
        total = (one["fingerprint"] + other["fingerprint"]).cast(FINGERPRINT)
        return record(sketch=either, fingerprint=F.coalesce(total, one["fingerprint"], other["fingerprint"]))

    return Part(
        name="sketch",
        accumulate=lambda values: record(sketch=accumulate(values), fingerprint=_sum(hashed(values))),
        combine=combined,
        merge=merged,
    )


def _sum(values: Column, over: Over = to_group) -> Column:
    return F.coalesce(over(F.sum(values)), F.lit(0)).cast(FINGERPRINT)


VALUES = _sketch(F.hll_sketch_agg, combine=F.hll_union_agg, merge=F.hll_union)
RANKS = _sketch(F.kll_sketch_agg_double, combine=F.kll_merge_agg_double, merge=F.kll_sketch_merge_double)


def _hash(given: Given) -> Column:
    """HyperLogLog hashes anyway; so values of all types become ones that Spark takes."""
    return F.when(given.of.isNotNull(), F.xxhash64(given.of))


def _number(given: Given) -> Column:
    return given.of.cast("double")


def _finish_distinct(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return F.coalesce(F.hll_sketch_estimate(parts["sketch"]["sketch"]), F.lit(0).cast("bigint"))


APPROX_DISTINCT = Operation(name="approx_distinct", parts=(VALUES,), finish=_finish_distinct, value=_hash)


def approx_quantile(aggregate: Aggregate) -> Operation:
    """The value at a rank `q`, or an array of those at several; null over no values."""
    asked = told(aggregate, "q")

    def finish(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
        sketch = parts["sketch"]["sketch"]
        has_values = F.kll_sketch_get_n_double(sketch) > 0
        if not isinstance(asked, tuple):
            return F.when(has_values, F.kll_sketch_get_quantile_double(sketch, F.lit(asked)))
        ranks = F.array(*map(F.lit, asked))
        return F.when(has_values, loose(F.kll_sketch_get_quantile_double(sketch, ranks)))

    return Operation(name="approx_quantile", parts=(RANKS,), finish=finish, value=_number)
