"""From a spec to a DAG: its tasks, how they hang together, and when it runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

import pendulum
import pytest
from airflow.sdk import DAG, Param, task
from airflow.serialization.serialized_objects import DagSerialization

from pipelines.errors import CorrectTheSpec
from pipelines.intervals import to_us
from pipelines.orchestration import batch_params, window_stages, windowed_dag, windows_asset
from pipelines.orchestration.params import FIELDS
from pipelines.orchestration.upkeep import upkeep_dag
from tests.orchestration.conftest import SPEC

TWO_SOURCES = """\
source: {format: csv, schema: "page STRING, seen TIMESTAMP", event_time: seen}
sources: {north: {path: data/north.csv}, south: {path: data/south.csv}}
"""
DAY_US = 86_400_000_000
GRAPH = {
    "choose_batch": {"open_batch", "close_spark"},
    "open_batch": {"accumulate", "combine", "finalise", "publish", "close_spark"},
    "accumulate": {"combine", "close_spark"},
    "combine": {"finalise", "close_spark"},
    "finalise": {"publish", "close_spark"},
    "publish": {"close_spark"},
    "close_spark": set(),
}


def graph(dag: DAG) -> dict[str, set[str]]:
    return {it.task_id: set(it.downstream_task_ids) for it in dag.tasks}


def write(spec: Path, more: str) -> Path:
    spec.write_text(SPEC + more)
    return spec


def test_the_tasks_are_the_walk(spec: Path) -> None:
    assert graph(windowed_dag(spec)) == GRAPH


def test_choosing_and_opening_are_the_setups_and_closing_the_teardown_that_tells_of_failure(
    spec: Path,
) -> None:
    dag = windowed_dag(spec)
    assert [it.task_id for it in dag.tasks if it.is_setup] == ["choose_batch", "open_batch"]
    assert [it.task_id for it in dag.tasks if it.is_teardown] == ["close_spark"]
    assert dag.get_task("close_spark").on_failure_fail_dagrun is True


def test_each_source_is_accumulated_by_a_task_that_bears_its_name(spec: Path) -> None:
    spec.write_text("".join(line for line in SPEC.splitlines(True) if "source" not in line) + TWO_SOURCES)
    accumulate = windowed_dag(spec).get_task("accumulate")
    assert accumulate.op_kwargs_expand_input.value == {"source": ["north", "south"]}
    assert "source" in accumulate.map_index_template


@pytest.mark.parametrize("name", ["choose_batch", "open_batch"])
def test_whoever_waits_for_another_batch_lets_go_of_its_worker(spec: Path, name: str) -> None:
    choosing = windowed_dag(spec).get_task(name)
    assert choosing.mode == "reschedule"
    assert choosing.timeout == timedelta(days=1).total_seconds()


def test_every_task_has_the_retry_rules_and_an_end(spec: Path) -> None:
    for it in windowed_dag(spec).tasks:
        assert it.retry_policy is not None, it.task_id
        assert it.execution_timeout == timedelta(hours=12), it.task_id


def test_publishing_updates_the_asset_of_the_pipeline(spec: Path) -> None:
    publish = windowed_dag(spec).get_task("publish")
    assert publish.outlets == [windows_asset("visits")]
    assert windows_asset("visits").uri == "sash://visits/windows"


def test_one_run_at_a_time(spec: Path) -> None:
    assert windowed_dag(spec).max_active_runs == 1


def test_the_form_has_our_fields_and_those_of_the_dag(spec: Path) -> None:
    dag = windowed_dag(spec, params=MappingProxyType({"mine": Param(1, type="integer")}))
    assert set(dag.params) == {*FIELDS, "mine"}
    assert dag.params.get_param("from").schema == batch_params()["from"].schema


def test_without_a_schedule_it_is_only_triggered(spec: Path) -> None:
    dag = windowed_dag(spec)
    assert dag.schedule is None
    assert dag.dag_id == "visits"


@pytest.mark.parametrize("catchup", [True, False])
def test_a_schedule_is_one_batch_after_the_other_from_its_start(spec: Path, catchup: bool) -> None:
    more = f"schedule: {{start: 2013-01-01, catchup: {str(catchup).lower()}}}\ntime: {{batch: 7 days}}\n"
    dag = windowed_dag(write(spec, more))
    assert dag.timetable.serialize() == {
        "start_us": to_us(datetime(2013, 1, 1, tzinfo=UTC)),
        "length_us": 7 * DAY_US,
        "until_us": None,
    }
    assert dag.catchup is catchup


@pytest.mark.parametrize("catchup", [True, False])
def test_the_dag_file_may_say_whether_it_catches_up(spec: Path, catchup: bool) -> None:
    other = f"schedule: {{start: 2013-01-01, catchup: {str(not catchup).lower()}}}\n"
    dag = windowed_dag(write(spec, other), catchup=catchup)
    assert (dag.catchup, dag.start_date is not None) == (catchup, catchup)


@pytest.mark.parametrize("until", [None, datetime(2013, 6, 1, tzinfo=UTC), pendulum.datetime(2013, 6, 1)])
def test_a_run_by_hand_has_its_tasks_also_before_the_schedule_begins_and_after_it_ends(
    until: datetime | None, spec: Path
) -> None:
    dag = windowed_dag(write(spec, "schedule: {start: 2013-01-01}\n"), end_date=until)
    kept = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert kept.timetable.until_us == (None if until is None else to_us(datetime(2013, 6, 1, tzinfo=UTC)))
    # Airflow makes no task of a run whose logical date is outside of these.
    assert {(it.start_date, it.end_date) for it in kept.tasks} == {(None, None)}


def test_a_run_by_hand_has_its_tasks_where_the_schedule_catches_up_later(spec: Path) -> None:
    dag = windowed_dag(write(spec, "schedule: {start: 2113-01-01, catchup: true}\n"))
    kept = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert {(it.start_date, it.end_date) for it in kept.tasks} == {(datetime(1970, 1, 1, tzinfo=UTC), None)}


def test_a_schedule_of_ones_own_is_taken_as_it_is(spec: Path) -> None:
    end = datetime(2014, 1, 1, tzinfo=UTC)
    there = write(spec, "schedule: {start: 2013-01-01, catchup: true}\n")
    dag = windowed_dag(there, schedule="@daily", end_date=end)
    assert (dag.schedule, dag.end_date, dag.catchup) == ("@daily", end, True)
    assert dag.start_date == datetime(2013, 1, 1, tzinfo=UTC)


def test_what_the_dag_file_says_wins_over_the_spec(spec: Path) -> None:
    dag = windowed_dag(spec, dag_id="mine", tags=["a"], default_args={"retries": 7, "owner": "me"})
    assert (dag.dag_id, dag.tags) == ("mine", {"a"})
    assert dag.get_task("combine").retries == 7
    assert dag.get_task("combine").owner == "me"
    assert dag.get_task("combine").retry_policy is not None


def test_the_page_of_the_dag_tells_what_it_computes(spec: Path) -> None:
    for says in ("`page`", "`visits`", "`hourly`", "1 day", "visits.yml"):
        assert says in str(windowed_dag(spec).doc_md)


def test_a_spec_that_is_wrong_is_refused_whole(spec: Path) -> None:
    spec.write_text(SPEC.replace("1 hour", "1 month") + "colour: blue\n")
    with pytest.raises(CorrectTheSpec) as refused:
        windowed_dag(spec)
    assert "1 month" in str(refused.value)
    assert "colour" in str(refused.value)


def test_in_a_dag_of_ones_own_the_tasks_are_a_group_between_others(spec: Path) -> None:
    with DAG("own", schedule=None) as dag:
        before = task(task_id="extract")(lambda: None)()
        after = task(task_id="notify")(lambda: None)()
        before >> window_stages(spec) >> after
    inner = {f"visits.{name}": {f"visits.{it}" for it in after} for name, after in GRAPH.items()}
    inner["visits.publish"].add("notify")
    assert graph(dag) == {"extract": {"visits.choose_batch"}, "notify": set(), **inner}


def test_two_groups_of_one_spec_have_names_of_their_own(spec: Path) -> None:
    with DAG("own", schedule=None, default_args={"retries": 1}) as dag:
        window_stages(spec, group_id="first")
        window_stages(spec, group_id="second", default_args={"retries": 9})
    assert len(dag.tasks) == 2 * len(GRAPH)
    assert dag.get_task("second.combine").retries == 9


def test_the_address_of_a_store_is_in_nothing_that_airflow_shows(spec: Path) -> None:
    store = "s3a://KEY:SECRET@events/x"
    for it in (it for dag in (windowed_dag(spec, store=store), upkeep_dag(store=store)) for it in dag.tasks):
        known = vars(it)
        shown = [getattr(it, "python_callable", None), known.get("op_kwargs"), known.get("partial_kwargs")]
        assert "SECRET" not in repr(shown), it.task_id
