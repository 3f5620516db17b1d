"""The example of the contract comes out as the values that it says."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines.spec import Aggregate, Panes, Schedule, Sliding, Source, Window, frame_us, load, parse_instant
from pipelines.spec.model import EachBatch, EventId, Retention
from tests.spec.conftest import Read, Refused

HOUR, DAY = 3_600_000_000, 86_400_000_000

EXAMPLE = """\
name: airport_traffic
description: Arrivals and delays by airport of origin
source:
  format: parquet
  path: data/flights
  options: {mergeSchema: true, version: 1.10}
  select: {delay: "cast(arr_delay AS double)"}
  where: "carrier <> 'XX'"
  event_time: event_time
  arrival_time: arrival_time
  event_id: {of: [carrier, flight, sched_dep], within: 30 days}
  substream: origin
sources:
  ewr: {path: data/flights/ewr}
  jfk: {path: "data/flights/jfk/{from:%Y-%m-%d}", max_disorder: 1 hour}
key: [origin]
aggregates:
  flights: count
  mean_delay: {avg: arr_delay}
  delayed: {count: "*", where: "arr_delay > 15"}
windows:
  hourly: {tumbling: 1 hour}
  rolling:
    {sliding: 2 hours, step: 30 min, allowed_lateness: 1 day, panes: {early: each batch, mode: retracting}}
schedule: {start: 2013-01-01, catchup: false}
time:
  batch: 7 days
  max_disorder: 30 minutes
  idle_after: 6 hours
  allowed_lateness: 6 hours
  max_ahead: 1 day
panes:
  early: none
  late: each batch
  mode: accumulating
retention: {frames: 2 years, late_events: 90 days}
expectations: expectations/airport_traffic.yml
"""


def source(name: str, path: str, disorder_us: int) -> Source:
    return Source(
        name=name,
        format="parquet",
        path=path,
        options=(("mergeSchema", "true"), ("version", "1.10")),
        select=(("delay", "cast(arr_delay AS double)"),),
        where="carrier <> 'XX'",
        event_time="event_time",
        arrival_time="arrival_time",
        event_id=EventId(of=("carrier", "flight", "sched_dep"), within_us=30 * DAY),
        substream="origin",
        max_disorder_us=disorder_us,
        idle_after_us=6 * HOUR,
        max_ahead_us=DAY,
    )


def test_the_example_is_read_as_it_says(read: Read) -> None:
    pipeline = read(text=EXAMPLE)
    assert pipeline.name == "airport_traffic"
    assert pipeline.description == "Arrivals and delays by airport of origin"
    assert pipeline.key == ("origin",)
    assert pipeline.schedule == Schedule(start_us=parse_instant("2013-01-01"), catchup=False)
    assert pipeline.batch_us == 7 * DAY
    assert pipeline.retention == Retention(frames_us=732 * DAY, late_events_us=90 * DAY)
    assert pipeline.expectations == pipeline.home / "expectations" / "airport_traffic.yml"


def test_its_sources_are_the_shared_one_overridden_key_by_key(read: Read) -> None:
    assert read(text=EXAMPLE).sources == (
        source("ewr", "data/flights/ewr", HOUR // 2),
        source("jfk", "data/flights/jfk/{from:%Y-%m-%d}", HOUR),
    )


def test_a_source_may_be_without_a_limit_that_the_others_have(read: Read) -> None:
    unlimited = ("path: data/flights/ewr}", "path: data/flights/ewr, idle_after: never, max_ahead: none}")
    ewr, jfk = read(unlimited, text=EXAMPLE).sources
    assert (ewr.idle_after_us, ewr.max_ahead_us) == (None, None)
    assert (jfk.idle_after_us, jfk.max_ahead_us) == (6 * HOUR, DAY)
    for source_ in read(("idle_after: 6 hours", "idle_after: never"), text=EXAMPLE).sources:
        assert source_.idle_after_us is None


def test_its_aggregates_and_windows_stand_in_their_order(read: Read) -> None:
    pipeline = read(text=EXAMPLE)
    assert pipeline.aggregates == (
        Aggregate(name="flights", op="count"),
        Aggregate(name="mean_delay", op="avg", of="arr_delay"),
        Aggregate(name="delayed", op="count", of="*", where="arr_delay > 15"),
    )
    hourly, rolling = Sliding(size_us=HOUR, step_us=HOUR), Sliding(size_us=2 * HOUR, step_us=HOUR // 2)
    undone = Panes(early=EachBatch(), mode="retracting")
    assert pipeline.windows == (
        Window(name="hourly", shape=hourly, allowed_lateness_us=6 * HOUR, panes=Panes()),
        Window(name="rolling", shape=rolling, allowed_lateness_us=DAY, panes=undone),
    )
    assert frame_us(pipeline) == HOUR // 2


def test_what_is_not_said_has_the_default_of_the_contract(read: Read) -> None:
    pipeline = read()
    assert pipeline.sources == (Source(name="main", format="parquet", path="data/rides", event_time="at"),)
    assert (pipeline.batch_us, pipeline.schedule, pipeline.expectations) == (DAY, None, None)
    assert [window.allowed_lateness_us for window in pipeline.windows] == [0]


@pytest.mark.parametrize(
    "written",
    [
        "2013-01-01",
        "'2013-01-01'",
        "2013-01-01 00:00:00",
        "2013-01-01T00:00:00Z",
        "2013-01-01T01:00:00+01:00",
    ],
)
def test_an_instant_is_the_same_however_yaml_reads_it(written: str, read: Read) -> None:
    pipeline = read(("key:", f"schedule: {{start: {written}}}\nkey:"))
    assert pipeline.schedule == Schedule(start_us=parse_instant("2013-01-01"))


def test_paths_start_at_the_argument_else_at_sash_home_else_beside_the_folder(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read().home == tmp_path
    path = tmp_path / "dags" / "rides.yml"
    monkeypatch.setenv("SASH_HOME", str(tmp_path / "named"))
    assert load(path).home == tmp_path / "named"
    assert load(path, home=tmp_path / "given").home == tmp_path / "given"


def test_relative_paths_do_not_start_where_spark_reads_a_glob(
    read: Read, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SASH_HOME", str(tmp_path / "v[2]"))
    (problem,) = refused()
    assert f"relative paths start at {tmp_path}/v[2], and Spark takes `[` for a part of a glob" in problem
    for path in ("/data/rides", "s3a://data/rides"):
        assert read(("path: data/rides", f"path: {path}")).home == tmp_path / "v[2]"


def test_a_spec_is_read_in_a_fraction_of_the_half_second_that_a_dag_file_has(read: Read) -> None:
    def seconds() -> float:
        """Of this process alone, whatever else the machine does."""
        started = time.process_time()
        read(text=EXAMPLE)
        return time.process_time() - started

    assert min(seconds() for _ in range(3)) < 0.2


def test_reading_a_spec_imports_no_spark() -> None:
    program = (
        "import sys, pipelines.spec; print([n for n in sys.modules if n in ('pyspark', 'pandas', 'airflow')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_spec_has_the_same_home_whatever_way_leads_to_it(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read()
    below = tmp_path / "dags" / "team"
    below.mkdir()
    monkeypatch.chdir(below)
    assert load(Path("../rides.yml")).home == load(Path("./../../dags/rides.yml")).home == tmp_path
    (tmp_path / "airflow").mkdir()
    (tmp_path / "airflow" / "dags").symlink_to(tmp_path / "dags")
    assert load(tmp_path / "airflow" / "dags" / "rides.yml").home == tmp_path
