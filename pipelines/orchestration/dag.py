"""From a spec to a DAG: `dag = windowed_dag("airport_traffic.yml")`, with the spec beside the DAG file.

A spec that cannot be run is an import error of the DAG file, with every problem of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from pipelines.intervals import from_us
from pipelines.orchestration.group import beside_caller, stage_tasks
from pipelines.orchestration.params import FIELDS, batch_params
from pipelines.orchestration.retries import stage_defaults
from pipelines.orchestration.tasks import BatchTasks
from pipelines.orchestration.timetable import BatchTimetable, us_of
from pipelines.spec import Pipeline, load, show_duration


def windowed_dag(
    spec: str | Path,
    *,
    spark_conn_id: str | None = None,
    store: str | None = None,
    end_date: datetime | None = None,
    **dag_kwargs: object,
) -> DAG:
    """The DAG of a spec: one run is one batch. Airflow looks only at files in which the words `dag` and
    `airflow` stand, be it in a comment.

    `spark_conn_id` names the Airflow connection to Spark, `store` the store (else `SASH_STORE`); after
    `end_date` no batch is scheduled. Everything else is handed to Airflow's `DAG` and wins over what the
    spec says. With a `schedule` of your own, `end_date` and the spec's start are the DAG's: of a run by hand
    whose logical date lies outside, Airflow makes no tasks. Raises `CorrectTheSpec`.
    """
    pipeline = load(beside_caller(spec))
    if "catchup" in dag_kwargs and pipeline.schedule is not None:
        schedule = replace(pipeline.schedule, catchup=bool(dag_kwargs["catchup"]))
        pipeline = replace(pipeline, schedule=schedule)
    params = {**batch_params(), **_mapping(dag_kwargs.pop("params", None))}
    defaults = {**stage_defaults(), **_mapping(dag_kwargs.pop("default_args", None))}
    others = frozenset(params) - set(FIELDS)
    is_dated = pipeline.schedule is not None and "schedule" not in dag_kwargs
    of_spec = _settings(pipeline, is_dated=is_dated)
    of_schedule = _dates(pipeline, end_date) if "schedule" in dag_kwargs else _schedule(pipeline, end_date)
    settings = {**of_spec, **of_schedule, **dag_kwargs, "params": params, "default_args": defaults}
    tasks = BatchTasks(spec=pipeline.path, store=store, spark_conn_id=spark_conn_id, others=others)
    with DAG(**settings) as dag:
        stage_tasks(pipeline, tasks)
    return dag


def _settings(pipeline: Pipeline, *, is_dated: bool) -> dict[str, object]:
    return {
        "dag_id": pipeline.name,
        "description": pipeline.description or None,
        "doc_md": describe(pipeline, is_dated=is_dated),
        "tags": ["sash"],
        "max_active_runs": 1,
    }


def _schedule(pipeline: Pipeline, end_date: datetime | None) -> dict[str, object]:
    """The spec's own schedule.

    The timetable says when it starts and ends, not the DAG: a run by hand before or after would be without
    tasks, and a success.
    """
    schedule = pipeline.schedule
    if schedule is None:
        return {"schedule": None}
    until_us = None if end_date is None else us_of(end_date)
    timetable = BatchTimetable(start_us=schedule.start_us, length_us=pipeline.batch_us, until_us=until_us)
    # Airflow asks for a start where it catches up; the timetable begins later.
    start = {"start_date": from_us(min(schedule.start_us, 0))} if schedule.catchup else {}
    return {"schedule": timetable, "catchup": schedule.catchup, **start}


def _dates(pipeline: Pipeline, end_date: datetime | None) -> dict[str, object]:
    """What the spec says of a schedule that the DAG file sets itself."""
    dates: dict[str, object] = {} if end_date is None else {"end_date": end_date}
    if pipeline.schedule is None:
        return dates
    return {**dates, "start_date": from_us(pipeline.schedule.start_us), "catchup": pipeline.schedule.catchup}


def describe(pipeline: Pipeline, *, is_dated: bool) -> str:
    """What the DAG's page says: what it computes, from what, and how to run it by hand, be it by dates."""
    key = ", ".join(f"`{name}`" for name in pipeline.key) or "one key for everything"
    dated = "; with a data interval, or the start of a batch as its logical date, it takes that one"
    lines = [
        f"### {pipeline.description or pipeline.name}",
        f"Computed per {key}: {', '.join(f'`{it.name}`' for it in pipeline.aggregates)}; windows "
        f"{', '.join(f'`{it.name}`' for it in pipeline.windows)}; from "
        f"{', '.join(f'`{it.name}`' for it in pipeline.sources)}.",
        "One run is one batch: the events that *arrived* in an interval, "
        f"{show_duration(pipeline.batch_us)} long unless you say. A run triggered without params takes "
        f"the next batch after the newest, or the newest again if it has failed{dated if is_dated else ''}.",
        f"The spec is `{pipeline.path.name}`.",
    ]
    return "\n\n".join(lines)


def _mapping(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {}
