"""A process that runs a batch as Airflow's tasks do, each stage and source an attempt of its own:
`by_stages.py SPEC STORE FROM_US TO_US`, the bounds in microseconds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipelines.intervals import Interval
from pipelines.session import open_session
from pipelines.spec import Pipeline, load
from pipelines.stages import Request, Site, open_batch, run_stage
from tests.conftest import SMALL_WORK

Task = tuple[str, str | None]
"""A stage, and a source if it is accumulate."""


def tasks_of(pipeline: Pipeline) -> Iterator[Task]:
    yield from (("accumulate", source.name) for source in pipeline.sources)
    yield from ((stage, None) for stage in ("combine", "finalise", "publish"))


def run_tasks(site: Site, request: Request, tasks: Sequence[Task]) -> None:
    for stage, source in tasks:
        run_stage(site, request, stage=stage, source=source)


def main(spec: str, store: str, *bounds: str) -> None:
    """Open the batch and run all tasks."""
    spark = open_session("local[2]")
    for name, value in SMALL_WORK.items():
        spark.conf.set(name, value)
    site, request = Site(spark, store, load(Path(spec))), Request(batch=Interval(*map(int, bounds)))
    open_batch(site, request)
    run_tasks(site, request, list(tasks_of(site.pipeline)))


if __name__ == "__main__":
    main(*sys.argv[1:])
