"""A transcript through the rooms alone, with rows in memory: no store, ledger, stage or file between them.

What the stages read from tables and write there are lists of rows here; each room is asked as a stage asks
it for a batch in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.accumulate import accumulate, partial_frames, partial_sessions
from pipelines.combine import TOUCHED, areas, combine, combine_sessions, standing
from pipelines.finalise import (
    CAME,
    RESULT_BOUNDS,
    Concern,
    Present,
    Publication,
    Reached,
    concern_of,
    counts_news,
    finished,
    frame_news,
    last_published,
    panes,
    retracted_sessions,
    session_news,
    session_states,
    window_states,
    with_values,
)
from pipelines.ingest import fated, to_events
from pipelines.ingest.watermark import arrival_watermark
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.spec import Every, load
from pipelines.store.instants import in_microseconds
from pipelines.windows import session_windows
from tests.transcripts.on_delta import SPEC
from tests.transcripts.reading import Batch, Told, Transcript

ROWS = "user STRING, number BIGINT, event_time TIMESTAMP, arrival_time TIMESTAMP"
OF_BATCH = "batch_start TIMESTAMP, batch_end TIMESTAMP"


class Kept:
    """Rows of a sort, in memory: what a table would hold."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.rows: pa.Table | None = None

    def add(self, rows: DataFrame) -> pa.Table:
        """Keep more rows; returns these."""
        mine = rows.toArrow()
        if not self.rows:
            self.rows = mine
        elif mine:
            # Spark reads no further than an empty piece of a table.
            self.rows = pa.concat_tables([self.rows, mine])
        return mine

    def put(self, rows: DataFrame, place: tuple[str, ...]) -> None:
        """Let each row take its place; one without events leaves it."""
        self.add(rows)
        there = {tuple(row[name] for name in place): row for row in self.rows.to_pylist()}
        stands = [row for row in there.values() if row["event_count"] > 0]
        self.rows = pa.Table.from_pylist(stands, schema=self.rows.schema)

    def all(self, *, like: DataFrame) -> DataFrame:
        """All that is kept; where nothing is, none of the columns of others."""
        return like.limit(0) if self.rows is None else self.spark.createDataFrame(self.rows)


