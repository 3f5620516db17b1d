"""A spec's own operations and windows: how they are named, and where their modules are found.

In the spec's own folder, whoever runs it.
"""

from __future__ import annotations

import re
import sys
from functools import reduce
from importlib import import_module

from pipelines.spec.model import Pipeline

ATTRIBUTE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def parse_attribute(value: object) -> str:
    """A name like `module:attribute`. Raises `ValueError` with what was found."""
    if isinstance(value, str) and ATTRIBUTE.fullmatch(value):
        return value
    raise ValueError(f"found `{value}`; allowed is `module:attribute`")


def attribute_of(name: str) -> object:
    """What `module:attribute` names. Raises whatever its module raises as it is loaded."""
    module, _, path = name.partition(":")
    return reduce(getattr, path.split("."), import_module(module))


def find_modules_beside(pipeline: Pipeline) -> None:
    """Let Python look for modules in the folder of the spec before it looks anywhere else."""
    folder = str(pipeline.path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
