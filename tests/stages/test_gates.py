"""A check that stops a run is told, whatever becomes of the rows that would show it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipelines.checks import Expectation, Result
from pipelines.stages.gates import _samples


def maximum(bound: str) -> Result:
    expectation = Expectation(
        stage="panes",
        name="expect_column_max_to_be_between",
        arguments=(("column", "delay"), ("max_value", bound)),
    )
    return Result(expectation=expectation, column="delay", success=False, observed="812.5")


@pytest.mark.parametrize(
    ("delay", "bound"),
    [("DATE '2024-01-01'", "600"), ("raise_error('no delay')", "2024-01-01"), ("true", "2024-01-01")],
)
def test_rows_that_cannot_be_computed_are_not_shown(spark: SparkSession, delay: str, bound: str) -> None:
    rows = spark.range(1).selectExpr(f"{delay} AS delay")
    assert _samples(maximum(bound), lambda: rows) == []


def test_rows_that_can_be_computed_are_shown(spark: SparkSession) -> None:
    rows = spark.range(1).selectExpr("DATE '2024-01-02' AS delay")
    assert _samples(maximum("2024-01-01"), lambda: rows) == [{"delay": "2024-01-02"}]
