"""The most frequent values, from a summary that holds the counts of some thousand values (Misra and Gries).

Where there are more, the count of the first that has no place is taken off all of them (Agarwal et al.,
"Mergeable summaries", 2012): a count is never too high, and too low by at most N / 5001 of N values,
however often states were combined. Up to five thousand distinct values are counted exactly.

Spark's own frequent items sketch cannot combine two states within a row, counts nulls, and breaks ties by
chance.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates.arrays import counted, loose, once, ordered, ordered_together, record, tally
from pipelines.aggregates.operation import Operation, Over, Part
from pipelines.aggregates.options import number
from pipelines.spec.model import Aggregate

TRACKED = 5000


def approx_top_k(aggregate: Aggregate) -> Operation:
    """The `k` most frequent values with their counts, the most frequent first; of equals the smallest."""
    k = number(aggregate, "k")
    tracked = max(TRACKED, k)

    def combine(states: Column, over: Over) -> Column:
        return _kept(tally(ordered_together(states, over)), tracked)

    part = Part(
        name="counts",
        accumulate=lambda values: _kept(counted(ordered(values)), tracked),
        combine=combine,
        merge=lambda one, other: _kept(tally(F.sort_array(F.concat(one, other))), tracked),
        gathers=True,
        grows=True,
    )

    def finish(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
        first = F.slice(_by_count(parts["counts"]), 1, k)
        return loose(F.transform(first, lambda entry: record(item=entry["value"], count=-entry["less"])))

    return Operation(name="approx_top_k", parts=(part,), finish=finish)


def _by_count(entries: Column) -> Column:
    return F.sort_array(
        F.transform(entries, lambda entry: record(less=-entry["count"], value=entry["value"]))
    )


def _kept(entries: Column, tracked: int) -> Column:
    """The entries that have a place, each less the count of the first that has none."""

    def cut(all_of_them: Column) -> Column:
        excess = -F.get(_by_count(all_of_them), F.lit(tracked))["less"]
        lowered = once(
            excess,
            lambda too_many: F.transform(
                all_of_them, lambda it: record(value=it["value"], count=it["count"] - too_many)
            ),
        )
        above = F.filter(lowered, lambda it: it["count"] > 0)
        return F.when(F.size(all_of_them) > tracked, above).otherwise(all_of_them)

    return loose(once(entries, cut))
