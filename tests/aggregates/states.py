"""Events dealt into states, combined and finished: the walk of an aggregate without a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from pipelines.aggregates import accumulate_columns, combine_columns, event_values, finish_columns
from pipelines.spec.model import Aggregate

Told = str | int | float | tuple[float, ...]


def aggregate(name: str, op: str, of: str, *, where: str | None = None, **options: Told) -> Aggregate:
    return Aggregate(name=name, op=op, of=of, where=where, options=tuple(options.items()))


def states(events: DataFrame, aggregates: Sequence[Aggregate], *, parts: int) -> DataFrame:
    """The states of events with `key` and `at`, dealt into so many parts."""
    values = [value.alias(name) for name, value in event_values(aggregates, F.col("at")).items()]
    dealt = events.withColumn("part", F.pmod(F.col("id"), F.lit(parts)))
    return dealt.select("key", "part", *values).groupBy("key", "part").agg(*accumulate_columns(aggregates))


def combined(partials: DataFrame, aggregates: Sequence[Aggregate], *by: str) -> DataFrame:
    return partials.groupBy(*by).agg(*combine_columns(aggregates, partials.schema))


def results(partials: DataFrame, aggregates: Sequence[Aggregate]) -> DataFrame:
    whole = combined(partials, aggregates, "key")
    return whole.select("key", *finish_columns(aggregates, whole.schema))


def by_key(rows: DataFrame) -> Mapping[str, Row]:
    return {row["key"]: row for row in rows.collect()}
