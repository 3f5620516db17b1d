"""`sash explain`: what a spec will do, as a page to read. Nothing is read and nothing is started."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.aggregates import operation_of, part_names
from pipelines.aggregates.options import expression
from pipelines.checks import STAGES, load_suite
from pipelines.cli.arguments import Arguments
from pipelines.cli.explain_plans import is_exact
from pipelines.cli.explain_windows import frames, time_rules, windows
from pipelines.cli.laws import unloadable
from pipelines.cli.place import folder_of, pipeline_of
from pipelines.cli.steps import steps_of
from pipelines.cli.written import indented, table
from pipelines.errors import CorrectTheSpec
from pipelines.spec import Aggregate, Pipeline, hide, secrets_of, show_duration
from pipelines.spec.model import Scalar
from pipelines.spec.places import with_lines


def explain(arguments: Arguments) -> None:
    """Print the page, a section after the other. Raises `CorrectTheSpec` without a custom function."""
    pipeline = pipeline_of(arguments)
    problems = unloadable(pipeline)
    if problems:
        raise CorrectTheSpec(pipeline.path.name, with_lines(problems, pipeline))
    print(pipeline.name + (f": {pipeline.description}" if pipeline.description else ""))
    print(f"tables in {folder_of(arguments, pipeline)}")
    for title, page in _sections(pipeline):
        print(f"\n{title}\n{indented(page)}")


def _sections(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    yield "Sources", _sources(pipeline)
    yield "Frames", frames(pipeline)
    yield "Aggregates", _aggregates(pipeline)
    yield "Windows", windows(pipeline)
    yield "Time", time_rules(pipeline)
    yield "Tasks", _tasks(pipeline)


def _sources(pipeline: Pipeline) -> str:
    listed = [
        [
            source.name,
            source.format,
            hide(source.path or "", secrets_of(pipeline)),
            source.event_time,
            source.arrival_time or "the event time",
            source.substream or "one",
            source.where or "all",
        ]
        for source in pipeline.sources
    ]
    headers = ("source", "format", "path", "event time", "arrival time", "substreams by", "rows")
    return f"{table(headers, listed)}\npaths begin at {pipeline.home}"


def _aggregates(pipeline: Pipeline) -> str:
    listed = [
        [
            aggregate.name,
            _called(aggregate),
            aggregate.where or "all",
            ", ".join(part_names(aggregate)),
            _deduct(aggregate),
        ]
        for aggregate in pipeline.aggregates
    ]
    key = ", ".join(pipeline.key) or "none: one key for everything"
    page = table(("result", "operation", "of rows where", "parts of a state", "deduct"), listed)
    return f"key: {key}\n{page}\nbeside the parts each state has event_count, the exact number of its events"


def _called(aggregate: Aggregate) -> str:
    name = aggregate.of if aggregate.op == "custom" else aggregate.op
    options = [f"{option} {_written(told)}" for option, told in aggregate.options if option != "of"]
    return f"{name}({', '.join([expression(aggregate) or '*', *options])})"


def _written(told: Scalar | tuple[Scalar, ...]) -> str:
    return " and ".join(map(str, told)) if isinstance(told, tuple) else str(told)


def _deduct(aggregate: Aggregate) -> str:
    parts = operation_of(aggregate).parts
    if any(part.deduct is None for part in parts):
        return "no"
    return "yes" if is_exact(aggregate) else "where types are exact"


def _tasks(pipeline: Pipeline) -> str:
    steps = steps_of([source.name for source in pipeline.sources])
    many = len(pipeline.sources)
    branches = _branches(steps[:many], " → ".join(steps[many:]))
    checks = load_suite(pipeline.expectations)
    told = [f"{len(checks.at(stage))} on {stage}" for stage in STAGES if checks.at(stage)]
    return "\n".join(
        [
            *branches,
            "accumulate works on its source alone, the rest on all",
            f"checks between them: {', '.join(told) or 'none'}",
            f"a scheduled batch is {show_duration(pipeline.batch_us)} long",
        ]
    )


def _branches(steps: Sequence[str], rest: str) -> list[str]:
    """Steps below each other, joined by a line that leads on to the rest from the one in the middle."""
    if len(steps) == 1:
        return [f"{steps[0]} → {rest}"]
    width = max(len(step) for step in steps)
    lines = []
    for place, step in enumerate(steps):
        corner = "┐" if place == 0 else "┘" if place == len(steps) - 1 else "┤"
        lines.append(f"{step:<{width}} ─{corner}" + (f"─→ {rest}" if place == len(steps) // 2 else ""))
    return lines
