"""What a source keeps of a batch beside its states: late events, quarantined rows, ids that counted.

The raw slice is read again for it, and only where the tally says that there is something to keep.
"""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from pipelines.errors import RunAgain
from pipelines.ingest import counted_ids, late_events, not_yet_quarantined, quarantined_rows
from pipelines.ingest.fate import as_read
from pipelines.spec import Source, changes_between, shares_files, state_fingerprint
from pipelines.stages.before import version_before
from pipelines.stages.site import Work
from pipelines.store import small
from pipelines.store.asked import are_any, missed_in
from pipelines.store.fence import BY_SOURCE, lane_of
from pipelines.store.known_sources import known_sources
from pipelines.store.ledger import still_mine
from pipelines.store.progress import CHANGED, Done, note
from pipelines.store.reader import rows_by_batch
from pipelines.store.rows import has_any
from pipelines.store.sql import NONE, is_batch, is_inside, is_of_windows, on_days_of, text
from pipelines.store.writes import append, replace

Counts = dict[str, int]
JUDGED = ("missed", "kept", "watermark", "source")
"""What a late event has beside what was read, its window and its batch."""


def write_ids(work: Work, source: Source, *, events: DataFrame) -> None:
    """Remember the ids of the events that count, so that later batches know them; of a source without ids
    none that it had when the batch ran before.
    """
    if source.event_id is not None:
        put(work, source, table="event_ids", rows=counted_ids(events, source))
    elif small.is_there(work.tables, "event_ids"):
        write_none(work, source, table="event_ids")


def write_none(work: Work, source: Source, *, table: str) -> None:
    """Take away what an attempt under another spec has left in a table that this one does not need."""
    if not _stays_empty(work, source, table=table):
        # Not by delta-rs: on a clone, as a plan has it, this takes rows out of files that lie elsewhere.
        none = work.tables.read(table).limit(0).drop("source", "batch_start", "batch_end", "day")
        put(work, source, table=table, rows=none)


def write_late(work: Work, source: Source, *, events: DataFrame, losing: int) -> int:
    """Keep what windows lost, which were `losing` events; returns the rows, one for each of these windows."""
    watermark_us = work.judged_by_us
    if losing == 0 and _stays_empty(work, source, table="late_events"):
        return 0
    found, counting = Observation(), Observation()
    searched = events if losing else events.limit(0)
    lost = late_events(searched, work.pipeline.windows, watermark_us=watermark_us or 0, counting=found)
    judged = lost.withColumn("watermark", F.timestamp_micros(F.lit(watermark_us).cast("bigint")))
    put(work, source, table="late_events", rows=judged.observe(counting, F.count(F.lit(1)).alias("rows")))
    if losing:
        _refuse_others(work, source, wanted=losing, found=found.get["losing"], fate="late")
    return int(counting.get["rows"])


def _refuse_others(work: Work, source: Source, *, wanted: int, found: int, fate: str) -> None:
    """Raise `RunAgain` where rows of a fate are more or fewer as they are read again."""
    if found != wanted:
        raise RunAgain(
            f"source `{source.name}`, batch {work.batch}: {wanted} rows were {fate}, {found} were found "
            "again: the input changed while it was read; run the batch again"
        )


def note_other_losses(work: Work, source: Source) -> None:
    """Let the batch count as changed where windows lose less of it than when it ran before, for events may be
    later now, or none is judged. Its states can be the same, for another window held what was lost.
    """
    version = None if work.run.opening.before is None else version_before(work, "late_events")
    if version is None:
        return
    before, now = (missed_in(work.tables, where=lane(work, source), version=it) for it in (version, None))
    known = {it.name for it in work.pipeline.windows} - set(work.run.opening.changes.new_windows)
    is_less = any(now.get(name, 0) < missed for name, missed in before.items() if name in known)
    if is_less or (known and _loses_others(work, source, names=known, version=version)):
        note(work.tables, work.run, done=Done(stage="accumulate", source=source.name, counts={CHANGED: 1}))


def _loses_others(work: Work, source: Source, *, names: Collection[str], version: int) -> bool:
    """Whether fewer windows than before lose some row, if as many in all: under another spec, which may judge
    otherwise. Of a source that is read otherwise nobody can tell which row is which.
    """
    before, now = work.run.opening.before, state_fingerprint(work.pipeline)
    if before is None or before.spec_fingerprint == now:
        return False
    if any(it == source.name for it, _ in changes_between(before.spec_fingerprint, now).read_otherwise):
        return False
    told = f"{lane(work, source)} AND {is_of_windows(sorted(names))}"

    def missed(rows: DataFrame, by: int) -> DataFrame:
        event = F.to_json(F.struct(*[name for name in sorted(rows.columns) if name not in JUDGED]))
        return rows.where(told).select(event.alias("event"), (F.col("missed") * by).alias("missed"))

    then = missed(work.tables.read("late_events", version=version), -1)
    both = missed(work.tables.read("late_events"), 1).unionByName(then)
    fewer = both.groupBy("event").agg(F.sum("missed").alias("missed")).where("missed < 0")
    return has_any(fewer)


