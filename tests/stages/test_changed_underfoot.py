"""An input that changes between the two passes over it: nothing of it is lost without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import RunAgain
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, accumulating, run_batch
from tests.walk.stand import Stored

HOUR = 3_600_000_000
SPEC = """
name: rides
source: {format: csv, path: rides.csv, options: {header: true}, schema: "fare INT, at TIMESTAMP,
  heard TIMESTAMP", event_time: at, arrival_time: heard}
key: []
aggregates: {total: {sum: fare}}
windows: {hourly: {tumbling: 1 hour}, daily: {tumbling: 1 day}}
"""
LATE, IN_TIME = ("2024-01-01T00:30:00Z", "2024-01-01T02:30:00Z")
RIDES = f"""fare,at,heard
1,2024-01-01T01:50:00Z,2024-01-01T01:50:00Z
2,{LATE},2024-01-01T02:40:00Z
4,2024-01-01T02:50:00Z,2024-01-01T02:50:00Z
"""
FIRST_US = 1_704_067_200_000_000


@pytest.mark.parametrize(
    ("old", "new", "found"), [(LATE, IN_TIME, 0), ("4,2024-01-01T02", "4,2024-01-01T00", 2)]
)
def test_a_row_that_is_late_in_one_pass_alone_makes_the_batch_run_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, found: int
) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "rides.yml").write_text(SPEC)
    data = tmp_path / "rides.csv"
    data.write_text(RIDES)
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "rides.yml", home=tmp_path))
    list(run_batch(site, Request(batch=Interval(FIRST_US, FIRST_US + 2 * HOUR))))
    second = Request(batch=Interval(FIRST_US + 2 * HOUR, FIRST_US + 3 * HOUR))
    between = accumulating.write_ids

    def changing(*asked: object, **named: object) -> None:
        data.write_text(data.read_text().replace(old, new))
        between(*asked, **named)

    with monkeypatch.context() as patched:
        patched.setattr(accumulating, "write_ids", changing)
        with pytest.raises(RunAgain, match=f"1 rows were late, {found} were found again: the input changed"):
            list(run_batch(site, second))
    list(run_batch(site, second))
    late = Stored(tmp_path / "store" / "rides").rows("late_events")
    assert len(late) == found
    assert all(row["missed"] == 1 and row["kept"] == 0 for row in late)
