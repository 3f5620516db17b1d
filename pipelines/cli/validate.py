"""`sash validate`: all that is wrong with a spec, at once.

What can be told without data is told without Spark. Columns and expressions need a source's schema, so
where there is no data yet that is said, and is no mistake.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipelines.checks import Suite, load_suite, unknown_names
from pipelines.cli.arguments import Arguments
from pipelines.cli.laws import broken_laws, unloadable
from pipelines.cli.place import store_of
from pipelines.cli.session import session_of
from pipelines.errors import CorrectTheSpec
from pipelines.ingest import verify
from pipelines.ingest.files import any_path, is_out_of_reach
from pipelines.ingest.read import known_schemas
from pipelines.spec import Pipeline, Source, find_modules_beside, understood, warnings
from pipelines.spec.places import with_lines
from pipelines.stages import Site
from pipelines.stages.expected import unfit
from pipelines.stages.shapes import shapes_of


def validate(arguments: Arguments) -> None:
    """Print warnings and what was checked. Raises `CorrectTheSpec` with every problem."""
    # What is wrong by itself keeps nothing else from being held against the data.
    pipeline, wrong = understood(Path(arguments.spec))
    find_modules_beside(pipeline)
    suite, problems = _suite(pipeline)
    for warning in () if wrong else warnings(pipeline):
        print(f"warning: {warning}")
    problems = (*wrong, *problems, *unloadable(pipeline))
    notes = {source.name: _why_unread(source, pipeline) for source in pipeline.sources}
    readable = tuple(source for source in pipeline.sources if notes[source.name] is None)
    if readable:
        site = Site(session_of(arguments), store_of(arguments, pipeline), replace(pipeline, sources=readable))
        broken = () if problems else broken_laws(site)
        problems = (*problems, *broken, *_against_data(site, suite, has_states=not (wrong or broken)))
    if problems:
        raise CorrectTheSpec(pipeline.path.name, with_lines(problems, pipeline))
    for note in notes.values():
        if note is not None:
            print(f"not checked: columns and expressions of {note}")
    print(f"{arguments.spec} is valid: {_counted(pipeline, suite)}")


def _why_unread(source: Source, pipeline: Pipeline) -> str | None:
    """Why the columns of a source cannot be told, if they cannot."""
    if source.path is None or source.schema is not None or is_out_of_reach(source, pipeline.home):
        # The last is told with all else that is wrong with the source.
        return None
    try:
        any_path(source, pipeline.home)
    except CorrectTheSpec as nothing:
        return str(nothing)
    return None


def _suite(pipeline: Pipeline) -> tuple[Suite, tuple[str, ...]]:
    """The suite and what is wrong with it; where it cannot be read, one that expects nothing."""
    try:
        suite = load_suite(pipeline.expectations)
    except CorrectTheSpec as refused:
        name = Path(refused.where).name
        return Suite(), tuple(
            f"{name}, {problem}" if problem.startswith("line ") else f"expectations: {name} {problem}"
            for problem in refused.problems
        )
    # Great Expectations takes seconds to come, so it is asked only where something is expected.
    return suite, _of_suite(suite, unknown_names(suite)) if suite.expectations else ()


def _against_data(site: Site, suite: Suite, *, has_states: bool) -> tuple[str, ...]:
    """What does not fit the columns that the sources have, first in the spec, then, where its operations have
    states at all, in the expectations.
    """
    schemas, problems = known_schemas(site.spark, site.pipeline)
    known = replace(site.pipeline, sources=tuple(it for it in site.pipeline.sources if it.name in schemas))
    problems += verify(site.spark, known, schemas=schemas)
    if problems or not has_states:
        return problems
    try:
        shapes = shapes_of(site, schemas=schemas)
        return unfit(site, suite, shapes=shapes, schemas=schemas) if suite.expectations else ()
    except CorrectTheSpec as refused:
        return refused.problems


def _of_suite(suite: Suite, problems: tuple[str, ...]) -> tuple[str, ...]:
    name = suite.path.name if suite.path else ""
    return tuple(f"{name}, {problem}" for problem in problems)


def _counted(pipeline: Pipeline, suite: Suite) -> str:
    told = (
        (len(pipeline.sources), "source"),
        (len(pipeline.aggregates), "aggregate"),
        (len(pipeline.windows), "window"),
        (len(suite.expectations), "expectation"),
    )
    return ", ".join(f"{many} {what}{'' if many == 1 else 's'}" for many, what in told)
