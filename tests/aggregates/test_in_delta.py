"""States and results of every operation go through a Delta table as they are, and other readers read them."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.aggregates import are_alike, finish_columns, part_columns
from tests.aggregates.states import combined, states
from tests.aggregates.test_values import AGGREGATES, events


def test_states_are_the_same_after_a_table(spark: SparkSession, tmp_path: Path) -> None:
    partials = states(events(spark), AGGREGATES, parts=2).cache()
    partials.write.format("delta").save(str(tmp_path / "states"))
    read = spark.read.format("delta").load(str(tmp_path / "states"))
    paired = partials.alias("one").join(read.alias("other"), on=["key", "part"], how="inner")
    verdicts = [
        are_alike(F.col(f"one.{part}"), F.col(f"other.{part}"), kind=partials.schema[part].dataType).alias(
            part
        )
        for part in part_columns(AGGREGATES)
    ]
    unlike = [
        name for row in paired.select(*verdicts).collect() for name, same in row.asDict().items() if not same
    ]
    assert unlike == []
    whole = combined(read, AGGREGATES, "key")
    whole.select("key", *finish_columns(AGGREGATES, whole.schema)).write.format("delta").save(
        str(tmp_path / "results")
    )
    for table in ("states", "results"):
        assert (
            DeltaTable(tmp_path / table).to_pyarrow_table().num_rows
            == spark.read.format("delta").load(str(tmp_path / table)).count()
        )