def write_quarantine(work: Work, source: Source, *, events: DataFrame, counts: Counts) -> None:
    """Keep the broken rows, and count those that no time puts into a batch to this one, unless an earlier
    one had them.
    """
    claimed, unclaimed = counts["quarantined"], counts.pop("unclaimed")
    if claimed == unclaimed == 0 and _stays_empty(work, source, table="quarantine"):
        return
    rows = quarantined_rows(events if claimed or unclaimed else events.limit(0))
    if unclaimed:
        others = work.tables.read("quarantine").where(
            f"({_of(source)} OR {_of_gone(work)}) AND ({_who_read(work, source)})"
        )
        unclaimed_rows = rows.where(~F.col("is_claimed"))
        mine = not_yet_quarantined(unclaimed_rows, others, columns=as_read(events))
        rows = rows.where("is_claimed").unionByName(mine)
    counting = Observation()
    counted = rows.observe(
        counting, F.count(F.lit(1)).alias("rows"), F.count_if("is_claimed").alias("claimed")
    )
    put(work, source, table="quarantine", rows=counted)
    written = counting.get
    _refuse_others(work, source, wanted=claimed, found=written["claimed"], fate="quarantined")
    counts["ingested"] += written["rows"] - claimed
    counts["quarantined"] = written["rows"]


def _who_read(work: Work, source: Source) -> str:
    """The predicate that a row is of another batch which has read files that this one reads too."""
    if source.path is None or "{" not in source.path:
        return f"NOT {is_inside(work.batch)}"
    found = rows_by_batch(work.site.store, work.pipeline.name, table="quarantine")
    others = [
        batch
        for batch in found
        if not work.batch.covers(batch) and shares_files(source.path, batch, batches=[work.batch])
    ]
    return " OR ".join(f"({is_batch(batch)})" for batch in others) or NONE


def put(work: Work, source: Source, *, table: str, rows: DataFrame) -> None:
    """Write the rows of this source and batch in the place of those of an earlier attempt."""
    written = rows.select(
        "*",
        F.lit(source.name).alias("source"),
        F.timestamp_micros(F.lit(work.batch.start_us)).alias("batch_start"),
        F.timestamp_micros(F.lit(work.batch.end_us)).alias("batch_end"),
    )
    fence = work.run.fence(lane_of(table, source.name))
    if work.run.is_first:
        append(work.tables, table, rows=written, fence=fence)
    else:
        replace(work.tables, table, rows=written, where=lane(work, source), fence=fence)
    # Delta skips the write of an attempt that was taken over without a word, and nothing was observed then.
    still_mine(work.tables, work.run)


def _stays_empty(work: Work, source: Source, *, table: str) -> bool:
    """Whether nothing stands in the place of this source and batch, where nothing is to be written; it stays
    so.
    """
    if work.run.is_first:
        return True
    shut_out_older(work, source, table=table)
    if are_any(work.tables, table, where=lane(work, source)):
        return False
    leave(work, source, table=table)
    return True


def shut_out_older(work: Work, source: Source, *, table: str) -> None:
    """Let no attempt that was taken over write what this one is about to look at."""
    small.say_written(work.tables, table, fence=work.run.fence(lane_of(table, source.name)).of_older())


def shut_out_gone(work: Work, source: Source) -> None:
    """Where a source stands for those that the spec no longer has: let nobody write for these who was at work
    under a spec that had them.
    """
    if work.run.is_first or source != work.pipeline.sources[0]:
        return
    for name in sorted(known_sources(work.tables).difference(it.name for it in work.pipeline.sources)):
        for table in BY_SOURCE:
            if small.is_there(work.tables, table):
                small.say_written(work.tables, table, fence=work.run.fence(lane_of(table, name)))


def leave(work: Work, source: Source, *, table: str) -> None:
    """Leave the rows of this source and batch as they stand, also to an attempt that was taken over."""
    small.say_written(work.tables, table, fence=work.run.fence(lane_of(table, source.name)))
    still_mine(work.tables, work.run)


def lane(work: Work, source: Source) -> str:
    """What this source wrote for the batch, and for those that the batch replaces.

    The first source also stands for those that the spec no longer has: what they wrote would count twice
    where a source was given another name.
    """
    return f"{whose(work, source)} AND {on_days_of(work.batch)} AND {is_inside(work.batch)}"


def whose(work: Work, source: Source) -> str:
    """The predicate that rows are of this source, or of one that it stands for."""
    is_heir = source == work.pipeline.sources[0]
    return f"({_of(source)} OR {_of_gone(work)})" if is_heir else _of(source)


def _of(source: Source) -> str:
    return f"source = {text(source.name)}"


def _of_gone(work: Work) -> str:
    """The predicate that rows are of a source that the spec no longer has."""
    return f"source NOT IN ({', '.join(text(one.name) for one in work.pipeline.sources)})"
