"""The fate of every event of a batch, and the rows that are kept because they do not count.

A row that breaks a built-in rule or a rule marked `quarantine` is quarantined, or unclaimed where in
addition no time puts it into any batch. Of the others, one whose id came before is a duplicate
(`duplicates.py`), one that no window keeps is late. All the rest is accepted, diminished where some of its
windows had closed. The watermark is the one before the batch, so nothing in a batch makes a row of it
late.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add, or_

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import Window as W
from pyspark.sql import functions as F

from pipelines.ingest.declared import UNREADABLE
from pipelines.ingest.events import ARRIVAL_US, BROKEN, DEFAULT_EVENT_COLUMNS, EVENT_US, IS_BROKEN
from pipelines.ingest.holding import HELD, held_column, instant_of, lengths_rules, with_held
from pipelines.ingest.rules import RowRule
from pipelines.intervals import LATEST_US
from pipelines.spec import Custom, Pipeline, Sliding, Window
from pipelines.windows import held_missed, judging_us, windows_kept, windows_missed

FATE = "_fate"
RULES = "_rules"
ACCEPTED, DIMINISHED, LATE, DUPLICATE, QUARANTINED, UNCLAIMED = range(6)
"""Numbers, for to aggregate by text is many times slower; in this order, so that ranges of them have a
meaning. A diminished event is accepted, but some of its windows had closed.
"""

AS_IT_CAME = {
    "ignoreNullFields": "false",
    # Spark's own formats end with milliseconds. The three letters at the end are an offset like +01:00.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]XXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]",
}


def fated(
    events: DataFrame, pipeline: Pipeline, *, watermark_us: int | None, rules: Sequence[RowRule] = ()
) -> DataFrame:
    """The events with their `FATE`, and `RULES`, the names of all rules that quarantine the row."""
    # Two rules may read alike.
    quarantining = [(it.name, ~F.col(IS_BROKEN) & it.unexpected) for it in rules if it.quarantines]
    quarantining += lengths_rules(events, pipeline.windows).items()
    names = [F.when(breaks, F.lit(name)) for name, breaks in quarantining]
    all_rules = F.concat(F.col(BROKEN), F.array_compact(F.array(*names))) if names else F.col(BROKEN)
    is_quarantined = reduce(or_, [breaks for _, breaks in quarantining], F.col(IS_BROKEN))
    kept_out = F.when(F.col(ARRIVAL_US).isNull(), F.lit(UNCLAIMED)).otherwise(F.lit(QUARANTINED))
    holding = with_held(events, pipeline, breaks=is_quarantined)
    counts = F.lit(ACCEPTED) if watermark_us is None else _judged(pipeline.windows, watermark_us)
    return holding.withColumns({RULES: all_rules, FATE: F.when(is_quarantined, kept_out).otherwise(counts)})


def passes() -> Column:
    """Whether an event got past all rules and repeats none, be it late or not."""
    return F.col(FATE) < DUPLICATE


def is_accepted() -> Column:
    """Whether at least one window keeps the event, or none would hold it."""
    return F.col(FATE) < LATE


def is_kept(window: Window, watermark_us: int | None) -> Column:
    """Whether the windows of a definition that hold an event were not all closed when it came."""
    return windows_kept_of(window, watermark_us) > 0


def windows_missed_of(window: Window, watermark_us: int | None) -> Column:
    """How many of an event's windows of a definition were closed when it came."""
    judge_us = judging_us(window, watermark_us)
    if isinstance(window.shape, Sliding):
        return windows_missed(instant_of(window), window, watermark_us=judge_us)
    return held_missed(F.col(held_column(window)), window, watermark_us=judge_us)


def windows_kept_of(window: Window, watermark_us: int | None) -> Column:
    """How many of an event's windows of a definition were not closed when it came."""
    if isinstance(window.shape, Sliding):
        return windows_kept(instant_of(window), window, watermark_us=judging_us(window, watermark_us))
    return F.size(held_column(window)).cast("bigint") - windows_missed_of(window, watermark_us)


