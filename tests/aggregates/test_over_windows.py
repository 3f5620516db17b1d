"""Combining over the rows of a window gives what combining a group of the same rows gives."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql import Window as W
from pyspark.sql import functions as F

from pipelines.aggregates import combine_columns, finish_columns
from tests.aggregates.states import combined, states
from tests.aggregates.test_values import AGGREGATES, events, same

BEFORE = 3


def test_the_combination_over_a_window_is_that_of_its_rows(spark: SparkSession) -> None:
    # rows of one key:  0 1 2 3 4 5 …
    # window of row 4:    └─┴─┘        none for row 0
    given = events(spark).where("key != 'one'").withColumn("key", F.col("id").cast("string"))
    frames = (
        states(given, AGGREGATES, parts=1)
        .withColumn("at", F.col("key").cast("int"))
        .drop("key", "part")
        .cache()
    )

    def over(function: Column) -> Column:
        return function.over(W.orderBy("at").rowsBetween(-BEFORE, -1))

    windowed = frames.select("at", *combine_columns(AGGREGATES, frames.schema, over=over))
    places = frames.withColumn("place", F.row_number().over(W.orderBy("at")) - 1)
    covered = places.withColumn("at", F.explode(F.sequence(F.col("place") + 1, F.col("place") + BEFORE)))
    ranked = windowed.withColumn("at", F.row_number().over(W.orderBy("at")) - 1)
    ours = {
        row["at"]: row for row in ranked.select("at", *finish_columns(AGGREGATES, ranked.schema)).collect()
    }
    grouped = combined(covered, AGGREGATES, "at")
    theirs = {
        row["at"]: row for row in grouped.select("at", *finish_columns(AGGREGATES, grouped.schema)).collect()
    }
    nothing = combined(frames.where("false"), AGGREGATES)
    theirs[0] = nothing.select(F.lit(0).alias("at"), *finish_columns(AGGREGATES, nothing.schema)).first()

    unlike = [
        (at, asked.name, ours[at][asked.name], theirs[at][asked.name])
        for at in ours
        for asked in AGGREGATES
        if not alike(ours[at][asked.name], theirs[at][asked.name])
    ]
    assert (unlike, len(ours)) == ([], 18)


def alike(one: object, other: object) -> bool:
    """Maps whose key is NaN are not equal in Python."""
    if isinstance(one, dict) and isinstance(other, dict):
        return sorted(map(str, one.items())) == sorted(map(str, other.items()))
    return same(one, other)
