"""Which pipeline a command line means, and where its tables lie.

The default store and SASH_STORE begin at the pipeline's home, so that a command and the DAG agree wherever
they are started; `--store` is a path like any other in a shell.
"""

from __future__ import annotations

import os
from pathlib import Path

from pipelines.cli.arguments import Arguments
from pipelines.spec import Pipeline, find_modules_beside, hide, load, store_at

DEFAULT_STORE = "var/store"


def pipeline_of(arguments: Arguments) -> Pipeline:
    """The pipeline of the spec that is named; modules of its own operations and windows lie beside it."""
    pipeline = load(Path(arguments.spec))
    find_modules_beside(pipeline)
    return pipeline


def store_of(arguments: Arguments, pipeline: Pipeline) -> str:
    """The store's absolute path, or its URI."""
    if arguments.store:
        return store_at(arguments.store, Path.cwd())
    return store_at(os.environ.get("SASH_STORE") or DEFAULT_STORE, pipeline.home)


def folder_of(arguments: Arguments, pipeline: Pipeline) -> str:
    """Where the pipeline's tables lie, as it may be told."""
    return hide(f"{store_of(arguments, pipeline)}/{pipeline.name}", ())
