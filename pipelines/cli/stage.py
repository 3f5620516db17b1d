"""`sash stage`: one stage of one batch, as one Airflow task runs it."""

from __future__ import annotations

from functools import partial

from pipelines.cli.arguments import Arguments
from pipelines.cli.batches import batches_of, confirm_final
from pipelines.cli.place import pipeline_of, store_of
from pipelines.cli.progress import tell_warnings
from pipelines.cli.run import empty, gone_on_with, interrupted, requests_of
from pipelines.cli.session import session_of
from pipelines.cli.steps import STAGES
from pipelines.cli.turns import await_turn, in_its_turn
from pipelines.errors import CorrectTheCall
from pipelines.intervals import Interval
from pipelines.spec import Pipeline
from pipelines.stages import Request, Site, run_stage
from pipelines.stages.site import folder_of
from pipelines.store import attempts
from pipelines.store.ledger_rows import unfinished
from pipelines.store.reader import read_ledger

LAST_TO_HEAR = {
    "--replace": ("replace", "accumulate"),
    "--ignore-lateness": ("ignore_lateness", "accumulate"),
    "--watermark": ("watermark_us", "combine"),
    "--final": ("final", "combine"),
}
"""The last stage to which a flag may be said for the first time: after it, a part of the batch is done."""


def stage(arguments: Arguments) -> None:
    """Run the stage, of one source or of all, and print the line of each."""
    pipeline = pipeline_of(arguments)
    store = store_of(arguments, pipeline)
    batch, *others = batches_of(arguments, pipeline, store=store)
    if others:
        raise CorrectTheCall(
            f"a stage is of one batch, and --every {arguments.every} cuts this interval into "
            f"{len(others) + 1}: say the bounds of one, or `sash run` for all stages of each"
        )
    sources = _sources(arguments, pipeline)
    (request,) = requests_of(arguments, [batch])
    has_begun = _has_begun(pipeline, store, batch=batch, beside=arguments.source)
    if arguments.rebuild:
        _refuse_to_rebuild(arguments, batch, has_begun=has_begun)
    if arguments.stage != STAGES[0] or has_begun:
        # What was said to the stages before, or to another source, holds for the whole batch.
        said = gone_on_with(pipeline, store, request=Request(batch=batch))
        _refuse_unheard(arguments, request, said=said)
        request = gone_on_with(pipeline, store, request=request)
    if arguments.final:
        confirm_final(pipeline, [batch], yes=arguments.yes)
    if arguments.rebuild:
        empty(arguments, pipeline, store=store, batches=[batch])
    wait = arguments.wait
    turn = partial(await_turn, pipeline, store, batch=batch, replace=arguments.replace, wait=wait)
    turn()
    site = Site(session_of(arguments), store, pipeline)
    try:
        for source in sources:
            one = partial(run_stage, site, request, stage=arguments.stage, source=source)
            report = in_its_turn(one, site, batches=[batch], turn=turn, wait=wait)
            print(report.line, flush=True)
            tell_warnings(report)
    except KeyboardInterrupt as error:
        raise interrupted(arguments, request, rows=read_ledger(store, pipeline.name)) from error


def _refuse_unheard(arguments: Arguments, request: Request, *, said: Request) -> None:
    """Raise `CorrectTheCall` for a flag that comes after the last stage to hear it and is news; or to that
    stage of a source, when another has been through it.
    """
    stage = arguments.stage
    for flag, (name, last) in LAST_TO_HEAR.items():
        asked = getattr(request, name)
        if asked is None or asked is False or asked == getattr(said, name):
            continue
        if STAGES.index(stage) > STAGES.index(last):
            raise CorrectTheCall(
                f"{flag} comes too late with the stage {stage}; say it to the stage {last}, and run those "
                "after it again, or `sash run` for all of them"
            )
        if stage == last == STAGES[0]:
            raise CorrectTheCall(
                f"{flag} holds for a whole batch, and another source has begun it without: leave out "
                f"--source {arguments.source}, so that all sources are read again, or `sash run` it"
            )


def _refuse_to_rebuild(arguments: Arguments, batch: Interval, *, has_begun: bool) -> None:
    """Raise `CorrectTheCall` where what the stage goes on from would be emptied, or what another source of
    the batch has brought.
    """
    if arguments.stage != STAGES[0]:
        raise CorrectTheCall(
            f"--rebuild empties the tables that the stage {arguments.stage} goes on from: say it to the "
            f"stage {STAGES[0]}, with which a batch begins, or to `sash run`"
        )
    if has_begun:
        raise CorrectTheCall(
            f"--rebuild --source {arguments.source}: another source of batch {batch} has begun, and what it "
            "brought would go too; leave --rebuild out, or `sash abandon` the batch before"
        )


def _has_begun(pipeline: Pipeline, store: str, *, batch: Interval, beside: str | None) -> bool:
    """Whether the batch is unfinished and another source of it has begun beside this one, or was accumulated
    by a run of all stages.
    """
    pending = unfinished(read_ledger(store, pipeline.name))
    if beside is None or pending is None or pending.batch != batch:
        return False
    happened = attempts.read(folder_of(store, pipeline))
    told = [one for one in happened if one.what != "noted" and one.is_of(batch, pending.revision)]
    return any(one.source not in (None, beside) for one in told)


def _sources(arguments: Arguments, pipeline: Pipeline) -> list[str | None]:
    """The sources to run the stage for, one after the other; a stage that is of all at once has `None`."""
    names = [source.name for source in pipeline.sources]
    if arguments.stage != "accumulate":
        if arguments.source is not None:
            raise CorrectTheCall(
                f"--source {arguments.source}: the stage {arguments.stage} is of all sources at "
                "once; leave --source out"
            )
        return [None]
    if arguments.source is None:
        return [*names]
    if arguments.source not in names:
        raise CorrectTheCall(
            f"pipeline `{pipeline.name}` has no source `{arguments.source}`; it has {', '.join(names)}"
        )
    return [arguments.source]
