"""One Spark session for all tests, made for small work; whoever uses it is marked `spark`."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pipelines.session import open_session

SMALL_WORK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Compiling a plan costs more than running it on ten rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with Delta, as `open_session` makes it, with few partitions."""
    # Threads that collect garbage tell on two cores.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:+UseSerialGC")
    # It meets the tables of all tests, and remembers a hundred of them.
    os.environ.setdefault("SASH_MEMORY", "3g")
    session = open_session("local[2]")
    for name, value in SMALL_WORK.items():
        session.conf.set(name, value)
    yield session
    session.stop()


def pytest_configure() -> None:
    """Let tests send Ctrl-C: a process that was begun in the background ignores it, and hands that on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # It tells of each connection that it closes, also when there is nowhere left to write.
    logging.getLogger("py4j").setLevel(logging.WARNING)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by what a test uses, so that no test can forget it; and begin with what takes longest, so that no
    process waits for another at the end.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if "feed_folder" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.system)
    items.sort(key=duration)


def duration(item: pytest.Item) -> int:
    """0 of what starts services, 1 of what uses Spark, 2 of the others."""
    return 0 if item.get_closest_marker("system") else 1 if item.get_closest_marker("spark") else 2
