"""A process that does what it is told, one JSON object a line: `worker.py STORE`.

A line is a batch, whole or by tasks, or a command of `sash` without the store. It answers each with `done`,
or with the name and the first line of what was raised.
"""

from __future__ import annotations

import importlib
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pipelines.cli.arguments import read_arguments
from pipelines.intervals import Interval
from pipelines.session import open_session
from pipelines.spec import load
from pipelines.stages import Request, Site, open_batch, run_batch
from tests.conftest import SMALL_WORK
from tests.crash.by_stages import run_tasks

MASTER = "local[2]"


def main(store: str) -> None:
    """Read what is asked until there is no more."""
    spark = open_session(MASTER)
    for name, value in SMALL_WORK.items():
        spark.conf.set(name, value)
    say("ready")
    for line in sys.stdin:
        told = json.loads(line)
        try:
            if "words" in told:
                carry_out(told["words"], store)
            else:
                run(told, store, spark=spark)
            say("done")
        except Exception as error:  # noqa: BLE001 - who put a fault in judges whatever came of it
            say(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}")


def run(told: dict[str, Any], store: str, *, spark: SparkSession) -> None:
    spec, tasks = Path(told.pop("spec")), told.pop("tasks")
    request = Request(batch=Interval(*told.pop("batch")), **told)
    site = Site(spark, store, load(spec))
    if tasks:
        open_batch(site, request)
        run_tasks(site, request, tasks)
    else:
        list(run_batch(site, request))


def carry_out(words: list[str], store: str) -> None:
    """Run a command in this session; what it prints is not for those who wait for an answer."""
    arguments = read_arguments([*words, "--store", store, "--spark", MASTER])
    command = getattr(importlib.import_module(f"pipelines.cli.{words[0]}"), words[0])
    with redirect_stdout(sys.stderr):
        command(arguments)


def say(answer: str) -> None:
    sys.stdout.write(f"{answer}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
