"""A spec file → a pipeline. All problems of a file are told at once."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pipelines.errors import CorrectTheSpec
from pipelines.spec.check import LONGEST_NAME, name_problems
from pipelines.spec.fields import Fields, Problems
from pipelines.spec.model import Panes, Pipeline, Retention, Schedule
from pipelines.spec.operations import read_aggregates
from pipelines.spec.paths import home_problem
from pipelines.spec.shapes import read_panes, read_windows
from pipelines.spec.sources import SourceTimes, limit_of, read_sources
from pipelines.spec.yaml import read_yaml

NAME = re.compile(r"[a-z][a-z0-9_]*")
DAY_US = 86_400_000_000


def load(path: Path, *, home: Path | None = None) -> Pipeline:
    """The pipeline of a spec file. Raises `CorrectTheSpec` with all of its problems.

    Relative paths of the spec start at `home`, else at `SASH_HOME`, else at the parent of the spec's folder.
    """
    pipeline, problems = understood(path, home=home)
    if problems:
        raise CorrectTheSpec(pipeline.path.name, problems)
    return pipeline


def understood(path: Path, *, home: Path | None = None) -> tuple[Pipeline, tuple[str, ...]]:
    """What can be understood of a spec file, and all of its problems: sources, aggregates and windows in
    which something is wrong are left out.
    """
    # Where links lead to, as Python finds the file of a DAG; a pipe leads to no place.
    path = Path(path).resolve() if _is_file(Path(path)) else Path(path).absolute()
    told = os.environ.get("SASH_HOME")
    start = home or (Path(told) if told else path.parent.parent)
    problems = Problems()
    document = Fields(read_yaml(path, refuse=problems.add), "", problems=problems)
    pipeline = _pipeline(document, path, home=start.absolute(), problems=problems)
    document.close()
    for line, problem in name_problems(document):
        problems.add(line, problem)
    return pipeline, problems.told()


def _is_file(path: Path) -> bool:
    """What the disk has against it is told by whoever reads it."""
    try:
        return path.is_file()
    except OSError:
        return False


def _pipeline(document: Fields, path: Path, *, home: Path, problems: Problems) -> Pipeline:
    name = document.text("name", required=True)
    if name is not None and not NAME.fullmatch(name):
        document.refuse(document.items["name"], f"found `{name}`; allowed is {NAME.pattern}", name="name")
    elif name is not None and len(name) > LONGEST_NAME:
        told = f"found one of {len(name)} letters; allowed are {LONGEST_NAME}, as in Airflow"
        document.refuse(document.items["name"], told, name="name")
    time = document.within("time")
    batch_us = time.duration("batch", positive=True)
    lateness_us = time.duration("allowed_lateness") or 0
    times = SourceTimes(
        max_disorder_us=time.duration("max_disorder") or 0,
        idle_after_us=limit_of(time, "idle_after"),
        max_ahead_us=limit_of(time, "max_ahead"),
    )
    time.close()
    panes = read_panes(document.within("panes"), Panes())
    sources = read_sources(document, times, problems=problems)
    astray = home_problem(home, [source.path or "" for source in sources])
    if astray is not None:
        document.refuse(None, astray)
    key = document.texts("key")
    if key is None and document.take("key") is None:
        document.refuse(None, "`key` is missing; allowed is a list of columns, [] for one key")
    expectations = document.text("expectations")
    return Pipeline(
        name=name or "",
        description=document.text("description") or "",
        sources=sources,
        key=key or (),
        aggregates=read_aggregates(document, problems),
        windows=read_windows(document, panes, lateness_us=lateness_us, problems=problems),
        schedule=_schedule(document),
        batch_us=batch_us or DAY_US,
        retention=_retention(document),
        expectations=None if expectations is None else home / expectations,
        home=home,
        path=path,
    )


def _schedule(document: Fields) -> Schedule | None:
    if document.take("schedule") is None:
        return None
    section = document.within("schedule")
    start_us, catchup = section.instant("start"), section.flag("catchup")
    if section.take("start") is None:
        section.refuse(None, "`start` is missing; allowed is an instant like 2013-01-01")
    section.close()
    return None if start_us is None else Schedule(start_us=start_us, catchup=catchup)


def _retention(document: Fields) -> Retention:
    section = document.within("retention")
    retention = Retention(
        frames_us=section.duration("frames", calendar=True),
        late_events_us=section.duration("late_events", calendar=True),
    )
    section.close()
    return retention
