"""Where a run takes place, what is asked of it, and what it tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.checks import Suite, load_suite
from pipelines.ingest.watermark import arrival_watermark
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.spec import (
    Changes,
    Pipeline,
    Window,
    changes_between,
    state_fingerprint,
    store_at,
    without_reading,
)
from pipelines.store.ledger import Run
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.progress import CHANGED, noted
from pipelines.store.reader import FLAGS, read_ledger, replay_of
from pipelines.store.retention import first_whole_us, gone_from
from pipelines.store.tables import Folder, Store
from pipelines.windows import Gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A batch, and how it is to run.

    `watermark_us` raises the watermark after it, `final` closes everything, `replace` puts it in the
    place of the older batches that it covers, `ignore_lateness` judges none of its events late. `replays`:
    which rows it sends through again, so that a replay that was cut off can tell its own.
    """

    batch: Interval
    watermark_us: int | None = None
    final: bool = False
    replace: bool = False
    ignore_lateness: bool = False
    replays: str | None = None

    @property
    def wishes(self) -> dict[str, int]:
        """What is asked beside the batch, so that whoever looks at an unfinished one knows how to go on."""
        wishes = {name: 1 for name in FLAGS if getattr(self, name)}
        if self.replays is not None:
            wishes[replay_of(self.replays)] = 1
        return wishes if self.watermark_us is None else {**wishes, "watermark_us": self.watermark_us}


def folder_of(store: str, pipeline: Pipeline) -> Folder:
    """Where the tables of a pipeline lie in a store."""
    root = store_at(store, Path.cwd())
    return Folder(root=f"{root.rstrip('/')}/{pipeline.name}")


@dataclass(frozen=True)
class Site:
    """A session, the store's folder or URI, and the pipeline that runs there."""

    spark: SparkSession
    store: str
    declared: Pipeline
    docs: Path | None = None
    """Where Data Docs are built; `None`: where the store says."""
    cloned: str | None = None
    """The folder of the tables that these are clones of, whose files they share."""

    @cached_property
    def pipeline(self) -> Pipeline:
        """The pipeline as declared, on frames as long as those that are stored when it is first asked."""
        return on_stored_frames(self.declared, read_ledger(self.store, self.declared.name))

    @cached_property
    def tables(self) -> Store:
        return Store(root=folder_of(self.store, self.declared).root, spark=self.spark)

    @property
    def folders(self) -> tuple[str, ...]:
        """Where the files of the tables lie."""
        return (self.tables.root, *([] if self.cloned is None else [self.cloned]))

    @cached_property
    def suite(self) -> Suite:
        return load_suite(self.pipeline.expectations)

    def anew(self) -> Site:
        """The same place, asked again: somebody may have rebuilt everything there since."""
        return replace(self)


def on_stored_frames(declared: Pipeline, rows: Iterable[LedgerRow]) -> Pipeline:
    """The pipeline on frames as long as those of what was last published, which the ledger tells.

    One that these cannot serve stays as it is declared, and is refused when a batch is opened.
    """
    published = [row for row in rows if row.status == "published"]
    last = max(published, key=lambda row: row.started_at_us or 0, default=None)
    if last is None:
        return declared
    changes = changes_between(last.spec_fingerprint, state_fingerprint(declared))
    return declared if changes.problems else replace(declared, frame_lengths=changes.frame_lengths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one stage did, the line that a log shows of it, and the expectations that failed and only warn."""

    stage: str
    source: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    line: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    """A stage of one attempt at a batch: where, what was asked, what the ledger said."""

    site: Site
    request: Request
    run: Run
    warned: list[str] = field(default_factory=list)
    """What the gates have found that does not stop the run."""

    @cached_property
    def was_respelled(self) -> bool:
        """Whether batches have run under another spec: modes and triggers may have been others."""
        rows = read_ledger(self.site.store, self.pipeline.name)
        return len({without_reading(row.spec_fingerprint) for row in rows}) > 1

    @cached_property
    def gone(self) -> Gone | None:
        """What retention has let go; `None`: nothing."""
        return gone_from(self.tables)

    @property
    def reaches_back(self) -> bool:
        """Whether the batch may bring what no event in its turn can any more."""
        return self.run.opening.restated or self.request.ignore_lateness

    @property
    def gone_behind(self) -> Gone | None:
        """What has gone of that to which the batch reaches back; `None`: nothing, or it does not."""
        return self.gone if self.reaches_back else None

    @cached_property
    def first_whole_us(self) -> int | None:
        """From when on all frames are there that ever were; `None`: retention has let none go."""
        return first_whole_us(self.tables, self.pipeline, opening=self.run.opening)

    @cached_property
    def has_run_alike(self) -> bool:
        """Whether the batch has run before with the same events, judged alike, so that it changes nothing.

        To be asked once its sources are accumulated; a stage keeps to what it was told.
        """
        opening = self.run.opening
        if opening.before is None or opening.covered or self.may_heal:
            return False
        return noted(self.tables, self.run, name=CHANGED) == 0

    @property
    def may_heal(self) -> bool:
        """Whether windows may take in what they lost before: the late events that are kept tell it."""
        return self.request.ignore_lateness and self.pipeline.retention.late_events_us is not None

    @cached_property
    def changes(self) -> Changes:
        """What the spec asks beyond what stands. Where the batch is the same again, also its spec, what waits
        under an older one is left to the next batch in its turn.
        """
        opening, request = self.run.opening, self.request
        before, told = opening.before, opening.changes
        asked_us = LATEST_US if request.final else request.watermark_us
        stands_us = EARLIEST_US if opening.in_force_us is None else opening.in_force_us
        is_raised = asked_us is not None and asked_us > stands_us
        is_known = before is not None and before.spec_fingerprint == state_fingerprint(self.pipeline)
        if not is_known or is_raised or not self.has_run_alike:
            return told
        return replace(told, new_triggers=False, latenesses=())

    @property
    def restates(self) -> bool:
        """Whether the batch corrects what was published. The newest one again, with the same data, does not:
        it may raise the watermark, and then publishes what becomes due like any batch in turn.
        """
        opening = self.run.opening
        return opening.restated and (opening.has_next or not self.has_run_alike)

    @property
    def takes_all(self) -> bool:
        """Whether windows take what comes however late: lateness is ignored, and that changes something."""
        return self.request.ignore_lateness and not self.has_run_alike

    @property
    def tables(self) -> Store:
        return self.site.tables

    @property
    def pipeline(self) -> Pipeline:
        return self.site.pipeline

    @property
    def batch(self) -> Interval:
        return self.run.batch

    @property
    def judged_by_us(self) -> int | None:
        """The watermark that judges the events of the batch; none where lateness is to be ignored."""
        return None if self.request.ignore_lateness else self.run.opening.judged_by_us

    def closed_at_us(self, window: Window) -> int | None:
        """The watermark, in the time of a window definition, that had closed its windows before the batch."""
        if window.time == "event" or self.request.ignore_lateness:
            return self.judged_by_us
        opening = self.run.opening
        return arrival_watermark(opening.judged_end_us, event_us=opening.judged_by_us)
