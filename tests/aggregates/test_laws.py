"""The laws of every operation, over sample events of every type that it takes.

Each law is also tried on a planted operation that breaks it, and has to refuse that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    IntegralType,
    LongType,
    NumericType,
    StringType,
    StructType,
)

from pipelines.aggregates import Operation, laws_kept, operation_of
from pipelines.aggregates.items import ITEMS
from pipelines.aggregates.kinds import kinds_of
from pipelines.aggregates.laws import DEDUCT, DEDUCT_ALL, SAME
from pipelines.aggregates.operation import Over, to_group
from pipelines.aggregates.registry import OPERATIONS
from pipelines.aggregates.sums import COUNT, ROWS, SUM, TOTAL
from pipelines.spec.model import Aggregate
from pipelines.spec.operations import OPTIONS

LONG, DOUBLE, MONEY, TEXT, FLAG = LongType(), DoubleType(), DecimalType(9, 2), StringType(), BooleanType()
PAIR = StructType().add("a", LongType()).add("b", DoubleType())
TOLD = {"by": "by_value", "n": 3, "k": 2, "q": (0.25, 0.5), "of": "value"}
GROWING = ("distinct", "collect_set", "histogram", "approx_top_k")
BUILT_IN = sorted(set(OPERATIONS) - {"custom"})


def aggregate_of(op: str) -> Aggregate:
    of = "tests.aggregates.mine:SUM_OF_SQUARES" if op == "custom" else "value"
    return Aggregate(
        name="it", op=op, of=of, options=tuple((name, TOLD[name]) for name in OPTIONS.get(op, ()))
    )


def kinds_for(op: str) -> list[DataType]:
    """One type of each kind that the operation takes, and a nested one where it takes all."""
    wanted = kinds_of(op)
    if wanted == (NumericType,):
        return [LONG, MONEY, DOUBLE]
    if wanted == (IntegralType,):
        return [LONG]
    return [FLAG] if wanted == (BooleanType,) else [LONG, DOUBLE, TEXT, PAIR]


@pytest.mark.parametrize("op", BUILT_IN)
def test_a_part_says_whether_its_states_are_collected_and_whether_they_grow(
    spark: SparkSession, op: str
) -> None:
    for part in operation_of(aggregate_of(op)).parts:
        combined = str(part.combine(F.col("states"), to_group))
        assert part.gathers == ("collect_list" in combined and op != "collect_list"), part.name
        assert part.grows == (op in GROWING), part.name


def broken_laws(spark: SparkSession, op: str, kind: DataType) -> list[str]:
    (kept,) = laws_kept(spark, aggregate_of(op), kind=kind).collect()
    return [law for law, is_kept in kept.asDict().items() if not is_kept]


@contextmanager
def planted(operation: Operation) -> Iterator[str]:
    OPERATIONS["planted"] = operation
    try:
        yield "planted"
    finally:
        del OPERATIONS["planted"]


def test_the_spec_and_the_registry_know_the_same_operations() -> None:
    assert set(OPTIONS) == set(OPERATIONS)


@pytest.mark.parametrize("op", BUILT_IN)
def test_an_operation_keeps_all_laws_on_the_first_of_its_types(spark: SparkSession, op: str) -> None:
    assert broken_laws(spark, op, kinds_for(op)[0]) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "kind"), [(op, kind) for op in BUILT_IN for kind in kinds_for(op)[1:]], ids=str
)
def test_an_operation_keeps_all_laws_on_its_other_types(spark: SparkSession, op: str, kind: DataType) -> None:
    assert broken_laws(spark, op, kind) == []


@pytest.mark.parametrize("kind", [MONEY, DOUBLE], ids=str)
def test_a_custom_operation_keeps_the_laws_too(spark: SparkSession, kind: DataType) -> None:
    assert broken_laws(spark, "custom", kind) == []


def one_for_none(states: Column, over: Over) -> Column:
    return over(F.sum(F.coalesce(states, F.lit(1))))


OF_TWO, AT_ONCE = "merging two states is combining them", "finishing a combination is finishing all at once"
ORDER, EMPTY, NULL = (
    "combining is commutative",
    "an empty state changes nothing",
    "a null state changes nothing",
)
LATEST = replace(
    TOTAL,
    accumulate=F.max,
    combine=lambda states, over: over(F.last(states, ignorenulls=True)),
    merge=lambda one, other: F.coalesce(other, one),
    deduct=None,
)
BROKEN = [
    ("forgets", replace(COUNT, parts=(replace(ROWS, combine=lambda it, over: over(F.max(it))),)), AT_ONCE),
    ("goes by order", replace(SUM, parts=(LATEST, ROWS)), ORDER),
    (
        "counts states",
        replace(COUNT, parts=(replace(ROWS, combine=lambda it, over: over(F.sum(it) + F.count(F.lit(1)))),)),
        EMPTY,
    ),
    (
        "is lost to null",
        replace(COUNT, parts=(replace(ROWS, combine=one_for_none),)),
        NULL,
    ),
    ("merges otherwise", replace(COUNT, parts=(replace(ROWS, merge=lambda one, other: one),)), OF_TWO),
    ("over-deducts", replace(COUNT, parts=(replace(ROWS, deduct=lambda one, _: one),)), DEDUCT),
    (
        "leaves a zero of nothing",
        replace(
            COUNT,
            parts=(replace(TOTAL, accumulate=F.sum, combine=lambda it, over: over(F.sum(it))),),
            finish=lambda parts, types: parts["total"],
        ),
        DEDUCT_ALL,
    ),
    (
        "averages averages",
        replace(
            SUM,
            parts=(
                replace(
                    TOTAL, accumulate=F.avg, combine=lambda it, over: over(F.avg(it)), deduct=None,
                    merge=lambda one, other: (one + other) / 2,
                ),
                ROWS,
            ),
        ),
        "combining is associative",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "law"), [it[1:] for it in BROKEN], ids=[it[0] for it in BROKEN])
def test_a_planted_operation_that_breaks_a_law_is_refused(
    spark: SparkSession, operation: Operation, law: str
) -> None:
    with planted(operation) as name:
        assert law in broken_laws(spark, name, LONG)


def test_every_law_has_a_planted_operation() -> None:
    assert {law for _, _, law in BROKEN} == {*SAME, DEDUCT, DEDUCT_ALL}


def test_what_deducts_is_what_the_contract_says() -> None:
    able = {op for op in BUILT_IN if all(part.deduct for part in operation_of(aggregate_of(op)).parts)}
    assert able == {"count", "sum", "avg", "bit_xor", "histogram", "collect_list"}


def test_doubles_are_never_deducted() -> None:
    assert not TOTAL.deducts(DOUBLE)
    assert TOTAL.deducts(MONEY) and ITEMS.deducts(LONG)
