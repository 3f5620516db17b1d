"""Parts that hold the same in every state, so that one of them is enough to accumulate, combine and slide.

`sum` and `avg` of the same expression have the same total and the same rows, and a bare `count` is the number
of events.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.aggregates.operation import as_it_is
from pipelines.aggregates.registry import operation_of
from pipelines.aggregates.sums import ROWS
from pipelines.spec import Aggregate


def shared(aggregates: Sequence[Aggregate]) -> dict[str, str]:
    """The columns of a state that repeat another one, each with the one it repeats."""
    first: dict[object, str] = {(ROWS, as_it_is, None, None, ()): "event_count"}
    repeated = {}
    for aggregate in aggregates:
        operation = operation_of(aggregate)
        of = None if aggregate.of is None or aggregate.of.strip() == "*" else aggregate.of
        for part in operation.parts:
            column = f"{aggregate.name}__{part.name}"
            known = first.setdefault((part, operation.value, of, aggregate.where, aggregate.options), column)
            if known != column:
                repeated[column] = known
    return repeated
