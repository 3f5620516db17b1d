"""The one place that makes a Spark session: local, on a cluster, or over Spark Connect.

Whatever the address, a session reads and writes time in UTC, raises on overflow and bad casts, and knows
Delta.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheCall

ADAPTIVE = "org.apache.spark.sql.execution.adaptive"
CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"

REMOTE = "SPARK_REMOTE"
CLIENT_MODE = (REMOTE, "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE")
"""Variables by which a process says that it is a client; a server must not take them over."""

WARNINGS_ASIDE = (
    "-XX:+DisplayVMOutputToStderr",
    "-Xlog:disable",
    "-Xlog:all=warning,cds*=off:stderr",
)
"""What a JVM warns of goes beside the answers of a command, which somebody may read as JSON; that it goes
without the archive of classes is no warning.
"""

OPTIONS_OF_A_JVM = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Variables by which whoever starts a JVM gives it options beside ours."""

IN_UTC = "-Duser.timezone=UTC"
"""Java's own zone, in which readers of databases and of ORC take times that have none."""

# What a client may set for itself. `snapshotPartitions` makes a session's first commit ten times faster.
SESSION_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Spark puts the environment's values, and nothing where it knows none, for `${…}` in any SQL before it
    # reads it: what it reads then is another text than the one that was looked at.
    "spark.sql.variable.substitute": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Delta reads no version that stood for longer than it keeps what was deleted since, a week: also of a
    # table that nobody wrote to. A batch looks at what stood before it, whose files upkeep leaves.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    # Spark's default is twelve bytes an instant, which are slower to write and no other reader wants.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # To list folders Spark makes a task for each, of which a year has hundreds; so it takes this many, with
    # some folders each.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "32",
    # What lies in one partition or two, as panes do, is written as it comes, not sorted first.
    "spark.sql.maxConcurrentOutputFileWriters": "2",
    # It cuts a branch that turned out empty off the plan, and with it the counts that were observed there.
    "spark.sql.adaptive.optimizer.excludedRules": f"{ADAPTIVE}.AQEPropagateEmptyRelation",
}

TABLES_REMEMBERED = "100"
"""Delta itself takes ten thousand, for an hour each, with 4 MB of plans each: of a server for many pipelines,
or one that plans on clones, they fill the heap. A pipeline has thirteen.
"""


def open_session(address: str | None = None) -> SparkSession:
    """A session at `address`: `None` for all local cores, a master such as `local[2]` or `spark://…`, or
    `sc://…`.

    Without an address, `SASH_SPARK` is taken. Returns the session that is already open at that address.
    Raises `CorrectTheCall` where the environment asks Spark for a server beside another address.
    """
    address = address or os.environ.get("SASH_SPARK") or "local[*]"
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("sash")
    if address.startswith("sc://"):
        builder = builder.remote(address)
    else:
        if REMOTE in os.environ:
            raise CorrectTheCall(
                f"the environment has {REMOTE}, with which Spark starts nothing at {address}: unset it, or "
                "say that address with --spark or SASH_SPARK"
            )
        builder = builder.master(address)
        for name, value in server_settings(address).items():
            builder = builder.config(name, value)
    with _within(_spark_home(address)):
        spark = builder.getOrCreate()
    for name, value in SESSION_SETTINGS.items():
        spark.conf.set(name, value)
    return spark


