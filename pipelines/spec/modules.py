"""Where the modules of a spec's own operations and windows are found: in its own folder, whoever runs it."""

from __future__ import annotations

import sys

from pipelines.spec.model import Pipeline


def find_modules_beside(pipeline: Pipeline) -> None:
    """Let Python look for modules in the folder of the spec before it looks anywhere else."""
    folder = str(pipeline.path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
