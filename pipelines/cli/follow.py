"""`sash follow`: micro-batches as time goes on, in one session.

Each batch takes what has arrived since the one before it, up to now, or up to `--behind` before now; it ends
at a whole multiple of `--every`, so that batches meet wherever they are cut.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pipelines.cli.again import again
from pipelines.cli.arguments import Arguments
from pipelines.cli.batches import duration_of, instant_of
from pipelines.cli.ending import Ending, ending
from pipelines.cli.place import pipeline_of, store_of
from pipelines.cli.progress import tell_warnings
from pipelines.cli.run import gone_on_with, interrupted
from pipelines.cli.session import session_of
from pipelines.cli.turns import PAUSE_SECONDS, await_turn
from pipelines.errors import CorrectTheCall, WaitForTheBatch
from pipelines.intervals import Interval, floor_to, show_instant, to_us
from pipelines.spec import Pipeline
from pipelines.stages import Request, Site, run_batch
from pipelines.store.ledger_rows import LedgerRow, have_gone, newest, unfinished
from pipelines.store.reader import read_ledger

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Where the first batch begins, how long one is at least, and how long before now it ends."""

    start_us: int
    every_us: int
    behind_us: int


def follow(arguments: Arguments) -> None:
    """Run one batch after the other until Ctrl-C, a line for each. A batch that was left unfinished comes
    first: who has followed until then may have been killed.
    """
    pipeline, every_us = pipeline_of(arguments), duration_of(arguments.every or "", "--every")
    behind_us = 0 if arguments.behind is None else duration_of(arguments.behind, "--behind")
    store = store_of(arguments, pipeline)
    start_us = _start_us(arguments, pipeline, store=store, every_us=every_us)
    site = Site(session_of(arguments), store, pipeline)
    pending = _left(arguments, pipeline, store=store)
    with ending() as end:
        if pending is not None:
            _run(arguments, site, batch=pending, end=end)
        print(f"following {pipeline.name}, a batch every {arguments.every}; Ctrl-C ends it", flush=True)
        if start_us > _now_us():
            begins = show_instant(start_us)
            print(f"the first begins at {begins}: nothing is to be done until then", flush=True)
        pace = Pace(start_us=start_us, every_us=every_us, behind_us=behind_us)
        _go_on(arguments, site, pace=pace, end=end)
    left = unfinished(read_ledger(store, pipeline.name))
    print("no batch is unfinished" if left is None else f"batch {left.batch} is unfinished")


def _go_on(arguments: Arguments, site: Site, *, pace: Pace, end: Ending) -> None:
    """Run what has come, until the end is asked for; if asked to, wait while somebody runs another batch."""
    pipeline, waited_for = site.declared, None
    rows = read_ledger(site.store, pipeline.name)
    while not end.is_asked:
        # Others may have run batches meanwhile, given up the only one, or run all of them anew.
        seen, rows = rows, read_ledger(site.store, pipeline.name)
        _refuse_rebuilding(pipeline, before=seen, rows=rows)
        last = newest(rows)
        start_us = pace.start_us if last is None else last.batch.end_us
        until_us = _now_us() - pace.behind_us
        end_us = floor_to(until_us, pace.every_us)
        if end_us <= start_us:
            end.wait((pace.every_us - until_us % pace.every_us) / SECOND_US)
            continue
        try:
            _run(arguments, site, batch=Interval(start_us, end_us), end=end)
            rows = read_ledger(site.store, pipeline.name)
        except WaitForTheBatch as error:
            now = read_ledger(site.store, pipeline.name)
            other = unfinished(now)
            # Where nothing is unfinished any more, whoever was in the way has ended since.
            has_news = other is not None or now != rows
            if not arguments.wait or error.is_over or have_gone(rows, now) or not has_news:
                raise
            if other is not None:
                if other.batch != waited_for:
                    print(f"waiting: {_in_the_way(arguments, pipeline, pending=other)}", file=sys.stderr)
                waited_for = other.batch
                end.wait(PAUSE_SECONDS)


def _refuse_rebuilding(
    pipeline: Pipeline, *, before: Collection[LedgerRow], rows: Collection[LedgerRow]
) -> None:
    """Raise `WaitForTheBatch` where all has been emptied since, and what had run has not run again yet: at
    times between two batches of a rebuilding ours would come before the rest of them.
    """
    had, has = newest(before), newest(rows)
    if have_gone(before, rows) and had and (has is None or has.batch.end_us < had.batch.end_us):
        reached = "has no batch any more" if has is None else f"has run up to {has.batch}"
        raise WaitForTheBatch(
            f"pipeline `{pipeline.name}` was rebuilt since, or is being rebuilt: it {reached}, and had run "
            f"up to {had.batch}. Follow it again when that is done"
        )


def _in_the_way(arguments: Arguments, pipeline: Pipeline, *, pending: LedgerRow) -> str:
    return (
        f"batch {pending.batch} is {pending.status}. If nobody is at it any more, run it again: "
        f"{again(arguments, pipeline, pending=pending)}"
    )


def _left(arguments: Arguments, pipeline: Pipeline, *, store: str) -> Interval | None:
    """The batch that is unfinished. Raises `WaitForTheBatch` where somebody corrects an older one, unless
    asked to wait, which what follows does.
    """
    rows = read_ledger(store, pipeline.name)
    pending, last = unfinished(rows), newest(rows)
    is_older = pending is not None and last is not None and pending.batch != last.batch
    if pending is not None and is_older and pending.status == "running":
        if arguments.wait:
            return None
        raise WaitForTheBatch(_in_the_way(arguments, pipeline, pending=pending))
    return None if pending is None else pending.batch


def _run(arguments: Arguments, site: Site, *, batch: Interval, end: Ending) -> None:
    request = gone_on_with(site.declared, site.store, request=Request(batch=batch))
    try:
        await_turn(site.declared, site.store, batch=batch, replace=False, wait=False)
        if end.is_asked:
            return
        with end.at_work():
            reports = list(run_batch(site, request))
    except KeyboardInterrupt as error:
        rows = read_ledger(site.store, site.declared.name)
        raise interrupted(arguments, request, rows=rows) from error
    for report in reports:
        tell_warnings(report)
    seconds = sum(report.seconds for report in reports)
    last = replace(reports[-1], seconds=seconds)
    print(f"batch {batch}: {last.line}, {seconds:.1f} s in all", flush=True)


def _start_us(arguments: Arguments, pipeline: Pipeline, *, store: str, every_us: int) -> int:
    """Where the first batch begins."""
    last = newest(read_ledger(store, pipeline.name))
    if last is not None:
        # The command that began it may be said again, but nothing between is left out.
        if arguments.since is not None and instant_of(arguments.since, "--from") > last.batch.end_us:
            raise CorrectTheCall(
                f"--from {arguments.since}: batches have run up to {last.batch}, and what arrived since "
                "would be left out; leave --from out to go on there"
            )
        return last.batch.end_us
    if arguments.since is not None:
        return instant_of(arguments.since, "--from")
    if pipeline.schedule is not None:
        return pipeline.schedule.start_us
    return floor_to(_now_us(), every_us)


def _now_us() -> int:
    return to_us(datetime.now(UTC))