class Rooms:
    """The rooms, one after the other, for batches in turn of one window definition."""

    def __init__(self, story: Transcript, spark: SparkSession, folder: Path) -> None:
        path = folder / "story.yml"
        path.write_text(SPEC.format(window=story.window, disorder=story.max_disorder or "0 s"))
        self.spark, self.pipeline = spark, load(path, home=folder)
        self.window = self.pipeline.windows[0]
        self.place = (*self.pipeline.key, *RESULT_BOUNDS)
        self.partials, self.sessions, self.panes, self.windows, self.runs = (Kept(spark) for _ in range(5))
        self.before_us: int | None = None
        self.ended_us: int | None = None

    def run(self, batch: Batch, *, after_us: int) -> list[Told]:
        """What the rooms publish of a batch that leaves the watermark there."""
        of_batch = [F.timestamp_micros(F.lit(at)) for at in (batch.start, batch.end)]
        named = [it.alias(name) for it, name in zip(of_batch, ("batch_start", "batch_end"), strict=True)]
        events = fated(self._events(batch), self.pipeline, watermark_us=self.before_us)
        states = accumulate(events, self.pipeline, watermark_us=self.before_us, by_substream=False)
        is_session = bool(session_windows(self.pipeline))
        self.runs.add(
            self.spark.range(1).select(*named, F.lit(0).alias("revision"), of_batch[0].alias("started_at"))
        )
        partial = partial_sessions(states, self.pipeline) if is_session else self._frames(states)
        kept = self.partials.add(partial.select("*", *named, of_batch[0].alias(CAME)))
        mine = self.spark.createDataFrame(kept)
        self._touched = self.partials.all(like=mine) if self._waits else mine
        concern, publication = self._about(batch, after_us=after_us)
        told = (self._of_sessions if is_session else self._of_frames)(mine, concern, publication)
        rows = self.panes.add(told.select("*", *named, F.lit(0).alias("revision")))
        self.before_us, self.ended_us = after_us, batch.end
        return sorted(map(_told, in_microseconds(rows).to_pylist()), key=str)

    @property
    def _waits(self) -> bool:
        """Whether windows may publish what older batches brought, though this one does not touch them."""
        return any(isinstance(it, Every) for it in (self.window.panes.early, self.window.panes.late))

    def _events(self, batch: Batch) -> DataFrame:
        rows = [(it.key, it.number, it.event_us, it.arrival_us) for it in batch.events]
        numbers = self.spark.createDataFrame(rows, ROWS.replace("TIMESTAMP", "BIGINT"))
        times = {name: F.timestamp_micros(name) for name in ("event_time", "arrival_time")}
        (source,) = self.pipeline.sources
        return to_events(numbers.withColumns(times), source, batch=Interval(batch.start, batch.end))

    def _frames(self, states: DataFrame) -> DataFrame:
        return partial_frames(states, self.pipeline, watermark_us=self.before_us)

    def _about(self, batch: Batch, *, after_us: int) -> tuple[Concern, Publication]:
        by_event = Reached(before_us=self.before_us, after_us=after_us)
        by_arrival = Reached(
            before_us=arrival_watermark(self.ended_us, event_us=self.before_us),
            after_us=arrival_watermark(batch.end, event_us=after_us),
        )
        mine = by_arrival if self.window.time == "arrival" else by_event
        concern = concern_of(self.window, before_us=mine.before_us, after_us=mine.after_us, restated=False)
        publication = Publication(
            batch_end_us=batch.end,
            by_event=by_event,
            by_arrival=by_arrival,
            restated=False,
            counted=(self.window.name,) if counts_news(self.window) else (),
        )
        return concern, publication

    def _of_frames(self, mine: DataFrame, concern: Concern, publication: Publication) -> DataFrame:
        partials = self.partials.all(like=mine)
        is_mine = F.unix_micros("batch_end") == publication.batch_end_us
        frames = combine(partials.withColumn(TOUCHED, is_mine), self.pipeline)
        states = window_states(frames, self._touched, pipeline=self.pipeline, concerns=[concern])
        last = self._last(mine)
        news = None
        if publication.counted:
            news = frame_news(partials, last, pipeline=self.pipeline, concerns=[concern])
        told, _ = self._publish(states, last, news=news, publication=publication)
        return told

    def _of_sessions(self, mine: DataFrame, concern: Concern, publication: Publication) -> DataFrame:
        windows, key, partials = (
            session_windows(self.pipeline),
            self.pipeline.key,
            self.partials.all(like=mine),
        )
        stand = standing(
            self._standing(like=mine),
            windows,
            closed_at_us=lambda it: publication.reached(it).before_us,
            gone=None,
        )
        around = areas(mine, stand, windows=windows, key=key, in_turn=True)
        built = combine_sessions(partials, stand, windows=windows, areas=around, pipeline=self.pipeline)
        self.sessions.put(built, self.place)
        sessions = self._standing(like=mine)
        states = session_states(sessions, self._touched, pipeline=self.pipeline, concerns=[concern])
        last = self._last(mine)
        news = None
        if publication.counted:
            bounds = {name: F.timestamp_micros(f"{name}_us") for name in ("window_start", "window_end")}
            news = session_news(partials, last, sessions=states.withColumns(bounds), pipeline=self.pipeline)
        told, last = self._publish(states, last, news=news, publication=publication)
        present = Present(sessions=sessions, partials=partials)
        gone = retracted_sessions(
            told, last, present=present, pipeline=self.pipeline, publication=publication
        )
        return told.unionByName(gone)

    def _publish(
        self, states: DataFrame, last: DataFrame, *, news: DataFrame | None, publication: Publication
    ) -> tuple[DataFrame, DataFrame]:
        """The panes, and what was last published with the values of whole windows."""
        if self.windows.rows is not None:
            # Panes of a window that is discarding carry its news alone; a retract takes back the whole.
            last = with_values(last, self.windows.all(like=last), pipeline=self.pipeline)
        told = panes(states, last, news=news, pipeline=self.pipeline, publication=publication)
        inserts = told.select(*self.place).distinct()
        self.windows.put(
            finished(states, self.pipeline).join(inserts, on=list(self.place), how="left_semi"), self.place
        )
        return told, last

    def _standing(self, *, like: DataFrame) -> DataFrame:
        others = ("batch_start", "batch_end", CAME)
        return self.sessions.all(like=like.drop(*others))

    def _last(self, mine: DataFrame) -> DataFrame:
        said = (
            "window STRING, window_start TIMESTAMP, window_end TIMESTAMP, total BIGINT, event_count BIGINT, "
        )
        flags = (
            "kind STRING, timing STRING, pane_index INT, is_first BOOLEAN, is_final BOOLEAN, restated BOOLEAN"
        )
        none = self.spark.createDataFrame([], f"user STRING, {said}{flags}, {OF_BATCH}, revision INT")
        return last_published(self.panes.all(like=none), self.pipeline, runs=self.runs.all(like=mine))


def by_rooms(story: Transcript, spark: SparkSession, *, folder: Path) -> Iterator[tuple[Batch, list[Told]]]:
    """What the rooms publish, batch by batch."""
    rooms = Rooms(story, spark, folder)
    for batch in story.batches:
        after_us = batch.watermark if rooms.before_us is None else max(batch.watermark, rooms.before_us)
        yield batch, rooms.run(batch, after_us=after_us)


def _told(row: dict) -> Told:
    start, end = row["window_start"], row["window_end"]
    bounds = (EARLIEST_US if start is None else start, LATEST_US if end is None else end)
    said = (row["timing"], row["pane_index"], row["kind"], row["total"])
    return (row["user"], *bounds, *said, row["is_final"], row["is_first"], row["restated"])
