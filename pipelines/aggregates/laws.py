"""The laws of an operation, tried on sample events of a type: for our own operations and for users'.

Combining is associative and commutative, a state of nothing (empty or null) changes nothing, merging two
states is combining them, deducting undoes merging and leaves nothing of all, and finishing any combination
equals finishing all events at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from pipelines.aggregates.likeness import are_alike
from pipelines.aggregates.operation import Operation, to_group
from pipelines.aggregates.registry import operation_of
from pipelines.aggregates.samples import sample_events
from pipelines.aggregates.states import event_values, nullable
from pipelines.spec.model import Aggregate

DEALT = ("x", "y", "z")
ACCUMULATED = (*DEALT, "whole", "nothing")
"""The states that events are accumulated into. `null` is the one that stands where there is no row."""

ONCE = {
    **{name: (name,) for name in ACCUMULATED},
    "xy": ("x", "y"),
    "yx": ("y", "x"),
    "yz": ("y", "z"),
    "xyz": ("x", "y", "z"),
    "x_nothing": ("nothing", "x", "nothing"),
    "x_null": ("null", "x", "null"),
    "nulls": ("null", "null"),
}
AGAIN = {"xy_z": ("xy", "z"), "x_yz": ("x", "yz")}
"""What is combined of what; of one state is that state itself."""

SAME = {
    "combining is commutative": (("xy", "yx"), ("merged xy", "merged yx")),
    "combining is associative": (("xy_z", "x_yz"),),
    "an empty state changes nothing": (("x_nothing", "x"),),
    "a null state changes nothing": (("x_null", "x"), ("nulls", "nothing")),
    "merging two states is combining them": (("merged xy", "xy"),),
    "finishing a combination is finishing all at once": (("xyz", "whole"), ("xy_z", "whole")),
}
"""Each law, and the states whose results it says are the same."""

DEDUCT = "deducting undoes merging"
DEDUCT_ALL = "deducting all that there was leaves what no values give"
SAMPLED = {"by": "by_value", "of": "value"}
"""What stands for the expressions of the spec."""


def laws_kept(spark: SparkSession, aggregate: Aggregate, *, kind: DataType) -> DataFrame:
    """One row with a column per law: whether the operation keeps it on events whose `of` is of that type."""
    options = tuple((name, SAMPLED.get(name, told)) for name, told in aggregate.options)
    of = aggregate.of if aggregate.op == "custom" else "value"
    sampled = replace(aggregate, name="it", of=of, where=None, options=options)
    operation = operation_of(sampled)
    value = event_values([sampled], F.col("instant_us"))["it"]
    dealt = _accumulated(sample_events(spark, kind).select(value.alias("it"), "part"), operation)
    once = _combined(dealt, operation, combinations=ONCE)
    kept = {name: (name,) for name in (*ONCE, "merged xy", "merged yx")}
    return _judged(_combined(once, operation, combinations={**kept, **AGAIN}), operation)


def _accumulated(values: DataFrame, operation: Operation) -> DataFrame:
    """A row of `name, state` for each of the states that events are dealt to, and for `null`."""
    letter = F.get(F.array(*map(F.lit, DEALT)), F.col("part"))
    names = F.array(letter, F.lit("whole"), F.lit("nothing"), F.lit("null"))
    dealt = values.select(F.explode(names).alias("name"), "it").withColumn(
        "it", F.when(F.col("name") != "nothing", F.col("it"))
    )
    parts = [part.accumulate(F.col("it")).alias(part.name) for part in operation.parts]
    states = dealt.groupBy("name").agg(F.struct(*parts).alias("state"))
    loose = nullable(states.schema["state"].dataType)
    return states.select("name", F.when(F.col("name") != "null", F.col("state")).cast(loose).alias("state"))


def _combined(
    states: DataFrame, operation: Operation, *, combinations: Mapping[str, Sequence[str]]
) -> DataFrame:
    """A row of `name, state` for each combination, and for the merges of two where that is made of two."""
    kind = states.schema["state"].dataType
    given = _given_to(states, combinations)
    combine = [
        part.combine(F.col(f"state.{part.name}"), to_group).alias(part.name) for part in operation.parts
    ]
    one, other = (F.first(F.when(F.col("place") == at, F.col("state")), ignorenulls=True) for at in (0, 1))
    groups = given.groupBy("combination").agg(
        F.struct(*combine).cast(kind).alias("all"), one.alias("one"), other.alias("other")
    )
    merge = [
        part.merge(F.col(f"one.{part.name}"), F.col(f"other.{part.name}")).alias(part.name)
        for part in operation.parts
    ]
    is_pair = F.col("combination").isin([name for name in ("xy", "yx") if len(combinations[name]) > 1])
    is_single = F.col("combination").isin([name for name, of in combinations.items() if len(of) == 1])
    rows = F.array(
        F.struct(
            F.col("combination").alias("name"),
            F.when(is_single, F.col("one")).otherwise(F.col("all")).alias("state"),
        ),
        F.struct(
            F.concat(F.lit("merged "), "combination").alias("name"),
            F.when(is_pair, F.struct(*merge).cast(kind)).alias("state"),
        ),
    )
    exploded = groups.select(F.explode(rows).alias("row")).select("row.*")
    return exploded.where(~F.col("name").startswith("merged ") | F.col("state").isNotNull())


def _given_to(states: DataFrame, combinations: Mapping[str, Sequence[str]]) -> DataFrame:
    """Each state for every combination that it is in, at its place there, in the order of places."""
    places = [
        F.struct(F.lit(name).alias("combination"), F.lit(place).alias("place"), F.lit(state).alias("of"))
        for name, given in combinations.items()
        for place, state in enumerate(given)
    ]
    exploded = states.select("name", "state", F.explode(F.array(*places)).alias("to"))
    mine = exploded.where(F.col("to.of") == F.col("name")).select("to.combination", "to.place", "state")
    return mine.coalesce(1).sortWithinPartitions("combination", "place")


def _judged(states: DataFrame, operation: Operation) -> DataFrame:
    """One row: for every law whether it is kept."""
    parts = states.schema["state"].dataType
    kinds = {field.name: field.dataType for field in parts} if isinstance(parts, StructType) else {}
    result = operation.finish({name: F.col(f"state.{name}") for name in kinds}, kinds)
    results = states.select("name", "state", result.alias("result"))
    kind = results.schema["result"].dataType

    def held(state: str) -> Column:
        row = F.struct("state", "result")
        return F.first(F.when(F.col("name") == state, row), ignorenulls=True).alias(state)

    names = sorted({name for pairs in SAME.values() for pair in pairs for name in pair} | {"y"})
    row = results.agg(*[held(name) for name in names])
    verdicts = [
        reduce(
            and_,
            [are_alike(F.col(one)["result"], F.col(other)["result"], kind=kind) for one, other in pairs],
        ).alias(law)
        for law, pairs in SAME.items()
    ]
    left = operation.finish(_all_deducted(operation, kinds), kinds)
    return row.select(
        *verdicts,
        _deduct_undoes_merge(operation, kinds).alias(DEDUCT),
        are_alike(left, F.col("nothing")["result"], kind=kind).alias(DEDUCT_ALL),
    )


def _all_deducted(operation: Operation, kinds: Mapping[str, DataType]) -> dict[str, Column]:
    """A state out of which itself was taken; where that cannot be, the state of no values."""
    x, nothing = (F.col(name)["state"] for name in ("x", "nothing"))
    return {
        part.name: nothing[part.name]
        if part.deduct is None or not part.deducts(kinds[part.name])
        else part.deduct(x[part.name], x[part.name]).cast(kinds[part.name])
        for part in operation.parts
    }


def _deduct_undoes_merge(operation: Operation, kinds: Mapping[str, DataType]) -> Column:
    merged, x, y = (F.col(name)["state"] for name in ("merged xy", "x", "y"))
    undone = F.lit(True)
    for part in operation.parts:
        if part.deduct is not None and part.deducts(kinds[part.name]):
            left = part.deduct(merged[part.name], x[part.name])
            undone &= are_alike(left, y[part.name], kind=kinds[part.name])
    return undone
