"""`sash stage`: one stage of one batch, as one Airflow task runs it."""

from __future__ import annotations

from pipelines.cli.arguments import Arguments
from pipelines.cli.batches import await_turn, confirm_final, interval_of
from pipelines.cli.place import pipeline_of, store_of
from pipelines.cli.progress import tell_warnings
from pipelines.cli.run import interrupted, requests_of
from pipelines.cli.session import session_of
from pipelines.errors import CorrectTheCall
from pipelines.spec import Pipeline
from pipelines.stages import Site, run_stage


def stage(arguments: Arguments) -> None:
    """Run the stage, of one source or of all, and print the line of each."""
    pipeline = pipeline_of(arguments)
    store = store_of(arguments, pipeline)
    batch = interval_of(arguments)
    if batch is None:
        raise CorrectTheCall("a stage is of one batch: say which, with --from and --to")
    sources = _sources(arguments, pipeline)
    if arguments.rebuild:
        raise CorrectTheCall("--rebuild is of a whole run: say it to `sash run`")
    (request,) = requests_of(arguments, [batch])
    if arguments.final:
        confirm_final(pipeline, [batch], yes=arguments.yes)
    await_turn(pipeline, store, batch=batch, replace=arguments.replace, wait=arguments.wait)
    site = Site(session_of(arguments), store, pipeline)
    try:
        for source in sources:
            report = run_stage(site, request, stage=arguments.stage, source=source)
            print(report.line, flush=True)
            tell_warnings(report)
    except KeyboardInterrupt as error:
        raise interrupted(arguments, request) from error


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
