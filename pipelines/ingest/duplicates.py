"""Events whose id came before, in the same batch or an earlier one: all but the first are duplicates.

In come events with their fate; out go the same, where those that repeat an id have the fate DUPLICATE.
Only events that got past all rules have a say: a quarantined row does not use its id up. An id with a null
in it is none. Of one id the earliest arrival counts, then the earliest event time, then the smallest row;
what comes more than `within` after it counts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as W
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from pipelines.aggregates.kinds import can_be_ordered
from pipelines.ingest.events import ARRIVAL_US, EVENT_US
from pipelines.ingest.fate import DUPLICATE, FATE, as_read, passes
from pipelines.spec import Source
from pipelines.spec.model import EventId

KNOWN_US = "_counted_us"
HAS_ID = "_has_id"
COUNTING = "_counting"
"""The arrivals of an id that count, in ascending order; what was known before the batch is the first."""
REPEATS = "_repeats_arrival"
"""Whether a row of the same id that comes first has the same arrival."""
FIRST_US, NEXT_US, LAST_US = "_first_arrival_us", "_next_arrival_us", "_last_arrival_us"
"""Of the arrivals of an id in the batch: the first, the first that is over `within` after the one that
counted, the last.
"""
IDS = (KNOWN_US, HAS_ID, COUNTING, REPEATS, FIRST_US, NEXT_US, LAST_US)
"""All columns that stand beside events here."""


def known_column(name: str) -> str:
    """What a column of an id is called where it is that of an earlier batch."""
    return f"_known_{name}"


def known_ids(event_ids: DataFrame, source: Source, *, from_us: int) -> DataFrame:
    """From the rows of the table `event_ids` of earlier batches: the columns of an id, and `KNOWN_US`, when
    it last counted, where that can matter to arrivals from an instant on.
    """
    told = _event_id(source)
    rows = event_ids.where(F.col("source") == source.name)
    if told.within_us is not None:
        rows = rows.where(F.unix_micros("arrival_time") >= F.lit(from_us - told.within_us))
    newest = F.max(F.unix_micros("arrival_time")).alias(KNOWN_US)
    return rows.groupBy(*[F.col(name).alias(known_column(name)) for name in told.of]).agg(newest)


def with_duplicates(fated_events: DataFrame, source: Source, *, known: DataFrame) -> DataFrame:
    """The events, where those whose id came before have the fate DUPLICATE. `known` as `known_ids` gives."""
    told = _event_id(source)
    same = [_as_known(known, name=name) == F.col(known_column(name)) for name in told.of]
    beside = fated_events.withColumn(HAS_ID, _has_id(told)).join(known, on=same, how="left")
    alike = [HAS_ID, *[f"`{name}`" for name in told.of]]
    # In an order that serves all that is asked of an id: rows are shuffled and sorted once.
    in_order = W.partitionBy(*alike).orderBy(ARRIVAL_US, EVENT_US, *_in_order(fated_events))
    repeats = F.lag(ARRIVAL_US).over(in_order).eqNullSafe(F.col(ARRIVAL_US))
    told_apart = _with_arrivals(beside.withColumn(REPEATS, repeats), alike, within_us=told.within_us)
    is_duplicate = F.col(HAS_ID) & (F.col(REPEATS) | ~_arrival_counts(told.within_us))
    own = [name for name in fated_events.columns if name != FATE]
    fate = F.when(is_duplicate, F.lit(DUPLICATE)).otherwise(F.col(FATE)).alias(FATE)
    return told_apart.select(*[F.col(f"`{name}`") for name in own], fate)


def _has_id(told: EventId) -> Column:
    """Whether an event passes and has all that its id is of."""
    return reduce(and_, [F.col(f"`{name}`").isNotNull() for name in told.of], passes())


def _as_known(known: DataFrame, *, name: str) -> Column:
    """A column of the id as earlier batches kept it: where they had texts, a number of now is one too."""
    kept = known.schema[known_column(name)].dataType
    own = F.col(f"`{name}`")
    return own.cast("string") if isinstance(kept, StringType) else own


def _in_order(events: DataFrame) -> list[Column]:
    """What puts rows that are alike in everything else in an order: their values, null before all others, and
    as text those that have no order.
    """
    columns = {name: F.col(f"`{name}`") for name in as_read(events)}
    others = [name for name in columns if not can_be_ordered(events.schema[name].dataType)]
    ordered = [column for name, column in columns.items() if name not in others]
    return [*ordered, F.to_json(F.struct(*[columns[name] for name in others]))] if others else ordered


def counted_ids(fated_events: DataFrame, source: Source) -> DataFrame:
    """The rows of the table `event_ids`: the ids of the events that count, and their `arrival_time`."""
    told = _event_id(source)
    return fated_events.where(_has_id(told)).select(
        *[F.col(f"`{name}`") for name in told.of], F.timestamp_micros(ARRIVAL_US).alias("arrival_time")
    )


def _with_arrivals(events: DataFrame, alike: Sequence[str], *, within_us: int | None) -> DataFrame:
    """The events with what `_arrival_counts` asks of all that have their id.

    One id may be on all rows of a batch, so none of it is an array, but where its arrivals in the batch are
    further apart than `within`.
    """
    arrival, together = F.when(F.col(HAS_ID), F.col(ARRIVAL_US)), W.partitionBy(*alike)
    told = {FIRST_US: F.min(arrival).over(together)}
    if within_us is None:
        return events.withColumns(told)
    is_after = arrival - F.coalesce(KNOWN_US, FIRST_US) > F.lit(within_us)
    first = events.withColumns({**told, LAST_US: F.max(arrival).over(together)})
    after = F.min(F.when(is_after, arrival)).over(together)
    several = F.collect_set(F.when(_are_far_apart(within_us), arrival)).over(together)
    return first.withColumns({NEXT_US: after, COUNTING: _counting(F.sort_array(several), within_us)})


def _arrival_counts(within_us: int | None) -> Column:
    """Whether an event's arrival is one that counts: the first of its id, or one that is over `within` after
    the last that did.
    """
    arrival, is_known = F.col(ARRIVAL_US), F.col(KNOWN_US).isNotNull()
    is_first = ~is_known & (arrival == F.col(FIRST_US))
    if within_us is None:
        return is_first
    # Where the batch's arrivals are no further apart, none counts after that.
    few = is_first | F.coalesce(arrival == F.col(NEXT_US), F.lit(False))
    return F.when(_are_far_apart(within_us), F.array_contains(COUNTING, arrival)).otherwise(few)


def _are_far_apart(within_us: int) -> Column:
    return F.col(LAST_US) - F.col(FIRST_US) > F.lit(within_us)


def _counting(arrivals: Column, within_us: int) -> Column:
    """Of an id's arrivals in order those that count: the first, then each over `within` after the last."""
    first = F.when(F.col(KNOWN_US).isNull(), F.slice(arrivals, 1, 1)).otherwise(F.array(KNOWN_US))

    def counted(so_far: Column, arrival: Column) -> Column:
        is_new = arrival - F.element_at(so_far, -1) > F.lit(within_us)
        return F.when(is_new, F.concat(so_far, F.array(arrival))).otherwise(so_far)

    return F.aggregate(arrivals, first, counted)


def _event_id(source: Source) -> EventId:
    if source.event_id is None:
        raise TypeError(f"source `{source.name}` has no event_id")
    return source.event_id
