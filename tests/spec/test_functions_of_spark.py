"""Every function of the installed Spark is either refused or over the row and the same in a second run."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipelines.spec.functions import AGGREGATE, CLOCK, CONTEXT, OUTSIDE, RANDOM, WHY, WINDOW

pytestmark = pytest.mark.spark

TELLING = ("current_", "input_file_", "rand", "reflect", "java_method", "partition_id", "_increasing_")


@pytest.fixture(scope="module")
def classes(spark: SparkSession) -> dict[str, str]:
    """The class that computes each of Spark's functions."""
    names = [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    return {name: class_of(spark, name) for name in names if name[0].isalpha()}


def class_of(spark: SparkSession, name: str) -> str:
    told = [row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect()]
    return next((line.split("Class:")[1].strip() for line in told if "Class:" in line), "")


def test_every_name_that_is_refused_is_a_function_of_spark(classes: dict[str, str]) -> None:
    assert set(WHY) - set(classes) == set()


def test_every_function_that_spark_computes_over_several_rows_is_refused(classes: dict[str, str]) -> None:
    kinds = {name: kind.rsplit(".", 1)[0].rsplit(".", 1)[-1] for name, kind in classes.items()}
    aggregates = {name for name, kind in kinds.items() if kind == "aggregate"}
    assert len(aggregates) > 50
    assert aggregates - AGGREGATE - WINDOW == set()


def test_every_name_that_tells_of_chance_or_place_is_refused(classes: dict[str, str]) -> None:
    telling = {name for name in classes if any(part in name for part in TELLING)}
    assert len(telling) > 15
    assert telling - RANDOM - CLOCK - CONTEXT - OUTSIDE == set()
