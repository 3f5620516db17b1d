"""What a pass over the events counts of row rules while they go by."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.ingest.events import IS_BROKEN
from pipelines.ingest.fate import passes
from pipelines.ingest.rules import RowRule


def tally(rules: Sequence[RowRule]) -> list[Column]:
    """Aggregate expressions over fated events: `counted_<i>` and `unexpected_<i>`, the rows of rule `i`."""
    counts: dict[str, Column] = {}
    for number, rule in enumerate(rules):
        # Rules that quarantine look at every readable row, the others at what is left then.
        looked_at = ~F.col(IS_BROKEN) if rule.quarantines else passes()
        counts[f"counted_{number}"] = looked_at & rule.counted
        counts[f"unexpected_{number}"] = looked_at & rule.unexpected
    return [F.count_if(condition).alias(name) for name, condition in counts.items()]
