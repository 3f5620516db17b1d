"""The events of a source in a batch, read and judged."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from pipelines.ingest import RowRule, fated, known_ids, read_rows, to_events, with_duplicates
from pipelines.spec import Source
from pipelines.stages.site import Work
from pipelines.store.sql import Instant, not_before


def events_as_read(work: Work, source: Source) -> DataFrame:
    """The events of the source in the batch, before they are judged."""
    rows = read_rows(work.site.spark, source, batch=work.batch, home=work.pipeline.home)
    return to_events(rows, source, batch=work.batch)


def source_events(work: Work, source: Source, *, rules: Sequence[RowRule]) -> DataFrame:
    """The events of the source, each with its fate: by rules, by what came before, by the watermark."""
    events = fated(
        events_as_read(work, source),
        work.pipeline,
        watermark_us=work.judged_by_us,
        rules=rules,
    )
    if source.event_id is None:
        return events
    earlier = work.tables.read("event_ids").where(f"batch_end <= {Instant(work.batch.start_us)}")
    for since in work.run.opening.run_since:
        # What the batch counted when it first ran, it counts when it runs again.
        earlier = earlier.where(
            f"arrival_time < {Instant(since.start_us)} OR {not_before('arrival_time', since.end_us)}"
        )
    if source.event_id.within_us is not None:
        # A batch that ended before has no arrivals as near; files are left out by this, not by arrivals.
        earlier = earlier.where(not_before("batch_end", work.batch.start_us - source.event_id.within_us))
    known = known_ids(earlier, source, from_us=work.batch.start_us)
    return with_duplicates(events, source, known=known)
