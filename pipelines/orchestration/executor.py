"""Airflow's local executor, with what the tasks import ready before it forks them, and their secrets masked.

Each task is a process of its own, and to import the client of Spark and Great Expectations takes it seconds
of work. Forked from a process that has both, it has them too. What a task says goes to its log and, by this
process, to the output of the scheduler, where Airflow itself masks nothing.
"""

from __future__ import annotations

from importlib import import_module

import structlog
from airflow.executors.local_executor import LocalExecutor
from airflow.sdk.log import mask_logs

USED_BY_TASKS = (
    "pipelines.orchestration.stage_work",
    "pyspark.sql.connect.session",
    "pyspark.sql.connect.functions",
)


class ReadyLocalExecutor(LocalExecutor):  # type: ignore[misc]  # Airflow's executors have no types
    """`[core] executor = pipelines.orchestration.executor.ReadyLocalExecutor`, instead of `LocalExecutor`."""

    def start(self) -> None:
        """Import, then fork the workers."""
        mask_output()
        from pipelines.checks import importing

        importing.imported()
        for module in USED_BY_TASKS:
            import_module(module)
        super().start()


def mask_output() -> None:
    """Let this process write stars for what its tasks have said is a secret."""
    *before, rendering = structlog.get_config()["processors"]
    if mask_logs not in before:
        structlog.configure(processors=[*before, mask_logs, rendering])
