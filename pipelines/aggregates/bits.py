"""Conditions and bits. Of these only the exclusive or can be undone: by itself."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from pipelines.aggregates.operation import Operation, Over, Part, to_group
from pipelines.aggregates.sums import ROWS


def _some(states: Column, over: Over) -> Column:
    return over(F.bool_or(states))


def _every(states: Column, over: Over) -> Column:
    return over(F.bool_and(states))


def _common(states: Column, over: Over) -> Column:
    return over(F.bit_and(states))


def _joint(states: Column, over: Over) -> Column:
    return over(F.bit_or(states))


def _odd(states: Column, over: Over = to_group) -> Column:
    # The smallest kind of zero, so that the bits keep their type.
    return F.coalesce(over(F.bit_xor(states)), F.lit(0).cast("tinyint"))


def _or(one: Column, other: Column) -> Column:
    return F.coalesce(one | other, one, other)


def _and(one: Column, other: Column) -> Column:
    return F.coalesce(one & other, one, other)


def _bits_or(one: Column, other: Column) -> Column:
    return F.coalesce(one.bitwiseOR(other), one, other)


def _bits_and(one: Column, other: Column) -> Column:
    return F.coalesce(one.bitwiseAND(other), one, other)


def _bits_xor(one: Column, other: Column) -> Column:
    return one.bitwiseXOR(other)


TRUE_ONCE = Part(name="truth", accumulate=F.bool_or, combine=_some, merge=_or)
TRUE_ALWAYS = Part(name="truth", accumulate=F.bool_and, combine=_every, merge=_and)
COMMON = Part(name="bits", accumulate=F.bit_and, combine=_common, merge=_bits_and)
JOINT = Part(name="bits", accumulate=F.bit_or, combine=_joint, merge=_bits_or)
ODD = Part(name="bits", accumulate=_odd, combine=_odd, merge=_bits_xor, deduct=_bits_xor)


def _finish(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    (part,) = parts.values()
    return part


def _finish_xor(parts: Mapping[str, Column], types: Mapping[str, DataType]) -> Column:
    return F.when(parts["rows"] > 0, parts["bits"])


ANY = Operation(name="any", parts=(TRUE_ONCE,), finish=_finish)
ALL = Operation(name="all", parts=(TRUE_ALWAYS,), finish=_finish)
BIT_AND = Operation(name="bit_and", parts=(COMMON,), finish=_finish)
BIT_OR = Operation(name="bit_or", parts=(JOINT,), finish=_finish)
BIT_XOR = Operation(name="bit_xor", parts=(ODD, ROWS), finish=_finish_xor)
