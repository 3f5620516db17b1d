"""Few rows in Python, whatever values are in them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pipelines.store.rows import has_any


def test_whether_there_is_a_row_is_told_of_dates_too_that_python_has_no_word_for(
    spark: SparkSession,
) -> None:
    rows = spark.range(1).selectExpr("date_from_unix_date(20000000) AS day", "id")
    assert has_any(rows)
    assert not has_any(rows.where("id > 0"))
