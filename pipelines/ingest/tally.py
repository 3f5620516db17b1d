"""What a pass over the events counts of row rules while they go by, and by what they are known again."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.ingest.events import IS_BROKEN, hashable
from pipelines.ingest.fate import as_read, passes
from pipelines.ingest.rules import RowRule

CONTENT = "content"
"""What `content` is called among counts."""


def tally(rules: Sequence[RowRule]) -> list[Column]:
    """Aggregate expressions over fated events: `counted_<i>` and `unexpected_<i>`, the rows of rule `i`."""
    counts: dict[str, Column] = {}
    for number, rule in enumerate(rules):
        # Rules that quarantine look at every readable row, the others at what is left then.
        looked_at = ~F.col(IS_BROKEN) if rule.quarantines else passes()
        counts[f"counted_{number}"] = looked_at & rule.counted
        counts[f"unexpected_{number}"] = looked_at & rule.unexpected
    return [F.count_if(condition).alias(name) for name, condition in counts.items()]


def content(events: DataFrame) -> Column:
    """An aggregate by which rows are known again, in whatever order they come: the sum of a hash of each, as
    it was read. Null of no rows.
    """
    columns = [hashable(events, name) for name in as_read(events)]
    # Thirty-one bits of each: no four billion rows come to more than a BIGINT holds.
    return F.sum(F.pmod(F.xxhash64(*columns), F.lit(2**31))).alias(CONTENT)
