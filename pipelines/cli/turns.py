"""Whether batches can run now, and waiting for that.

What the ledger says against a batch is found out here, before a Spark session is waited for.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from pipelines.errors import WaitForTheBatch
from pipelines.intervals import Interval
from pipelines.spec import Pipeline, state_fingerprint
from pipelines.stages import Site
from pipelines.store.ledger_rows import LedgerRow, unfinished
from pipelines.store.opening import opening_of
from pipelines.store.reader import read_ledger

PAUSE_SECONDS = 5.0
Returned = TypeVar("Returned")


def await_turn(pipeline: Pipeline, store: str, *, batch: Interval, replace: bool, wait: bool) -> None:
    """Return when the batch can be opened, if asked to after waiting for another; raise why it cannot."""
    told: LedgerRow | None = None
    while True:
        rows = read_ledger(store, pipeline.name)
        try:
            opening_of(rows, batch, fingerprint=state_fingerprint(pipeline), replace=replace)
            return
        except WaitForTheBatch:
            other = unfinished(rows)
            if not wait or other is None:
                raise
            told = _pause(other, told)


def await_quiet(pipeline: Pipeline, store: str, *, batches: Sequence[Interval], wait: bool) -> None:
    """Return when no other batch than these is running; at once unless asked to wait, for to empty the tables
    refuses then.
    """
    told: LedgerRow | None = None
    while wait:
        other = unfinished(read_ledger(store, pipeline.name))
        if other is None or other.status != "running" or other.batch in batches:
            return
        told = _pause(other, told)


def in_its_turn(
    do: Callable[[], Returned],
    site: Site,
    *,
    batches: Sequence[Interval],
    turn: Callable[[], None],
    wait: bool,
) -> Returned:
    """What `do` returns, after the `turn` of these batches has come. Of several that waited for the same
    batch one gets in; the others are held up again and, if asked to, wait again.
    """
    while True:
        turn()
        try:
            return do()
        except WaitForTheBatch as error:
            other = unfinished(read_ledger(site.store, site.declared.name))
            if not wait or error.is_over or other is None or other.batch in batches:
                raise


def _pause(other: LedgerRow, told: LedgerRow | None) -> LedgerRow:
    """Wait a little for a batch; say so unless that has been told."""
    if told is None or told.batch != other.batch:
        print(f"waiting: batch {other.batch} is {other.status}", file=sys.stderr)
    time.sleep(PAUSE_SECONDS)
    return other
