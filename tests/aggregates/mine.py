"""Operations as a user would write them, right and wrong."""

from __future__ import annotations

from collections.abc import Mapping
from operator import add, sub

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates import Given, Operation, Part
from pipelines.aggregates.operation import Over, to_group
from pipelines.spec import Aggregate

LIMIT = 3


def total(values: Column, over: Over = to_group) -> Column:
    return F.coalesce(over(F.sum(values)), F.lit(0))


def latest(states: Column, over: Over) -> Column:
    return over(F.last(states, ignorenulls=True))


def the_total(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return parts["total"]


def square(given: Given) -> Column:
    return given.of * given.of


SQUARES = Part(name="total", accumulate=total, combine=total, merge=add, deduct=sub)
SUM_OF_SQUARES = Operation(name="sum_of_squares", parts=(SQUARES,), finish=the_total, value=square)

OUT_OF_ORDER = Part(name="total", accumulate=F.max, combine=latest, merge=lambda one, other: other)
WHATEVER_CAME_LAST = Operation(name="whatever", parts=(OUT_OF_ORDER,), finish=the_total)
NAMELESS = Operation(name="nameless", parts=(), finish=the_total)


def by_name(aggregate: Aggregate) -> Operation:
    """An operation that depends on the aggregate that it is for."""
    if aggregate.name == "bad":
        raise ValueError("there is nothing for `bad`")
    return SUM_OF_SQUARES
