"""Every operation over generated values, however they are dealt and combined, gives what it gives of all of
them at once, and what Spark's own aggregate gives where there is one.

A key is a sample: Spark works out hundreds at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import inf, nan
from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from pipelines.aggregates import finish_columns
from pipelines.aggregates.registry import OPERATIONS
from pipelines.spec.model import Aggregate
from tests.aggregates.states import aggregate, by_key, combined, results, states
from tests.aggregates.test_over_windows import alike
from tests.aggregates.test_values import ASKED, SCHEMA, SPARKS_OWN

SAMPLES, ALIKE = 300, 0.4
RESIDUE = 1e-12
DAY = 86_400_000_000
UNLIKE = ("word_of_least", "word_of_heaviest", "correlated")
"""Of those with the same `by` Spark takes any, ours the smallest or largest; a correlation of what does not
vary divides by zero there, and is null here.
"""
SUMS = {
    "weight_total": (("sum", "weight", {}), "sum(weight)"),
    "weight_mean": (("avg", "weight", {}), "avg(weight)"),
}
OWN = {name: sql for name, (_, sql) in {**SPARKS_OWN, **SUMS}.items() if name not in UNLIKE}
AGGREGATES = [
    aggregate(name, op, of, **options) for name, ((op, of, options), _) in {**ASKED, **SUMS}.items()
]
CONDITION = "whole > 0 OR word = 'a'"
Event = tuple[int, int | None, Decimal | None, float | None, str | None]


@st.composite
def samples(draw: st.DrawFn) -> list[list[Event]]:
    """Up to twelve events of each key. Hypothesis picks where chance begins: it has no room for so many."""
    chosen = draw(st.randoms(use_true_random=True))
    return [
        [event_of(chosen, few=chosen.random() < ALIKE) for _ in range(chosen.randrange(13))]
        for _ in range(SAMPLES)
    ]


def event_of(chosen: Random, *, few: bool) -> Event:
    """An event; of few values, so that most are alike, or of all."""
    reach = 1 if few else 9
    return (
        chosen.choice((0, 1, -1, DAY, DAY - 1, -DAY, -DAY - 1, chosen.randrange(-(2**55), 2**55))),
        chosen.choice((None, *range(-reach, reach + 1))),
        chosen.choice((None, *(Decimal(cents).scaleb(-2) for cents in range(-reach * 7, reach * 7)))),
        chosen.choice((None, nan, inf, -inf, *(quarters / 4 for quarters in range(-reach, reach)))),
        chosen.choice((None, "", "a", "b", "ä", "a long word")),
    )


a_few = settings(
    max_examples=1,
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


def framed(spark: SparkSession, drawn: Sequence[Sequence[Event]]) -> DataFrame:
    """The events of each sample under a key of its own."""
    of_samples = [(f"sample {number}", event) for number, held in enumerate(drawn) for event in held]
    rows = [(number, key, *event) for number, (key, event) in enumerate(of_samples)]
    return spark.createDataFrame(rows, SCHEMA).coalesce(2).cache()


def unlike(found: Mapping[str, Row], wanted: Mapping[str, Row], names: Sequence[str]) -> list[tuple]:
    assert found.keys() == wanted.keys()
    return [
        (name, key, found[key][name], wanted[key][name])
        for name in names
        for key in wanted
        if not alike(*(pair := (found[key][name], wanted[key][name]))) and not both_nothing(*pair)
    ]


def both_nothing(one: object, other: object) -> bool:
    """Whether both are zero but for what adding doubles leaves, as the skewness of what is symmetric."""
    return all(isinstance(it, float) and abs(it) < RESIDUE for it in (one, other))


@given(drawn=samples(), parts=st.sampled_from((5, 3, 7)))
@a_few
def test_any_values_in_any_parts_give_what_all_at_once_and_spark_s_own_give(
    spark: SparkSession, drawn: list[list[Event]], parts: int
) -> None:
    rows = framed(spark, drawn)
    at_once = by_key(results(states(rows, AGGREGATES, parts=1), AGGREGATES))
    dealt = states(rows, AGGREGATES, parts=parts)
    some = combined(dealt.withColumn("part", F.pmod("part", F.lit(2))), AGGREGATES, "key", "part")
    found = by_key(results(some, AGGREGATES))
    names = [asked.name for asked in AGGREGATES]
    assert len(found) > SAMPLES / 2 and {asked.op for asked in AGGREGATES} | {"custom"} == set(OPERATIONS)
    assert unlike(found, at_once, names) == []
    own = rows.groupBy("key").agg(*[F.expr(sql).alias(name) for name, sql in OWN.items()])
    assert unlike(found, by_key(own), list(OWN)) == []


@given(drawn=samples(), parts=st.sampled_from((5, 3, 7)))
@a_few
def test_what_a_condition_leaves_out_is_as_if_it_had_not_come(
    spark: SparkSession, drawn: list[list[Event]], parts: int
) -> None:
    rows = framed(spark, drawn)
    asked = [replace(it, where=CONDITION) for it in AGGREGATES]
    found = by_key(results(states(rows, asked, parts=parts), asked))
    left = states(rows.where(CONDITION), unconditional(asked), parts=1)
    wanted = by_key(results(left, unconditional(asked)))
    names = [it.name for it in asked]
    assert unlike({key: found[key] for key in wanted}, wanted, names) == []
    nothing = combined(left.where("false"), unconditional(asked))
    (of_nothing,) = nothing.select(*finish_columns(unconditional(asked), nothing.schema)).collect()
    emptied = found.keys() - wanted.keys()
    assert len(emptied) > 5
    assert unlike({key: found[key] for key in emptied}, dict.fromkeys(emptied, of_nothing), names) == []


def unconditional(asked: Sequence[Aggregate]) -> list[Aggregate]:
    return [replace(it, where=None) for it in asked]
