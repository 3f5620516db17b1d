"""Which operation a spec means by a name. One line an operation."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.aggregates.bits import ALL, ANY, BIT_AND, BIT_OR, BIT_XOR
from pipelines.aggregates.comoments import CORRELATION, COVARIANCE, LINEAR_TREND
from pipelines.aggregates.custom import custom
from pipelines.aggregates.extremes import MAX, MIN, bottom, top
from pipelines.aggregates.frequent import approx_top_k
from pipelines.aggregates.items import COLLECT_LIST, COLLECT_SET, DISTINCT, HISTOGRAM
from pipelines.aggregates.moments import KURTOSIS, SKEWNESS, STDDEV, STDDEV_POP, VARIANCE, VARIANCE_POP
from pipelines.aggregates.operation import Operation
from pipelines.aggregates.picked import FIRST, LAST, MAX_BY, MIN_BY
from pipelines.aggregates.sketches import APPROX_DISTINCT, approx_quantile
from pipelines.aggregates.sums import AVG, COUNT, SUM
from pipelines.errors import CorrectTheSpec
from pipelines.spec.model import Aggregate

FIXED = (
    *(COUNT, SUM, AVG, MIN, MAX),
    *(VARIANCE, VARIANCE_POP, STDDEV, STDDEV_POP, SKEWNESS, KURTOSIS),
    *(COVARIANCE, CORRELATION, LINEAR_TREND),
    *(FIRST, LAST, MIN_BY, MAX_BY),
    *(ANY, ALL, BIT_AND, BIT_OR, BIT_XOR),
    *(DISTINCT, APPROX_DISTINCT, HISTOGRAM, COLLECT_LIST, COLLECT_SET),
)
"""The operations that take no options beside expressions."""

OPERATIONS: dict[str, Operation | Callable[[Aggregate], Operation]] = {
    **{operation.name: operation for operation in FIXED},
    "top": top,
    "bottom": bottom,
    "approx_quantile": approx_quantile,
    "approx_top_k": approx_top_k,
    "custom": custom,
}


def operation_of(aggregate: Aggregate) -> Operation:
    """The operation that an aggregate of the spec names, with its options."""
    operation = OPERATIONS.get(aggregate.op)
    if operation is None:
        known = ", ".join(sorted(OPERATIONS))
        raise CorrectTheSpec(
            f"aggregate `{aggregate.name}`", (f"no operation `{aggregate.op}`; there are {known}",)
        )
    return operation if isinstance(operation, Operation) else operation(aggregate)


def part_names(aggregate: Aggregate) -> tuple[str, ...]:
    """The columns that an aggregate's state takes in a table: `<aggregate>__<part>`."""
    return tuple(f"{aggregate.name}__{part.name}" for part in operation_of(aggregate).parts)
