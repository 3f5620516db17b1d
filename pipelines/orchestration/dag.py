"""From a spec to a DAG: `dag = windowed_dag("airport_traffic.yml")`, with the spec beside the DAG file.

A spec that cannot be run is an import error of the DAG file, with every problem of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from pipelines.intervals import from_us, to_us
from pipelines.orchestration.group import beside_caller, stage_tasks
from pipelines.orchestration.params import FIELDS, batch_params
from pipelines.orchestration.retries import stage_defaults
from pipelines.orchestration.tasks import BatchTasks
from pipelines.orchestration.timetable import BatchTimetable
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
    spec says. Raises `CorrectTheSpec`.
    """
    pipeline = load(beside_caller(spec))
    params = {**batch_params(), **_mapping(dag_kwargs.pop("params", None))}
    defaults = {**stage_defaults(), **_mapping(dag_kwargs.pop("default_args", None))}
    others = frozenset(params) - set(FIELDS)
    ends = {} if end_date is None or "schedule" not in dag_kwargs else {"end_date": end_date}
    of_spec = _settings(pipeline, end_date)
    settings = {**of_spec, **ends, **dag_kwargs, "params": params, "default_args": defaults}
    tasks = BatchTasks(spec=pipeline.path, store=store, spark_conn_id=spark_conn_id, others=others)
    with DAG(**settings) as dag:
        stage_tasks(pipeline, tasks)
    return dag


def _settings(pipeline: Pipeline, end_date: datetime | None) -> dict[str, object]:
    settings: dict[str, object] = {
        "dag_id": pipeline.name,
        "description": pipeline.description or None,
        "doc_md": describe(pipeline),
        "tags": ["sash"],
        "max_active_runs": 1,
        "schedule": None,
    }
    if pipeline.schedule is not None:
        # The timetable says when it starts and ends, not the DAG: a run by hand before or after would be
        # without tasks, and a success.
        settings["schedule"] = BatchTimetable(
            start_us=pipeline.schedule.start_us,
            length_us=pipeline.batch_us,
            until_us=None if end_date is None else to_us(end_date),
        )
        settings["catchup"] = pipeline.schedule.catchup
        if pipeline.schedule.catchup:
            # Airflow asks for one; the timetable begins later.
            settings["start_date"] = from_us(min(pipeline.schedule.start_us, 0))
    return settings


def describe(pipeline: Pipeline) -> str:
    """What the DAG's page says: what it computes, from what, and how to run it by hand."""
    key = ", ".join(f"`{name}`" for name in pipeline.key) or "one key for everything"
    lines = [
        f"### {pipeline.description or pipeline.name}",
        f"Computed per {key}: {', '.join(f'`{it.name}`' for it in pipeline.aggregates)}; windows "
        f"{', '.join(f'`{it.name}`' for it in pipeline.windows)}; from "
        f"{', '.join(f'`{it.name}`' for it in pipeline.sources)}.",
        "One run is one batch: the events that *arrived* in an interval, "
        f"{show_duration(pipeline.batch_us)} long unless you say. A run triggered without params takes "
        "the next batch after the newest, or the newest again if it has failed.",
        f"The spec is `{pipeline.path.name}`.",
    ]
    return "\n\n".join(lines)


def _mapping(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {}
