"""`sash run`: batches through all stages, in one session.

What the flags say of time, `--watermark` and `--final`, is true after the last batch.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from pipelines.cli.again import replay_again, run_again
from pipelines.cli.arguments import REPLAYED, Arguments
from pipelines.cli.batches import (
    batches_of,
    confirm_final,
    confirm_rebuild,
    described,
    instant_of,
    interval_of,
    refuse_rebuild_without_bounds,
)
from pipelines.cli.place import pipeline_of, store_of
from pipelines.cli.progress import progress
from pipelines.cli.session import session_of
from pipelines.cli.steps import steps_of
from pipelines.cli.told import Interrupted
from pipelines.cli.turns import await_quiet, await_turn, in_its_turn
from pipelines.cli.written import instant
from pipelines.errors import CorrectTheCall
from pipelines.intervals import LATEST_US, Interval, show_instant
from pipelines.spec import Pipeline, hide, refuse_too_many_paths
from pipelines.stages import Report, Request, Site, run_batch
from pipelines.stages.lines import many
from pipelines.stages.rebuilding import empty_tables
from pipelines.stages.retained import without_gone
from pipelines.store.ledger_rows import LedgerRow, is_begun, newest, standing, unfinished
from pipelines.store.reader import read_ledger, replay_of, wishes_of

FATES = ("accepted", "late", "quarantined", "duplicates")


def run(arguments: Arguments) -> None:
    """Run the batches, tell how far it is, and sum up."""
    pipeline = pipeline_of(arguments)
    store = store_of(arguments, pipeline)
    if arguments.rebuild:
        refuse_rebuild_without_bounds(arguments)
    batches = batches_of(arguments, pipeline, store=store)
    requests = requests_of(arguments, batches)
    if arguments.since is None:
        requests = [gone_on_with(pipeline, store, request=request) for request in requests]
    if arguments.final:
        confirm_final(pipeline, batches, yes=arguments.yes)
    if arguments.rebuild:
        empty(arguments, pipeline, store=store, batches=batches)
    carry_out(arguments, pipeline, store=store, requests=requests)


def empty(arguments: Arguments, pipeline: Pipeline, *, store: str, batches: Sequence[Interval]) -> None:
    """Empty all tables for these batches to run, once somebody has said so."""
    confirm_rebuild(pipeline, yes=arguments.yes)
    wait = arguments.wait
    turn = partial(await_quiet, pipeline, store, batches=batches, wait=wait)
    turn()
    for batch in batches:
        refuse_too_many_paths(pipeline, batch)
    site = Site(session_of(arguments), store, pipeline)
    in_its_turn(lambda: empty_tables(site, batches), site, batches=batches, turn=turn, wait=wait)


def carry_out(arguments: Arguments, pipeline: Pipeline, *, store: str, requests: Sequence[Request]) -> None:
    """Run what is asked, batch after batch in one session, tell how far it is, and sum up."""
    began = time.monotonic()
    requests = unfinished_first(pipeline, store, requests=requests)
    first, wait = requests[0], arguments.wait
    await_turn(pipeline, store, batch=first.batch, replace=first.replace, wait=wait)
    done: Counter[str] = Counter()
    left_out: list[Request] = []
    with progress(len(requests), steps_of([source.name for source in pipeline.sources])) as told:
        site = Site(session_of(arguments), store, pipeline)

        def leaves_out(request: Request) -> None:
            left_out.append(request)
            told.passes()

        for request in without_gone(site, requests, leaves_out=leaves_out):
            told.begins(described(pipeline, store, batch=request.batch))
            try:
                for report in _reports(site, request, wait=wait):
                    told.done(report)
                    done.update(report.counts if report.stage == "publish" else {})
            except KeyboardInterrupt as error:
                raise interrupted(arguments, request, rows=read_ledger(store, pipeline.name)) from error
    if left_out:
        print(told_left_out(left_out))
    batches, seconds = len(requests) - len(left_out), time.monotonic() - began
    print(_summary(pipeline, store, batches=batches, done=done, seconds=seconds))


def requests_of(arguments: Arguments, batches: Sequence[Interval]) -> list[Request]:
    """What is asked of each batch; what is said of the watermark holds for the last."""
    if arguments.final and arguments.watermark is not None:
        raise CorrectTheCall(
            "--final closes everything, so --watermark beside it says nothing: say one of them"
        )
    watermark_us = None if arguments.watermark is None else instant_of(arguments.watermark, "--watermark")
    if watermark_us == LATEST_US:
        raise CorrectTheCall(f"--watermark {arguments.watermark}: that closes everything; say --final")
    return [
        Request(
            batch=batch,
            watermark_us=watermark_us if batch == batches[-1] else None,
            final=arguments.final and batch == batches[-1],
            replace=arguments.replace,
            ignore_lateness=arguments.ignore_lateness,
        )
        for batch in batches
    ]


def unfinished_first(pipeline: Pipeline, store: str, *, requests: Sequence[Request]) -> list[Request]:
    """The requests, that of an unfinished batch before the others, which wait for it: a command of several
    batches that was cut off and is said again goes on where it stopped.
    """
    pending = unfinished(read_ledger(store, pipeline.name))
    return sorted(requests, key=lambda request: pending is None or request.batch != pending.batch)


def gone_on_with(pipeline: Pipeline, store: str, *, request: Request) -> Request:
    """The request for a batch that nobody named, or for a later stage of it: if it is unfinished, with what
    was asked for it before; of the watermark what is asked for now, if anything is.
    """
    pending = unfinished(read_ledger(store, pipeline.name))
    if pending is None or pending.batch != request.batch:
        return request
    wishes = wishes_of(store, pipeline.name, batch=pending.batch, revision=pending.revision)
    final = request.final or ("final" in wishes and request.watermark_us is None)
    replays = next((what for what in REPLAYED if replay_of(what) in wishes), None)
    asked_us = request.watermark_us if request.watermark_us is not None else wishes.get("watermark_us")
    return replace(
        request,
        watermark_us=None if final else asked_us,
        final=final,
        replace=request.replace or "replace" in wishes,
        ignore_lateness=request.ignore_lateness or "ignore_lateness" in wishes,
        replays=request.replays or replays,
    )


def interrupted(arguments: Arguments, request: Request, *, rows: Sequence[LedgerRow]) -> Interrupted:
    """What to say when somebody stops a batch by hand, by what the ledger says of it."""
    if not is_begun(rows, request.batch):
        is_done = any(row.batch == request.batch and row.status == "published" for row in standing(rows))
        told = "stands as it was published" if is_done else "has not been opened"
        return Interrupted(f"interrupted; batch {request.batch} {told}, and no other batch waits for it")
    if request.replays is not None:
        # As it was said, where it was; others go on with its batch alone.
        inside = interval_of(arguments) if arguments.command == "replay" else request.batch
        command = replay_again(arguments, request.replays, inside=inside)
    else:
        command = run_again(arguments, request.batch, wishes=request.wishes)
    return Interrupted(
        f"interrupted; batch {request.batch} is unfinished, and other batches wait for it. Nothing needs "
        f"repair: say it again with {command}"
    )


def told_left_out(requests: Sequence[Request]) -> str:
    """What to say of batches that have run, and cannot run again."""
    number, until = many(len(requests), "batch"), show_instant(max(it.batch.end_us for it in requests))
    return f"left out: {number}, until {until}: run before, and older than what `retention` keeps"


def _reports(site: Site, request: Request, *, wait: bool) -> Iterator[Report]:
    def begun() -> tuple[Report, Iterator[Report]]:
        reports = run_batch(site, request)
        return next(reports), reports

    batch, replaces = request.batch, request.replace
    turn = partial(await_turn, site.declared, site.store, batch=batch, replace=replaces, wait=wait)
    first, others = in_its_turn(begun, site, batches=[batch], turn=turn, wait=wait)
    yield first
    yield from others


def _summary(pipeline: Pipeline, store: str, *, batches: int, done: Counter[str], seconds: float) -> str:
    last = newest(read_ledger(store, pipeline.name))
    watermark_us = last.watermark_after_us if last else None
    fates = ", ".join(f"{done[fate]:,} {fate}" for fate in FATES)
    told = (
        f"{many(batches, 'batch')} done in {seconds:.1f} s",
        f"{many(done['ingested'], 'row')} ({fates})",
        many(done["panes"], "pane"),
        f"watermark {instant(watermark_us)}",
        f"tables in {hide(store, ())}/{pipeline.name}",
    )
    return f"{pipeline.name}: {'; '.join(told)}"
