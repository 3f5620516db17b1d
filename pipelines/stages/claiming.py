"""Which batches that have run would count other rows now, told by the arrival times of all rows alone.

A row without a time stands in the quarantine of whichever batch read it first, one without an arrival where
it happened. Once it is mended, its arrival may lie in another one, which has run without it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from math import gcd

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.ingest import read_rows, to_events
from pipelines.ingest.events import ARRIVAL_US
from pipelines.intervals import EARLIEST_US, LATEST_US, Interval
from pipelines.spec import Pipeline, Source, expand_paths, shares_files
from pipelines.stages.site import Site
from pipelines.store.rows import from_rows

EVER = Interval(EARLIEST_US, LATEST_US + 1)


def reading_beside(
    pipeline: Pipeline, batches: Collection[Interval], *, others: Iterable[Interval]
) -> list[Interval]:
    """Of other batches those that read, of some source, a path that one of the batches reads too."""
    paths = [source.path for source in pipeline.sources]
    return [other for other in others if any(shares_files(path, other, batches=batches) for path in paths)]


def claiming(site: Site, ingested: Mapping[Interval, int]) -> list[Interval]:
    """Of batches, given how many rows each has ingested, those in which more rows arrive.

    Nothing may have been quarantined without a time in them: such rows no arrival puts there.
    """
    counted: Counter[Interval] = Counter()
    for source in site.pipeline.sources:
        for batches in _reading_alike(source, ingested):
            rows = read_rows(site.spark, source, batch=batches[0], home=site.pipeline.home)
            counted.update(_arriving(to_events(rows, source, batch=EVER), batches))
    return sorted(batch for batch, rows in ingested.items() if counted[batch] > rows)


def _reading_alike(source: Source, batches: Mapping[Interval, int]) -> list[list[Interval]]:
    """The batches, those together that read the same paths."""
    alike: dict[tuple[str, ...], list[Interval]] = defaultdict(list)
    for batch in batches:
        alike[expand_paths(source.path, batch) if source.path else ()].append(batch)
    return list(alike.values())


def _arriving(events: DataFrame, batches: list[Interval]) -> dict[Interval, int]:
    """How many events arrive in each batch."""
    # All batches begin and end on a grid, of which there are fewer places than rows.
    grid_us = gcd(*[instant_us for batch in batches for instant_us in (batch.start_us, batch.end_us)])
    places = events.where(F.col(ARRIVAL_US).isNotNull()).groupBy(
        (F.col(ARRIVAL_US) - F.pmod(ARRIVAL_US, F.lit(grid_us))).alias("place_us")
    )
    bounds = events.sparkSession.createDataFrame(
        [(batch.start_us, batch.end_us) for batch in batches], "start_us BIGINT, end_us BIGINT"
    )
    lies = (F.col("place_us") >= F.col("start_us")) & (F.col("place_us") < F.col("end_us"))
    found = (
        places.agg(F.count(F.lit(1)).alias("rows"))
        .join(F.broadcast(bounds), on=lies)
        .groupBy("start_us", "end_us")
        .agg(F.sum("rows").alias("rows"))
    )
    return {Interval(row.start_us, row.end_us): row.rows for row in from_rows(found)}
