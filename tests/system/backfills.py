"""Backfills of a DAG in a real Airflow: made by its command or beside its scheduler, and waited for."""

from __future__ import annotations

from collections.abc import Callable

from tests.system.services import Json, Services, await_that

LOCKED = "Database is locked"


def create(airflow: Services, dag: str, days: tuple[str, str], *options: str) -> None:
    """By the command, for which there may be no scheduler yet."""
    airflow.run(
        *("backfill", "create", "--dag-id", dag, "--from-date", days[0], "--to-date", days[1]), *options
    )


def create_without_scheduler(airflow: Services, dag: str, days: tuple[str, str], *options: str) -> None:
    """By the command, once those before it are done, with the scheduler away for so long.

    SQLite lets the scheduler see a part of many runs that are made ready to go again: it ends of it. The
    command in turn is refused where anyone writes between what it reads and what it writes, as the processor
    of DAGs does every few seconds.
    """
    writers = ("scheduler", "dag-processor")
    await_done(airflow, dag)
    for writer in writers:
        airflow.end(writer)
    create(airflow, dag, days, *options)
    airflow.start(*writers)


def create_beside_scheduler(airflow: Services, dag: str, **asked: object) -> None:
    """By the REST API, once those before it are done."""
    await_done(airflow, dag)
    insist(lambda: airflow.ask("POST", "backfills", dag_id=dag, **asked))


def await_done(airflow: Services, dag: str) -> None:
    """Airflow looks now and then whether a backfill is done, and takes no other before."""
    await_that(lambda: all(it["completed_at"] for it in backfills(airflow, dag)), 120)


def insist(ask: Callable[[], object]) -> None:
    """Ask until there is an answer: SQLite refuses while the scheduler writes."""

    def is_answered() -> bool:
        try:
            ask()
        except AssertionError as refused:
            if LOCKED not in str(refused):
                raise
            return False
        return True

    await_that(is_answered, 120)


def backfills(airflow: Services, dag: str) -> list[Json]:
    return list(airflow.ask("GET", f"backfills?dag_id={dag}")["backfills"])


def backfilled(airflow: Services, dag: str) -> list[Json]:
    """The runs of all backfills of a DAG, in the order of their batches."""
    return list(airflow.ask("GET", f"dags/{dag}/dagRuns?run_type=backfill&order_by=logical_date")["dag_runs"])


def tries(airflow: Services, dag: str, *, task: str) -> list[int]:
    """How often a task has been tried in each of those runs."""
    path = f"dags/{dag}/dagRuns/~/taskInstances?task_id={task}&order_by=logical_date"
    return [int(it["try_number"]) for it in airflow.ask("GET", path)["task_instances"]]
