"""Airflow's local executor, with what the tasks import ready before it forks them.

Each task is a process of its own, and to import the client of Spark and Great Expectations takes it seconds
of work. Forked from a process that has both, it has them too.
"""

from __future__ import annotations

from importlib import import_module

from airflow.executors.local_executor import LocalExecutor

USED_BY_TASKS = (
    "pipelines.orchestration.stage_work",
    "pyspark.sql.connect.session",
    "pyspark.sql.connect.functions",
)


class ReadyLocalExecutor(LocalExecutor):  # type: ignore[misc]  # Airflow's executors have no types
    """`[core] executor = pipelines.orchestration.executor.ReadyLocalExecutor`, instead of `LocalExecutor`."""

    def start(self) -> None:
        """Import, then fork the workers."""
        from pipelines.checks import importing

        importing.imported()
        for module in USED_BY_TASKS:
            import_module(module)
        super().start()
