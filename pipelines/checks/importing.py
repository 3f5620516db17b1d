"""The import of Great Expectations, which takes seconds and has a lot to say."""

from __future__ import annotations

import logging
from importlib import import_module
from types import ModuleType

NAME = "great_expectations"


def imported() -> ModuleType:
    """Great Expectations, in silence: what is wrong with an expectation stands in its result."""
    logging.getLogger(NAME).setLevel(logging.CRITICAL)
    return import_module(NAME)
