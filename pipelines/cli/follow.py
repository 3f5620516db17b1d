"""`sash follow`: micro-batches as time goes on, in one session.

Each batch takes what has arrived since the one before it, up to now, or up to `--behind` before now; it ends
at a whole multiple of `--every`, so that batches meet wherever they are cut.
"""

from __future__ import annotations

import sys
from dataclasses import replace
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
from pipelines.errors import CorrectTheCall, RunAgain, WaitForTheBatch
from pipelines.intervals import Interval, floor_to, show_instant, to_us
from pipelines.spec import Pipeline
from pipelines.stages import Request, Site, run_batch
from pipelines.store.ledger_rows import newest, unfinished
from pipelines.store.reader import read_ledger

SECOND_US = 1_000_000
TRIES = 3


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
            _run_in_turn(arguments, site, batch=pending, end=end)
        print(f"following {pipeline.name}, a batch every {arguments.every}; Ctrl-C ends it", flush=True)
        if start_us > _now_us():
            begins = show_instant(start_us)
            print(f"the first begins at {begins}: nothing is to be done until then", flush=True)
        while not end.is_asked:
            # Others may have run batches meanwhile, or all of them anew.
            last = newest(read_ledger(store, pipeline.name))
            start_us = start_us if last is None else last.batch.end_us
            until_us = _now_us() - behind_us
            end_us = floor_to(until_us, every_us)
            if end_us > start_us:
                _run_in_turn(arguments, site, batch=Interval(start_us, end_us), end=end)
            else:
                end.wait((every_us - until_us % every_us) / SECOND_US)
    left = unfinished(read_ledger(store, pipeline.name))
    print("no batch is unfinished" if left is None else f"batch {left.batch} is unfinished")


def _left(arguments: Arguments, pipeline: Pipeline, *, store: str) -> Interval | None:
    """The batch that is unfinished. Raises `WaitForTheBatch` where somebody corrects an older one."""
    rows = read_ledger(store, pipeline.name)
    pending, last = unfinished(rows), newest(rows)
    is_older = pending is not None and last is not None and pending.batch != last.batch
    if pending is not None and is_older and pending.status == "running":
        raise WaitForTheBatch(
            f"batch {pending.batch} is running. If nothing runs it any more, run it again: "
            f"{again(arguments, pipeline, pending=pending)}"
        )
    return None if pending is None else pending.batch


def _run_in_turn(arguments: Arguments, site: Site, *, batch: Interval, end: Ending) -> None:
    """Run a batch once no other is running, unless the end is asked for before that: who corrects an older
    one between two micro-batches does not end those. Where running again may help, it is.
    """
    told, tries = None, 1
    while not end.is_asked:
        try:
            return _run(arguments, site, batch=batch, end=end)
        except WaitForTheBatch as error:
            other = unfinished(read_ledger(site.store, site.declared.name))
            if error.is_over or other is None or other.batch == batch or other.status != "running":
                raise
            if other.batch != told:
                print(f"waiting: batch {other.batch} is running", file=sys.stderr)
            told = other.batch
        except RunAgain as error:
            if tries == TRIES:
                raise
            tries += 1
            print(f"{error}. It is: try {tries} of {TRIES}", file=sys.stderr)
        end.wait(PAUSE_SECONDS)
    return None


def _run(arguments: Arguments, site: Site, *, batch: Interval, end: Ending) -> None:
    request = gone_on_with(site.declared, site.store, request=Request(batch=batch))
    try:
        await_turn(site.declared, site.store, batch=batch, replace=False, wait=False)
        if end.is_asked:
            return
        with end.at_work():
            reports = list(run_batch(site, request))
    except KeyboardInterrupt as error:
        raise interrupted(arguments, request) from error
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
