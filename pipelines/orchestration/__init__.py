"""The only room that knows Airflow: a spec becomes a DAG, or a group of tasks in an engineer's own DAG.

In comes the path of a spec, out come tasks that run its stages, one DAG run for one batch. Promised:
parsing a DAG file imports neither Spark nor Delta nor Great Expectations, a task that is run again takes
its batch over, and a run that began and did not publish never ends as a success.
"""

from pipelines.orchestration.dag import windowed_dag
from pipelines.orchestration.group import window_stages, windows_asset
from pipelines.orchestration.params import batch_params
from pipelines.orchestration.upkeep import upkeep_dag

__all__ = ["batch_params", "upkeep_dag", "window_stages", "windowed_dag", "windows_asset"]
