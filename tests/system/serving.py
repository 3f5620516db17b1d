"""An Airflow that serves the DAGs of a folder, with a Spark that is always there: connection `always`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from unittest.mock import patch

from pipelines.orchestration.embedded import Server, ensure_server, running_server
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.reader import read_ledger, read_table
from tests.system.services import UP_SECONDS, Services, await_that

QUICK = "-XX:+UseSerialGC"
"""Threads that collect garbage tell on two cores."""
DAG_FILE = """\
# An Airflow DAG.
from datetime import datetime, timedelta
from pipelines.orchestration import upkeep_dag, windowed_dag

dag = """
"""What stands before the call that makes the DAG."""


@contextmanager
def serving(
    folder: Path,
    dags: set[str],
    *,
    before_scheduling: Callable[[Services], None],
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Services]:
    """Airflow with these DAGs of the folder, until it is left; `settings` are the Spark's.

    A backfill is made while nothing else writes: SQLite's lock may refuse it, and end the scheduler, else.
    """
    from pipelines.orchestration.stage_work import launch

    services = Services(folder, SASH_STORE=str(folder / "store"), SASH_MEMORY="1g", SPARK_SUBMIT_OPTS=QUICK)
    try:
        services.run("db", "migrate")
        changed = [word for it in settings.items() for word in ("--conf", "=".join(it))]

        def launched(port: int) -> tuple[list[str], Mapping[str, str]]:
            # The command depends on the environment that it is to run in.
            with patch.dict(os.environ, services.environment):
                command, _ = launch(port)
            return [*command[:-1], *changed, "spark-internal"], services.environment

        spark = ensure_server(place_of_spark(folder), launched)
        always = {
            "conn_type": "spark_connect",
            "host": "localhost",
            "port": spark.port,
            "password": spark.token,
        }
        services.environment["AIRFLOW_CONN_ALWAYS"] = json.dumps(always)
        services.start("api-server", "dag-processor")
        await_that(lambda: services.is_up(dags), UP_SECONDS)
        services.end("dag-processor")
        before_scheduling(services)
        services.start("dag-processor", "scheduler")
        yield services
    finally:
        services.stop()


def place_of_spark(folder: Path) -> Path:
    return folder / "tmp" / "sash-spark-always" / "always"


def spark_of(airflow: Services) -> Server:
    """The Spark that is always there."""
    spark = running_server(place_of_spark(airflow.folder))
    assert spark is not None, "the Spark has ended"
    return spark


def ledger(airflow: Services, pipeline: str) -> list[LedgerRow]:
    return sorted(read_ledger(str(airflow.folder / "store"), pipeline), key=lambda row: row.batch)


def stored(airflow: Services, table: str, *, pipeline: str) -> list[dict[str, object]]:
    return read_table(str(airflow.folder / "store"), pipeline, table=table).to_pylist()
