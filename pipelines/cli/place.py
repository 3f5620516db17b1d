"""Which pipeline a command line means, and where its tables lie.

The default store and SASH_STORE begin at the pipeline's home, so that a command and the DAG agree wherever
they are started; `--store` is a path like any other in a shell.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pipelines.cli.arguments import Arguments
from pipelines.spec import Pipeline, load

DEFAULT_STORE = "var/store"


def pipeline_of(arguments: Arguments) -> Pipeline:
    """The pipeline of the spec that is named.

    Modules of the spec's own operations and windows are found beside it, as Airflow finds them.
    """
    pipeline = load(Path(arguments.spec))
    folder = str(pipeline.path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return pipeline


def store_of(arguments: Arguments, pipeline: Pipeline) -> str:
    """The store's absolute path, or its URI."""
    if arguments.store:
        return _at(arguments.store, Path.cwd())
    return _at(os.environ.get("SASH_STORE") or DEFAULT_STORE, pipeline.home)


def folder_of(arguments: Arguments, pipeline: Pipeline) -> str:
    """Where the pipeline's tables lie."""
    return f"{store_of(arguments, pipeline)}/{pipeline.name}"


def _at(store: str, start: Path) -> str:
    if "://" in store:
        return store.rstrip("/")
    return str((start / Path(store).expanduser()).resolve())