def late_events(
    fated_events: DataFrame, windows: Sequence[Window], *, watermark_us: int, counting: Observation
) -> DataFrame:
    """One row per event and window definition that lost it: the columns as read, `window`, `missed`, `kept`.
    `counting` gets `losing`, the events that at least one lost.
    """
    dropped = [
        F.struct(
            F.lit(window.name).alias("window"),
            windows_missed_of(window, watermark_us).alias("missed"),
            windows_kept_of(window, watermark_us).alias("kept"),
        )
        for window in windows
    ]
    missing = F.filter(F.array(*dropped), lambda loss: loss["missed"] > 0)
    told = fated_events.where(passes()).withColumn("_losses", missing)
    counted = told.observe(counting, F.count_if(F.size("_losses") > 0).alias("losing"))
    return counted.select(*as_read(fated_events), F.inline("_losses"))


def quarantined_rows(fated_events: DataFrame) -> DataFrame:
    """One row per quarantined row: `record`, the row as it came (JSON, or the text that could not be read),
    and `rules`.

    `is_claimed` tells whether a time of the row puts it into the batch.
    """
    columns = as_read(fated_events)
    record = F.to_json(F.struct(*columns), AS_IT_CAME)
    if UNREADABLE in fated_events.columns:
        text = F.to_json(F.struct(F.col(UNREADABLE).alias("unreadable")))
        record = F.when(F.col(UNREADABLE).isNotNull(), text).otherwise(record)
    claimed = (F.col(FATE) == QUARANTINED).alias("is_claimed")
    kept_out = fated_events.where(F.col(FATE) >= QUARANTINED)
    return kept_out.select(record.alias("record"), F.col(RULES).alias("rules"), claimed)


def not_yet_quarantined(rows: DataFrame, stored: DataFrame, *, columns: Sequence[str]) -> DataFrame:
    """Of rows that no time puts into a batch, those that no earlier batch took; `columns` are what they have.

    As many of each record as are not stored. Records are held against each other by the columns that all
    have, for `select` or `schema` may have changed since.
    """
    have = F.collect_set(F.when(~_is_text(), F.json_object_keys("record")))
    shared = F.reduce(have, F.array(*map(F.lit, columns)), F.array_intersect).alias("_shared")
    in_all = stored.agg(shared)
    alike = W.partitionBy("_alike").orderBy("record").rowsBetween(W.unboundedPreceding, W.currentRow)
    taken = _compared(stored, in_all).groupBy("_alike").agg(F.count(F.lit(1)).alias("_taken"))
    numbered = (
        _compared(rows, in_all)
        .withColumn("_number", F.count(F.lit(1)).over(alike))
        .join(taken, on="_alike", how="left")
    )
    return numbered.where(F.col("_number") > F.coalesce(F.col("_taken"), F.lit(0))).select(*rows.columns)


def _compared(records: DataFrame, in_all: DataFrame) -> DataFrame:
    """The records with `_alike`: the columns that are in all, or, where none is, the record as it is."""
    told = F.map_entries(F.from_json("record", "map<string, string>"))
    shared = F.filter(told, lambda one: F.array_contains("_shared", one["key"]))
    is_whole = _is_text() | (F.size("_shared") == 0)
    alike = F.when(is_whole, F.col("record")).otherwise(F.to_json(F.array_sort(shared)))
    return records.crossJoin(F.broadcast(in_all)).withColumn("_alike", alike)


def _is_text() -> Column:
    """Whether a record is the text that could not be read."""
    return F.json_object_keys("record").eqNullSafe(F.array(F.lit("unreadable")))


def as_read(events: DataFrame) -> list[str]:
    """The names of the columns that came from the source, without Sash's own."""
    own = {*DEFAULT_EVENT_COLUMNS, FATE, RULES, UNREADABLE}
    return [name for name in events.columns if name not in own and not name.startswith(HELD)]


def _judged(windows: Sequence[Window], watermark_us: int) -> Column:
    missed = reduce(add, [windows_missed_of(window, watermark_us) for window in windows])
    kept = reduce(add, [windows_kept_of(window, watermark_us) for window in windows])
    loses = F.when(missed == 0, F.lit(ACCEPTED)).when(kept > 0, F.lit(DIMINISHED)).otherwise(F.lit(LATE))
    if watermark_us >= LATEST_US or any(isinstance(window.shape, Custom) for window in windows):
        return loses
    # An event at or after the watermark loses nothing: most events leave here, before the arithmetic.
    return F.when(F.col(EVENT_US) < F.lit(watermark_us), loses).otherwise(F.lit(ACCEPTED))
