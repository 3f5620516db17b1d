"""The tasks of a batch, wired: choose it, open it, accumulate each source, combine, finalise, publish,
close Spark.

`choose_batch` and `open_batch` are the setups and `close_spark` the teardown of what lies between. Clearing a
task runs the setups again, which choose the same batch and take it over. Clearing only failed tasks does not:
so each task can do what `open_batch` does.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

from airflow.sdk import Asset, TaskGroup, task

from pipelines.orchestration.retries import choosing_policy, stage_defaults
from pipelines.orchestration.tasks import BatchTasks
from pipelines.spec import Pipeline, load

LOOK_AGAIN_SECONDS = 15.0
LOOK_AGAIN_AT_MOST = timedelta(seconds=30)
"""A look takes a second of a core. With five minutes, backfills of several at once stood still for most."""
WAIT_SECONDS = 24 * 3600.0


def window_stages(
    spec: str | Path,
    *,
    group_id: str | None = None,
    spark_conn_id: str | None = None,
    store: str | None = None,
    default_args: Mapping[str, object] | None = None,
) -> TaskGroup:
    """The tasks of a spec as a group, for an engineer's own DAG: `extract() >> window_stages("…yml") >>
    notify()`.

    The group is named after the pipeline unless you say. A scheduled run of the DAG takes its data
    interval as the batch, if its schedule has one (in Airflow 3 a cron text has none); give the DAG
    `params=batch_params()` to have the trigger form. `default_args` win over Sash's own. Raises
    `CorrectTheSpec`.
    """
    pipeline = load(beside_caller(spec))
    defaults = {**stage_defaults(), **(default_args or {})}
    with TaskGroup(group_id or pipeline.name, default_args=defaults, tooltip=pipeline.description) as group:
        stage_tasks(pipeline, BatchTasks(spec=pipeline.path, store=store, spark_conn_id=spark_conn_id))
    return group


def windows_asset(pipeline_name: str) -> Asset:
    """What a published batch updates: `schedule=windows_asset("airport_traffic")` starts a DAG after each,
    and after each correction, where a DAG ran it and not `sash`. Its event has `from` and `to`; of some that
    come at once Airflow makes one run.
    """
    return Asset(f"sash://{pipeline_name}/windows")


def stage_tasks(pipeline: Pipeline, tasks: BatchTasks) -> None:
    """Put the tasks of a batch into the DAG or group that is open."""
    patient = partial(
        task.sensor,
        mode="reschedule",
        poke_interval=LOOK_AGAIN_SECONDS,
        exponential_backoff=True,
        max_wait=LOOK_AGAIN_AT_MOST,
        timeout=WAIT_SECONDS,
    )
    chosen = patient(retry_policy=choosing_policy())(tasks.choose_batch)()
    opened = patient()(tasks.open_batch)(chosen)
    by_source = task(map_index_template="{{ task.op_kwargs['source'] }}")(tasks.accumulate)
    sources = [source.name for source in pipeline.sources]
    accumulated = by_source.partial(opened=opened).expand(source=sources)
    combined = task(tasks.combine)(opened)
    finalised = task(tasks.finalise)(opened)
    asset = windows_asset(pipeline.name)
    published = task(outlets=[asset])(tasks.publish)(opened)
    accumulated >> combined >> finalised >> published
    # Alerts belong to the task that failed: this one only repeats what it said, which no retry does again.
    closed = task(on_failure_callback=None)(tasks.close_spark)(opened)
    # After each of them: where one source has failed, the others are still at work.
    work = [accumulated, combined, finalised, published]
    # With its setups a teardown is skipped, and so ended a run is a success. Where it is marked as failed
    # before its batch was opened, `choose_batch` has failed, and was not skipped.
    work >> closed.as_teardown(setups=[chosen, opened], on_failure_fail_dagrun=True)


def beside_caller(spec: str | Path) -> Path:
    """The path of a spec; a relative one starts in the folder of the DAG file that calls."""
    path = Path(spec)
    frame = inspect.currentframe()
    while not path.is_absolute() and frame is not None:
        called_from = Path(frame.f_code.co_filename).resolve()
        if called_from.parent != Path(__file__).resolve().parent:
            return called_from.parent / path
        frame = frame.f_back
    return path
