"""Airflow and Spark on this machine, for as long as the demo runs.

A scheduler with its local executor, a DAG processor and the API server, on a SQLite database of their own;
and one Spark Connect server that all runs use, so that none waits for a JVM to start and to warm up.
"""

from __future__ import annotations

import secrets
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from demo.dag_runs import Airflow
from demo.line import Line
from demo.place import DAG, LOGS, DemoError, environment
from demo.services import Service, check, finish, running
from pipelines.session import connect_server_command, connect_server_environment

AIRFLOW = str(Path(sys.executable).with_name("airflow"))
START_SECONDS = 180
LOOK_SECONDS = 0.5


@contextmanager
def stand() -> Iterator[tuple[Airflow, Sequence[Service]]]:
    """Airflow with the DAG ready to run, and all the processes that this takes."""
    line = Line("Airflow and Spark")
    spark_port, airflow_port, token = free_port(), free_port(), secrets.token_urlsafe(32)
    variables = {
        **environment(),
        "SASH_SPARK": f"sc://localhost:{spark_port}/;token={token}",
        "AIRFLOW__API__PORT": str(airflow_port),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://localhost:{airflow_port}/execution/",
    }
    spark = {"spark": connect_server_command(spark_port)}
    with running(spark, {**connect_server_environment(), "SPARK_CONNECT_AUTHENTICATE_TOKEN": token}) as one:
        line.now("making Airflow's database")
        with running({"database": [AIRFLOW, "db", "migrate"]}, variables) as (database,):
            finish(database)
        commands = {name: [AIRFLOW, name] for name in ("api-server", "scheduler", "dag-processor")}
        with running(commands, variables) as others:
            services = (*one, *others)
            airflow = await_airflow(services, airflow_port, line=line)
            await_port(services, spark_port, line=line)
            airflow.unpause()
            line.done("running")
            yield airflow, services


def await_airflow(services: Sequence[Service], port: int, *, line: Line) -> Airflow:
    """The Airflow at the port, once it has read the DAG."""
    for _ in looks(services):
        airflow = Airflow.at(port)
        if airflow is not None and airflow.knows_the_dag():
            return airflow
        line.now(f"Airflow reads the DAG {DAG}" if airflow else "starting Airflow")
    raise DemoError(f"Airflow has not read the DAG {DAG} in {START_SECONDS} s; its logs are in {LOGS}")


def await_port(services: Sequence[Service], port: int, *, line: Line) -> None:
    """Waits until a port of this machine is served."""
    for _ in looks(services):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        line.now("starting Spark")
    raise DemoError(f"Spark does not answer after {START_SECONDS} s; its log is in {LOGS}")


def looks(services: Sequence[Service]) -> Iterator[None]:
    """One look after the other, as long as it is worth looking. Raises `DemoError` if a service ends."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        check(services)
        yield
        time.sleep(LOOK_SECONDS)


def free_port() -> int:
    """A port of this machine that nothing serves now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