def server_settings(address: str) -> dict[str, str]:
    """What has to stand before a JVM starts: Delta's jars, memory, and no noise.

    `SASH_MEMORY` is the heap (default 2g). Spark itself takes more options of the JVM from
    `SPARK_SUBMIT_OPTS`.
    """
    jars = sorted(str(jar) for jar in (Path(sys.prefix) / "jars").glob("*.jar"))
    settings = {
        **SESSION_SETTINGS,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.vacuum.parallelDelete.enabled": "true",
        "spark.databricks.delta.delta.log.cacheSize": TABLES_REMEMBERED,
        "spark.ui.enabled": "false",
        # Nobody looks at the text of each plan, and to write it takes a part of every small batch.
        "spark.sql.ui.explainMode": "simple",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.extraJavaOptions": IN_UTC,
        "spark.driver.extraJavaOptions": _java_options(),
    }
    if jars and not address.startswith("local"):
        settings["spark.jars"] = ",".join(jars)
    if address.startswith("local"):
        # Not `spark.jars`: those would come by a loader of their own, and from no archive.
        settings["spark.driver.extraClassPath"] = os.pathsep.join(jars)
        partitions = str(2 * (os.cpu_count() or 1))
        settings["spark.sql.shuffle.partitions"] = partitions
        settings["spark.driver.memory"] = os.environ.get("SASH_MEMORY", "2g")
        settings["spark.driver.host"] = "localhost"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
        # Spark makes this folder, wherever it is started; no table of ours is in it.
        nowhere = Path(tempfile.gettempdir()) / f"sash-warehouse-{os.getuid()}"
        settings["spark.sql.warehouse.dir"] = nowhere.as_uri()
    return settings


def _java_options() -> str:
    """How the JVM of this machine starts; quoted, for a folder may have a blank in its name."""
    logs = f"-Dlog4j2.configurationFile={log_settings().as_uri()}"
    options = (logs, IN_UTC, *WARNINGS_ASIDE, *collector(), *ready_classes())
    return " ".join(f'"{option}"' for option in options)


def connect_server_command(port: int, *, master: str = "local[*]") -> list[str]:
    """The command that runs a Spark Connect server on this machine, in the foreground, at
    `sc://localhost:<port>`.
    """
    settings = {
        **server_settings(master),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    memory = settings.pop("spark.driver.memory", "2g")
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", master]
    command += ["--driver-memory", memory, "--class", CONNECT_SERVER, "--name", "sash"]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    return [*command, "spark-internal"]


def connect_server_environment() -> dict[str, str]:
    """The environment for that command.

    This Python for the server's own workers, the Spark that it brings, and no client mode inherited.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in CLIENT_MODE}
    return {**inherited, **_spark_home("local"), "PYSPARK_PYTHON": sys.executable}


def _spark_home(address: str) -> dict[str, str]:
    """The Spark that is installed here, for a JVM of this machine, where the environment has the folder of
    another version, which PySpark would start. A cluster's own has settings of the cluster's.
    """
    own, named = Path(pyspark.__file__).parent, os.environ.get("SPARK_HOME")
    if named is None or not address.startswith("local"):
        return {}
    is_same = any((Path(named) / "jars").glob(f"spark-core_*-{pyspark.__version__}.jar"))
    # PySpark that lies in another Spark's folder brings none.
    brings_one = (own / "bin" / "spark-submit").is_file() and (own / "jars").is_dir()
    return {"SPARK_HOME": str(own)} if brings_one and not is_same else {}


@contextmanager
def _within(environment: Mapping[str, str]) -> Iterator[None]:
    """Let a JVM start with these variables, and no other program after it."""
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def collector() -> list[str]:
    """The garbage collector that leaves most to the work, unless another is named: no JVM starts with two."""
    named = " ".join(os.environ.get(name, "") for name in OPTIONS_OF_A_JVM)
    return [] if re.search(r"-XX:\+Use\w+GC\b", named) else ["-XX:+UseParallelGC"]


def ready_classes() -> list[str]:
    """The JVM's options to take classes from the archive that the set-up made, if there is one.

    A JVM whose version or jars are others than the archive's goes without.
    """
    archive = Path(sys.prefix) / "classes.jsa"
    return [f"-XX:SharedArchiveFile={archive}"] if archive.is_file() else []


def log_settings() -> Path:
    """The file that keeps Spark's own log to errors."""
    return Path(__file__).with_name("log4j2.properties")
