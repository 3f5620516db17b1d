"""The Spark session of a command, which says nothing beside the command and leaves Ctrl-C to it.

PySpark logs each error in an expression as it raises it: the paragraph about it is enough. And at Ctrl-C it
talks to its JVM from within whatever it was saying to it, which ends in tracebacks: leaving ends the JVM too.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading

from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from pipelines.cli.arguments import Arguments
from pipelines.errors import CorrectTheCall
from pipelines.session import open_session

RAISED_ANYWAY = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


ADDRESS = re.compile(r"local(-cluster)?(\[.*\])?|yarn|(spark|k8s|sc)://.+")


def session_of(arguments: Arguments) -> SparkSession:
    """The session at `--spark`, else at SASH_SPARK, else on this machine."""
    address = arguments.spark or os.environ.get("SASH_SPARK")
    if address and not ADDRESS.fullmatch(address):
        raise CorrectTheCall(
            f"{'--spark' if arguments.spark else 'SASH_SPARK'}: found `{address}`; allowed is a master like "
            "local[2], yarn, spark://… or k8s://…, or the address of a Connect server, sc://…"
        )
    for name in RAISED_ANYWAY:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)
    spark = open_session(arguments.spark)
    logging.getLogger().addFilter(_is_not_raised_too)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return spark


def _is_not_raised_too(record: logging.LogRecord) -> bool:
    # Py4J logs a traceback of the word in which Ctrl-C or the end of the JVM cut it off, and raises it too.
    return not record.getMessage().endswith(" while sending command.")
