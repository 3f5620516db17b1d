"""The counts of a batch, taken while its events go by in the one pass that accumulates them.

What is counted here is what the conservation law is held against: each row of the batch has one fate.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.ingest.events import ARRIVAL_US, EVENT_US, IS_BROKEN
from pipelines.ingest.fate import FATE, LATE, QUARANTINED
from pipelines.ingest.rules import RowRule


def tally(loses: Column, rules: Sequence[RowRule]) -> list[Column]:
    """Aggregate expressions over fated events.

    `ingested, late, quarantined` count the batch's own rows, `unclaimed` those that no time puts into any
    batch, `losing` the events that at least one window lost, `counted_<i>` and `unexpected_<i>` the rows
    of rule `i`.
    """
    claimed = F.col(ARRIVAL_US).isNotNull()
    passes = F.col(FATE) != QUARANTINED
    counts = {
        "ingested": claimed,
        "unclaimed": ~claimed,
        "quarantined": claimed & ~passes,
        "late": F.col(FATE) == LATE,
        "losing": passes & loses,
    }
    for number, rule in enumerate(rules):
        # Rules that quarantine look at every readable row, the others at what is left then.
        looked_at = ~F.col(IS_BROKEN) if rule.quarantines else passes
        counts[f"counted_{number}"] = looked_at & rule.counted
        counts[f"unexpected_{number}"] = looked_at & rule.unexpected
    newest = [
        F.max(F.when(passes, F.col(name))).alias(newest_name)
        for name, newest_name in ((EVENT_US, "newest_event_us"), (ARRIVAL_US, "newest_arrival_us"))
    ]
    return [*[F.count_if(condition).alias(name) for name, condition in counts.items()], *newest]
