"""`sash plan`: what a run would read, compute, replace and publish, for people or for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain

from pipelines.cli.arguments import Arguments
from pipelines.cli.batches import batches_of, refuse_rebuild_without_bounds
from pipelines.cli.place import pipeline_of, store_of
from pipelines.cli.replay import await_others, replayed
from pipelines.cli.run import gone_on_with, requests_of, told_left_out, unfinished_first
from pipelines.cli.session import session_of
from pipelines.cli.turns import await_quiet, await_turn, in_its_turn
from pipelines.cli.written import Value, indented, instant, table
from pipelines.errors import CorrectTheCall
from pipelines.spec import Pipeline
from pipelines.stages import Request, Site
from pipelines.stages.planning import Plan, plan_batches

FATES = ("ingested", "accepted", "late", "quarantined", "duplicates")
FILES = ("table", "files replaced", "bytes", "files written", "bytes")
KINDS = {
    "new": "a new batch",
    "older": "older than the newest, and never run: a restatement",
    "same": "has run: a restatement, if its data have changed",
    "covers": "takes the place of older batches",
    "unfinished": "was begun and is unfinished: goes on with it",
}


def plan(arguments: Arguments) -> None:
    """Print what the run would do, batch after batch."""
    pipeline = pipeline_of(arguments)
    store = store_of(arguments, pipeline)
    requests = _asked(arguments, pipeline, store=store)
    if not requests:
        return
    batches, wait = [it.batch for it in requests], arguments.wait
    if arguments.rebuild:
        turn = partial(await_quiet, pipeline, store, batches=batches, wait=wait)
    else:
        requests = unfinished_first(pipeline, store, requests=requests)
        first = requests[0]
        turn = partial(await_turn, pipeline, store, batch=first.batch, replace=first.replace, wait=wait)
    turn()
    site = Site(session_of(arguments), store, pipeline)

    left_out: list[Request] = []

    def begun() -> tuple[Plan, Iterator[Plan]]:
        left_out.clear()
        plans = plan_batches(site, requests, leaves_out=left_out.append, anew=arguments.rebuild)
        return next(plans), plans

    next_one, others = in_its_turn(begun, site, batches=batches, turn=turn, wait=wait)
    for planned in chain([next_one], others):
        told = _as_json(planned) if arguments.format == "json" else _as_text(pipeline.name, planned)
        print(told, end="\n" if arguments.format == "json" or len(requests) == 1 else "\n\n", flush=True)
    if left_out:
        _say(told_left_out(left_out))


def _asked(arguments: Arguments, pipeline: Pipeline, *, store: str) -> Sequence[Request]:
    if arguments.replay is not None:
        for name in ("every", "watermark", "final", "replace", "ignore_lateness", "rebuild"):
            if getattr(arguments, name):
                raise CorrectTheCall(f"--{name.replace('_', '-')} says nothing of a replay: leave it out")
        await_others(arguments, pipeline, store=store, what=arguments.replay)
        return replayed(arguments, pipeline, store=store, what=arguments.replay, say=_say)
    if arguments.rebuild:
        refuse_rebuild_without_bounds(arguments)
    requests = requests_of(arguments, batches_of(arguments, pipeline, store=store))
    if arguments.since is None:
        return [gone_on_with(pipeline, store, request=request) for request in requests]
    return requests


def _say(line: str) -> None:
    """Beside the plan, which a machine may read."""
    print(line, file=sys.stderr, flush=True)


def _as_json(planned: Plan) -> str:
    told = {**asdict(planned), "batch": [instant(planned.batch.start_us), instant(planned.batch.end_us)]}
    for name in ("watermark_before", "watermark_after"):
        at_us = told.pop(f"{name}_us")
        told[name] = None if at_us is None else instant(at_us)
    return json.dumps(told, ensure_ascii=False)


def _as_text(name: str, planned: Plan) -> str:
    counts = planned.counts
    inputs: list[list[Value]] = [[one.source, one.files, one.bytes] for one in planned.inputs]
    sections = [
        f"{name}, batch {planned.batch}: {KINDS[planned.kind]}; nothing has been touched",
        *[f"Warning: {line}" for line in planned.warnings],
        f"It would read\n{indented(table(('source', 'files', 'bytes'), inputs))}",
        f"It would count\n{indented(table(FATES, [[counts.get(fate, 0) for fate in FATES]]))}",
    ]
    if planned.stopped is not None:
        return "\n\n".join([*sections, f"A check would stop it: {planned.stopped}"])
    replaced: list[list[Value]] = [
        [what, counts[what]]
        for what in ("partial_frames", "frames", "partial_sessions", "sessions", "windows")
        if what in counts
    ]
    sections.append(f"It would write or replace rows of\n{indented(table(('table', 'rows'), replaced))}")
    files: list[list[Value]] = [list(asdict(one).values()) for one in planned.rewritten]
    told = indented(table(FILES, files)) if files else "  no files"
    sections.append(f"Of their files it would replace and write\n{told}")
    published: list[list[Value]] = [
        [one.window, one.timing, one.kind, one.panes] for one in planned.published
    ]
    headers = ("window", "timing", "kind", "panes")
    told = indented(table(headers, published)) if published else "  nothing"
    before, after = (instant(it) for it in (planned.watermark_before_us, planned.watermark_after_us))
    return "\n\n".join([*sections, f"It would publish\n{told}", f"Watermark: {before} → {after}"])
