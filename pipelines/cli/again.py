"""The command that goes on with a batch as it was asked for, to be copied from a message."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from pipelines.cli.arguments import Arguments
from pipelines.cli.place import store_of
from pipelines.cli.written import bounds, instant
from pipelines.intervals import Interval
from pipelines.spec import Pipeline, hide
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.reader import wishes_of

FLAGS = ("final", "replace", "ignore_lateness")


def again(arguments: Arguments, pipeline: Pipeline, *, pending: LedgerRow) -> str:
    """`sash run` for an unfinished batch, as its newest attempt was asked for it."""
    store = store_of(arguments, pipeline)
    wishes = wishes_of(store, pipeline.name, batch=pending.batch, revision=pending.revision)
    return run_again(arguments, pending.batch, wishes=wishes)


def run_again(arguments: Arguments, batch: Interval, *, wishes: Mapping[str, int]) -> str:
    """`sash run` for a batch; `wishes` as `wishes_of` tells them."""
    flags = "".join(f" --{name.replace('_', '-')}" for name in FLAGS if name in wishes)
    if "watermark_us" in wishes:
        flags += f" --watermark {instant(wishes['watermark_us'])}"
    return f"`sash run {spec_of(arguments)} {bounds(batch)}{flags}{place_of(arguments)}`"


def place_of(arguments: Arguments) -> str:
    """The store, if the command named one."""
    return f" --store {shlex.quote(hide(arguments.store, ()))}" if arguments.store else ""


def spec_of(arguments: Arguments) -> str:
    """The spec as a shell takes it."""
    return shlex.quote(arguments.spec)
