"""Great Expectations gives the same answers where the rows are behind Spark Connect."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from pipelines.session import connect_server_command, connect_server_environment

pytestmark = pytest.mark.system

CLIENT = """
import sys
from pipelines.checks import Expectation, compile_rule, sample_rows, validate
from pipelines.session import open_session
from pyspark.sql import functions as F

spark = open_session(sys.argv[1])
panes = spark.createDataFrame([("EWR", 812.5), ("JFK", None)], "origin STRING, delay DOUBLE")
largest = Expectation(
    stage="panes", name="expect_column_max_to_be_between", arguments=(("column", "delay"), ("max_value", 600))
)
not_null = Expectation(
    stage="panes", name="expect_column_values_to_not_be_null", arguments=(("column", "delay"),)
)
results = validate(panes, [largest, not_null])
print([(result.success, result.observed) for result in results])
print([[tuple(row) for row in sample_rows(panes, result).collect()] for result in results])
rule = compile_rule(not_null)
print(tuple(panes.agg(F.count_if(rule.counted), F.count_if(rule.unexpected)).collect()[0]))
"""


@pytest.fixture
def address() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        connect_server_command(port, master="local[1]"),
        env=connect_server_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port)
        yield f"sc://localhost:{port}"
    finally:
        server.terminate()
        server.wait(timeout=60)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"no Spark Connect server at port {port}")


def test_a_client_of_a_connect_server_gets_the_same_results(address: str) -> None:
    client = subprocess.run(
        [sys.executable, "-c", CLIENT, address], capture_output=True, text=True, check=False, timeout=300
    )
    assert client.stdout.splitlines() == [
        "[(False, '812.5'), (False, '1 of 2 rows (50 %) unexpected')]",
        "[[('EWR', 812.5)], [('JFK', None)]]",
        "(2, 1)",
    ], client.stderr
