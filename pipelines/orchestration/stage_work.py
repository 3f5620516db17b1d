"""A stage at work inside a task: the session, the store, the request. Imported by tasks when they run,
never at parse.

The session ends with the task, so that a server which lives on keeps nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from airflow.sdk.log import mask_secret

from pipelines.orchestration.batches import Chosen, taken
from pipelines.session import connect_server_command, connect_server_environment, open_session
from pipelines.spec import Pipeline, find_modules_beside, secrets_in, secrets_of
from pipelines.stages import Request, Site, open_batch, run_stage

__all__ = ["at_work", "launch", "open_batch", "run_stage"]


@contextmanager
def at_work(
    pipeline: Pipeline, chosen: Chosen, *, store: str, address: str
) -> Iterator[tuple[Site, Request]]:
    """What the stages take, for as long as the session is open."""
    batch, wishes = taken(chosen)
    request = Request(
        batch=batch,
        watermark_us=wishes.watermark_us,
        final=wishes.final,
        replace=wishes.replace,
        ignore_lateness=wishes.ignore_lateness,
    )
    find_modules_beside(pipeline)
    for secret in (*secrets_of(pipeline), *secrets_in(address)):
        mask_secret(secret)
    spark = open_session(address)
    try:
        yield Site(spark, store, pipeline), request
    finally:
        spark.stop()


def launch(port: int) -> tuple[list[str], Mapping[str, str]]:
    """How an embedded server is started, for `embedded.ensure_server`."""
    return connect_server_command(port), connect_server_environment()
