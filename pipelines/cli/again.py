"""The command that goes on with a batch as it was asked for, to be copied from a message."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from pipelines.cli.arguments import REPLAYED, Arguments
from pipelines.cli.place import store_of
from pipelines.cli.written import bounds, instant
from pipelines.intervals import Interval
from pipelines.spec import Pipeline, hide
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.reader import FLAGS, replay_of, wishes_of


def again(arguments: Arguments, pipeline: Pipeline, *, pending: LedgerRow) -> str:
    """The command for an unfinished batch, as its newest attempt was asked for it."""
    store = store_of(arguments, pipeline)
    wishes = wishes_of(store, pipeline.name, batch=pending.batch, revision=pending.revision)
    return run_again(arguments, pending.batch, wishes=wishes)


def run_again(arguments: Arguments, batch: Interval, *, wishes: Mapping[str, int]) -> str:
    """`sash run` for a batch, or the replay that it is of; `wishes` as `wishes_of` tells them."""
    replayed = next((what for what in REPLAYED if replay_of(what) in wishes), None)
    if replayed is not None:
        return replay_again(arguments, replayed, inside=batch)
    flags = "".join(f" --{name.replace('_', '-')}" for name in FLAGS if name in wishes)
    if "watermark_us" in wishes:
        flags += f" --watermark {instant(wishes['watermark_us'])}"
    return f"`sash run {spec_of(arguments)} {bounds(batch)}{flags}{place_of(arguments)}`"


def replay_again(arguments: Arguments, what: str, *, inside: Interval | None) -> str:
    """`sash replay`, which goes on with the batch that it was at, and looks first whether its rows are there
    still.
    """
    where = "" if inside is None else f" {bounds(inside)}"
    return f"`sash replay {spec_of(arguments)} {what}{where}{place_of(arguments)}`"


def place_of(arguments: Arguments) -> str:
    """The store, if the command named one."""
    return f" --store {shlex.quote(hide(arguments.store, ()))}" if arguments.store else ""


def spec_of(arguments: Arguments) -> str:
    """The spec as a shell takes it."""
    return shlex.quote(arguments.spec)
