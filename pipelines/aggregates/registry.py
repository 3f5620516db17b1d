"""Which operation a spec means by a name. One line an operation."""

from __future__ import annotations

from pipelines.aggregates.extremes import MAX, MIN
from pipelines.aggregates.operation import Operation
from pipelines.aggregates.sums import AVG, COUNT, SUM
from pipelines.errors import CorrectTheSpec
from pipelines.spec.model import Aggregate

OPERATIONS = {operation.name: operation for operation in (COUNT, SUM, AVG, MIN, MAX)}


def operation_of(aggregate: Aggregate) -> Operation:
    """The operation that an aggregate of the spec names."""
    if aggregate.op not in OPERATIONS:
        known = ", ".join(sorted(OPERATIONS))
        raise CorrectTheSpec(
            f"aggregate `{aggregate.name}`", (f"no operation `{aggregate.op}`; there are {known}",)
        )
    return OPERATIONS[aggregate.op]


def part_names(aggregate: Aggregate) -> tuple[str, ...]:
    """The columns that an aggregate's state takes in a table: `<aggregate>__<part>`."""
    return tuple(f"{aggregate.name}__{part.name}" for part in operation_of(aggregate).parts)
