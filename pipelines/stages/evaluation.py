"""How Spark evaluates a stage: by code that it compiles for the plan, or, of few rows, expression by
expression.

To compile the plans of a small batch takes longer than all its work: half of a batch of a few hundred rows.
Neither way changes a result. What a session was told otherwise it does again afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from deltalake.exceptions import TableNotFoundError
from pyspark.sql.conf import RuntimeConfig

from pipelines.ingest import local_bytes
from pipelines.spec import Cumulate, Sliding, Source, Window, frame_us
from pipelines.stages.coarser import are_new
from pipelines.stages.site import Work
from pipelines.store import small
from pipelines.store.progress import finished_stages

FEW_BYTES = 2_000_000
"""Of raw files: about 100,000 rows of Parquet, where both ways take the same time (docs/performance.md)."""
FEW_ROWS = 50_000
"""Of states, where both take the same time."""
FEW_WINDOWS = 250_000
"""Of windows that are put together from frames, likewise: each costs six microseconds more."""
READ_LATER = ("partial_frames", "partial_sessions", "frames", "sessions", "panes")
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@contextmanager
def evaluated(work: Work, *, source: Source | None) -> Iterator[None]:
    """Let the work inside, the accumulating of a source or a later stage, be evaluated as suits its size."""
    told = INTERPRETED if _is_small(work, source) else {}
    conf = work.site.spark.conf
    before = {name: conf.get(name, None) for name in told}
    _set(conf, told)
    try:
        yield
    except Exception:
        _set(conf, before)
        raise
    # After Ctrl-C there is nobody to tell: the session ends, and was cut off in the middle of a word.
    _set(conf, before)


def _set(conf: RuntimeConfig, settings: Mapping[str, str | None]) -> None:
    for name, value in settings.items():
        conf.unset(name) if value is None else conf.set(name, value)


def _is_small(work: Work, source: Source | None) -> bool:
    if source is not None:
        found = local_bytes(source, batch=work.batch, home=work.pipeline.home, most=FEW_BYTES)
        return found is not None and found <= FEW_BYTES
    if not _asks_for_all(work) and _touched(work) * _reach(work) <= FEW_ROWS:
        return True
    stored = {table: _stored_rows(work, table) for table in READ_LATER}
    windows = stored["frames"] * sum(_windows_over(window) for window in work.pipeline.windows)
    return sum(stored.values()) <= FEW_ROWS and windows <= FEW_WINDOWS


def _asks_for_all(work: Work) -> bool:
    """Whether windows may become due that the batch did not touch, however many."""
    asks = work.request.final or work.request.watermark_us is not None
    return asks or bool(work.run.opening.changes.new_windows) or are_new(work)


def _touched(work: Work) -> int:
    """How many partial frames and sessions the batch has."""
    done = [one.counts for one in finished_stages(work.tables, work.run) if one.stage == "accumulate"]
    return sum(counts.get(table, 0) for counts in done for table in READ_LATER)


def _reach(work: Work) -> int:
    """How many frames lie under the windows over one: those of the longest, before it and after."""
    longest_us = max((_size_us(window) for window in work.pipeline.windows), default=0)
    return 1 + 2 * longest_us // (frame_us(work.pipeline) or max(longest_us, 1))


def _windows_over(window: Window) -> int:
    """How many windows a frame is in."""
    shape = window.shape
    return -(-shape.size_us // shape.step_us) if isinstance(shape, Sliding | Cumulate) else 1


def _size_us(window: Window) -> int:
    return window.shape.size_us if isinstance(window.shape, Sliding | Cumulate) else 0


def _stored_rows(work: Work, table: str) -> int:
    """As Delta's log has it."""
    try:
        actions = small.open_table(work.tables, table).get_add_actions()
    except TableNotFoundError:
        return 0
    return sum(rows or 0 for rows in actions.column("num_records").to_pylist())
