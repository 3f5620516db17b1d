"""The news of the windows that a batch is about, read from the store: what came since their last panes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.finalise import CAME, frame_news, session_news
from pipelines.spec import EachBatch, Global
from pipelines.stages.concerned import Concerned, Group
from pipelines.stages.site import Work
from pipelines.store.ledger import read_rows
from pipelines.store.ledger_rows import first_started
from pipelines.store.sql import ALL, is_batch, text


def news_of(work: Work, group: Group, *, found: Concerned, last: DataFrame) -> DataFrame:
    """The news of the windows of a group."""
    last = last.where(F.col("window").isin([it.window.name for it in group.concerns]))
    if not group.of_sessions:
        covering = f"({found.covering}) AND ({_when(work, group)})"
        partials = with_came(work, work.tables.read("partial_frames").where(covering))
        return frame_news(partials, last, pipeline=work.pipeline, concerns=group.concerns)
    sessions = found.states.withColumns(
        {name: F.timestamp_micros(f"{name}_us") for name in ("window_start", "window_end")}
    )
    partials = with_came(work, work.tables.read("partial_sessions").where(found.covering))
    return session_news(partials, last, sessions=sessions, pipeline=work.pipeline)


def _when(work: Work, group: Group) -> str:
    """The predicate that a partial frame can be news: of a window of all time that tells its news batch by
    batch, and misses none, this batch's alone.
    """
    if work.changes.new_triggers or work.takes_all:
        return ALL
    windows = [it.window for it in group.concerns if isinstance(it.window.shape, Global)]
    told = [text(it.name) for it in windows if it.panes.early == EachBatch()]
    return f"grid NOT IN ({', '.join(told)}) OR {is_batch(work.batch)}" if told else ALL


def all_news(news: Sequence[DataFrame]) -> DataFrame | None:
    """The news of several groups as one."""
    return reduce(DataFrame.unionByName, news) if news else None


def with_came(work: Work, partials: DataFrame) -> DataFrame:
    """Partial frames or sessions with `CAME`, when their batch first ran."""
    came = [
        (batch.start_us, batch.end_us, at_us)
        for batch, at_us in first_started(read_rows(work.tables)).items()
    ]
    names = ("batch_start", "batch_end", CAME)
    numbers = work.site.spark.createDataFrame(came, ", ".join(f"`{name}` bigint" for name in names))
    runs = numbers.select(*[F.timestamp_micros(name).alias(name) for name in names])
    return partials.join(F.broadcast(runs), on=["batch_start", "batch_end"], how="left")
