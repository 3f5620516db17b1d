"""An operation as a value: parts that accumulate, combine and maybe deduct, and one finish.

The laws, held by tests for every operation: `combine` is associative and commutative, an empty state
changes nothing, `deduct(combine(x, y), x) = y` wherever `deduct` is there and the part's type is exact.
What cannot deduct has no `deduct`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql.types import DataType, DoubleType, FloatType

Finish = Callable[[Mapping[str, Column], Mapping[str, DataType]], Column]
"""From the columns of the parts, by name, and their types to the result."""

Over = Callable[[Column], Column]
"""How an aggregate function is applied: as it stands to a group, or over the rows of a window."""


def to_group(function: Column) -> Column:
    """An aggregate function as it stands, for `groupBy`."""
    return function


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What an event gives an operation: the expression `of`, the expression `by` if told, its time."""

    of: Column
    by: Column | None
    instant_us: Column


def as_it_is(given: Given) -> Column:
    """The value of most operations: the expression itself."""
    return given.of


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One mergeable column of a state.

    `accumulate` aggregates a column of event values (null: not counted) into a state. `combine` aggregates
    states, applying every aggregate function in it by the `Over` that it is given. `merge` and `deduct`
    take two states of one row; neither is null. `deduct=None`: it cannot be undone. `gathers` says that all
    that `combine` does over the states is to collect them in a list, which it joins: sliding windows then
    gather them themselves. `grows` says that a state is larger the more is in it, so that no row can hold
    one for each of many windows.
    """

    name: str
    accumulate: Callable[[Column], Column]
    combine: Callable[[Column, Over], Column]
    merge: Callable[[Column, Column], Column]
    deduct: Callable[[Column, Column], Column] | None = None
    gathers: bool = False
    grows: bool = False

    def deducts(self, kind: DataType) -> bool:
        """Whether states of this type can be deducted: floats drift, and leave phantom windows."""
        return self.deduct is not None and not isinstance(kind, DoubleType | FloatType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Named parts, the finish that makes a result of them, and how an event's value is made.

    `value` is null for an event that does not count; where it takes more than one thing it is a struct.
    """

    name: str
    parts: tuple[Part, ...]
    finish: Finish
    value: Callable[[Given], Column] = as_it_is
