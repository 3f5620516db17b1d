"""When two states or results are the same: to the bit for exact types, but for rounding where doubles are."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType

from pipelines.aggregates import are_alike, is_unchanged, operation_of
from pipelines.aggregates.comoments import COMOMENTS
from pipelines.aggregates.likeness import PUT_IN_ORDER
from pipelines.aggregates.moments import MOMENTS
from tests.aggregates.test_laws import BUILT_IN, aggregate_of

NEAR = "0.1D + 0.2D", "0.3D"

ALIKE = [
    NEAR,
    ("double('nan')", "double('nan')"),
    ("double('inf')", "double('inf')"),
    ("CAST(NULL AS DOUBLE)", "CAST(NULL AS DOUBLE)"),
    (f"array({NEAR[0]}, null)", f"array({NEAR[1]}, null)"),
    (f"named_struct('a', {NEAR[0]}, 'b', 1)", f"named_struct('a', {NEAR[1]}, 'b', 1)"),
    ("map('x', 1L, 'y', 2L)", "map('y', 2L, 'x', 1L)"),
    (f"map('x', {NEAR[0]})", f"map('x', {NEAR[1]})"),
    ("map('x', map('y', 1))", "map('x', map('y', 1))"),
    ("named_struct('a', map(1, array(2.5D)))", "named_struct('a', map(1, array(2.5D)))"),
    ("named_struct('sketch', X'01', 'fingerprint', 5)", "named_struct('sketch', X'02', 'fingerprint', 5)"),
    ("CAST(NULL AS STRUCT<a: INT>)", "CAST(NULL AS STRUCT<a: INT>)"),
]
UNLIKE = [
    ("1.0D", "1.000001D"),
    ("double('inf')", "1e308D"),
    ("1.0e308D", "1.7e308D"),
    ("double('nan')", "1D"),
    ("CAST(NULL AS DOUBLE)", "0D"),
    ("array(1D)", "array(1D, 1D)"),
    ("array(1D, null)", "array(1D, 2D)"),
    ("map('x', 1L)", "map('x', 2L)"),
    ("map('x', 1L)", "map('y', 1L)"),
    ("map('x', map('y', 1))", "map('x', map('y', 2))"),
    ("map('x', map('y', 1))", "map('z', map('y', 1))"),
    ("map('x', 1L)", "map('x', 1L, 'y', 1L)"),
    ("named_struct('a', CAST(NULL AS INT))", "CAST(NULL AS STRUCT<a: INT>)"),
    ("named_struct('sketch', X'01', 'fingerprint', 5)", "named_struct('sketch', X'01', 'fingerprint', 6)"),
    ("X'01'", "X'02'"),
]


@pytest.mark.parametrize("wanted", [True, False])
def test_values_are_alike_or_not_whichever_comes_first(spark: SparkSession, wanted: bool) -> None:
    pairs = ALIKE if wanted else UNLIKE
    sql = [F.expr(one).alias(f"one_{number}") for number, (one, _) in enumerate(pairs)]
    sql += [F.expr(other).alias(f"other_{number}") for number, (_, other) in enumerate(pairs)]
    values = spark.range(1).select(*sql)
    verdicts = []
    for number in range(len(pairs)):
        one, other = F.col(f"one_{number}"), F.col(f"other_{number}")
        kind = values.schema[f"one_{number}"].dataType
        verdicts += [are_alike(one, other, kind=kind), are_alike(other, one, kind=kind)]
    found = list(values.select(*[it.alias(str(number)) for number, it in enumerate(verdicts)]).first())
    wrong = [pairs[number // 2] for number, it in enumerate(found) if it is not wanted]
    assert wrong == []


def test_what_is_picked_is_the_same_only_when_it_is_equal(spark: SparkSession) -> None:
    near = spark.createDataFrame([(1.7e18, 1.7e18 + 1e5)], "one DOUBLE, other DOUBLE")
    one, other, kind = F.col("one"), F.col("other"), DoubleType()
    told = [is_unchanged(one, other, kind=kind, op=op).alias(op) for op in ("max", "sum")]
    (row,) = near.select(*told, is_unchanged(one, one, kind=kind, op="max").alias("itself")).collect()
    assert row.asDict() == {"max": False, "sum": True, "itself": True}


@pytest.mark.parametrize("op", ["histogram", "approx_top_k", "approx_quantile"])
def test_what_is_counted_by_its_value_is_the_same_only_when_that_is_equal(
    spark: SparkSession, op: str
) -> None:
    maps = [F.expr(f"map({it}, 1L)").alias(name) for it, name in zip(NEAR, ("one", "other"), strict=True)]
    near = spark.range(1).select(*maps)
    kind = near.schema["one"].dataType
    told = [is_unchanged(F.col("one"), F.col(it), kind=kind, op=op).alias(it) for it in ("one", "other")]
    assert list(near.select(*told).first()) == [True, False]


def test_states_whose_values_are_put_in_order_are_those_of_moments() -> None:
    parts = {op: operation_of(aggregate_of(op)).parts for op in BUILT_IN}
    assert set(PUT_IN_ORDER) == {op for op, held in parts.items() if held in [(MOMENTS,), (COMOMENTS,)]}
