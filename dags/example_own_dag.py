"""An engineer's own Airflow DAG around Sash: look at what has landed, make the windows, tell what came of it.

It runs the same pipeline as `airport_traffic`, in the same store: the two wait for each other.
"""

import logging
from pathlib import Path

from airflow.sdk import DAG, get_current_context, task

from pipelines.orchestration import batch_params, window_stages

log = logging.getLogger(__name__)

SPEC = Path(__file__).with_name("airport_traffic.yml")


@task
def extract() -> dict[str, int]:
    """Count the files that have landed for each source, and stop where there are none."""
    from pipelines.spec import load

    pipeline = load(SPEC)
    landed = {}
    for source in pipeline.sources:
        folder = pipeline.home / str(source.path).partition("{")[0]
        landed[source.name] = sum(1 for _ in folder.parent.rglob("*.parquet"))
        log.info("%s: %d files in %s", source.name, landed[source.name], folder.parent)
    if not all(landed.values()):
        raise FileNotFoundError(f"some sources have no files yet: {landed}; `make demo` prepares them")
    return landed


@task
def notify() -> str:
    """Say in a line what the batch brought; a real one would send it to somebody."""
    told = get_current_context()["ti"].xcom_pull(task_ids="airport_traffic.publish")
    line = f"airport_traffic: {told['panes']:,} panes of {told['accepted']:,} flights, {told['late']:,} late"
    log.info(line)
    return line


with DAG("example_own_dag", schedule=None, params=batch_params(), max_active_runs=1, tags=["sash"]) as dag:
    extract() >> window_stages("airport_traffic.yml") >> notify()
