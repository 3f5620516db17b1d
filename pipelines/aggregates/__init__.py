"""What an aggregate is: an operation of named, mergeable parts and one finish.

In comes an aggregate of the spec, out goes its operation as Spark column expressions. Promised of every
operation: its parts combine in any order and grouping, and finishing the combination equals finishing all
the events at once.
"""

from pipelines.aggregates.laws import laws_kept
from pipelines.aggregates.likeness import BY_CHANCE, are_alike, is_unchanged
from pipelines.aggregates.operation import Given, Operation, Part
from pipelines.aggregates.registry import operation_of, part_names
from pipelines.aggregates.sharing import shared
from pipelines.aggregates.states import (
    accumulate_columns,
    combine_columns,
    event_values,
    finish_columns,
    nullable,
    part_columns,
)

__all__ = [
    "BY_CHANCE",
    "Given",
    "Operation",
    "Part",
    "accumulate_columns",
    "are_alike",
    "combine_columns",
    "event_values",
    "finish_columns",
    "is_unchanged",
    "laws_kept",
    "nullable",
    "operation_of",
    "part_columns",
    "part_names",
    "shared",
]
