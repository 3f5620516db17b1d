"""An input that changes between the two passes over it: nothing of it is lost without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheCall, LookAtTheData, RunAgain
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, accumulating, run_batch, run_stage
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


def test_rows_that_are_others_than_those_that_were_accumulated_are_not_asked_in_their_place(
    spark: SparkSession, tmp_path: Path
) -> None:
    for folder in ("dags", "expectations"):
        (tmp_path / folder).mkdir()
    (tmp_path / "expectations" / "rides.yml").write_text(
        "events:\n  - expect_column_mean_to_be_between: {column: fare, min_value: 3}\n"
    )
    spec = SPEC.replace("arrival_time: heard}", "arrival_time: heard, event_id: {of: [heard]}}")
    (tmp_path / "dags" / "rides.yml").write_text(f"expectations: expectations/rides.yml{spec}")
    data = tmp_path / "rides.csv"
    data.write_text(RIDES)
    site = Site(spark, str(tmp_path / "store"), load(tmp_path / "dags" / "rides.yml", home=tmp_path))
    request = Request(batch=Interval(FIRST_US, FIRST_US + 3 * HOUR), final=True)
    with pytest.raises(LookAtTheData, match=r"found 2\.33"):
        list(run_batch(site, request))
    # As many rows as before; in another order the same are the same.
    header, first, *others = RIDES.splitlines()
    data.write_text("\n".join([header, *others, first.replace("1,", "9,", 1)]))
    with pytest.raises(CorrectTheCall, match=r"its rows are others now .* run the stage accumulate again"):
        run_stage(site, request, stage="combine")
    data.write_text("\n".join([header, *others, first]))
    with pytest.raises(LookAtTheData, match=r"found 2\.33"):
        run_stage(site, request, stage="combine")
    data.write_text(RIDES.replace("1,", "9,", 1))
    list(run_batch(site, request))
    windows = Stored(tmp_path / "store" / "rides").rows("windows")
    assert sum(row["total"] for row in windows if row["window"] == "daily") == 15
    data.write_text("\n".join([header, *others]))
    (warned,) = [it for report in run_batch(site, request) for it in report.warnings if "last ran" in it]
    assert "has 2 rows now, and had 3 when it last ran: what had counted" in warned
