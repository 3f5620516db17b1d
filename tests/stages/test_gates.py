"""A check that stops a run is told, whatever becomes of the rows that would show it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.checks import Expectation, Result
from pipelines.errors import RunAgain
from pipelines.spec import load
from pipelines.stages import Site
from pipelines.stages.gates import _samples, _told


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


def test_of_rows_that_could_not_be_read_nothing_is_said_and_of_others_no_secret(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "dags").mkdir()
    spec = tmp_path / "dags" / "rides.yml"
    spec.write_text(
        "name: rides\nsource: {format: jdbc, options: {url: 'jdbc:x', password: hunter2}, event_time: at}\n"
        "key: []\naggregates: {rides: count}\nwindows: {hourly: {tumbling: 1 hour}}\n"
    )
    site = Site(spark, str(tmp_path / "store"), load(spec))
    failed = replace(maximum("600"), is_computed=False)
    said = "could not be computed: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///a."
    with pytest.raises(RunAgain, match=r"the file /a cannot be read: .* and run the batch again"):
        _told(site, replace(failed, observed=said))
    other = _told(
        site, replace(failed, observed="could not be computed: no login by u, hunter2 at ftp://u:w@h")
    )
    assert other.observed == "could not be computed: no login by u, *** at ftp://u:***@h"
    assert _told(site, maximum("600")) == maximum("600")
