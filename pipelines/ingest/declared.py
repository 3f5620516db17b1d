"""The columns that a spec declares of a source, in Spark DDL."""

from __future__ import annotations

from itertools import accumulate

from pyspark.errors import AnalysisException
from pyspark.sql.types import (
    ArrayType,
    CharType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    VarcharType,
)

from pipelines.errors import CorrectTheSpec
from pipelines.spec import Source
from pipelines.spec.sql import MOST_NESTED

UNREADABLE = "_unreadable"
TEXT_FORMATS = ("csv", "json")


def declared_schema(source: Source) -> StructType:
    """The schema that the spec declares; Spark has to be running, which parses it."""
    deep = max(accumulate({"<": 1, ">": -1}.get(sign, 0) for sign in str(source.schema)), default=0)
    if deep > MOST_NESTED:
        raise _no_schema(source, f"found types nested {deep} deep, and {MOST_NESTED} are allowed")
    try:
        declared = _as_stored(DataType.fromDDL(str(source.schema)))
    except (AnalysisException, ValueError) as error:
        raise _no_schema(source, str(error).strip().splitlines()[0]) from error
    if not isinstance(declared, StructType):
        raise _no_schema(source, f"found {declared.simpleString().upper()} without a name")
    return declared


def schema_as_loaded(source: Source) -> StructType:
    """The declared schema, and where texts are parsed what could not be read."""
    declared = declared_schema(source)
    is_parsed = source.format in TEXT_FORMATS
    return StructType([*declared.fields]).add(UNREADABLE, StringType()) if is_parsed else declared


def _no_schema(source: Source, found: str) -> CorrectTheSpec:
    problem = f"`schema` is not Spark DDL: {found}; allowed is like `origin STRING, at TIMESTAMP`"
    return CorrectTheSpec(f"source `{source.name}`", (problem,))


def _as_stored(kind: DataType) -> DataType:
    """The type without the lengths of texts, which neither a reader nor a table of Spark's knows."""
    match kind:
        case CharType() | VarcharType():
            return StringType()
        case StructType():
            return StructType([_field(it) for it in kind])
        case ArrayType():
            return ArrayType(_as_stored(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(_as_stored(kind.keyType), _as_stored(kind.valueType), kind.valueContainsNull)
        case _:
            return kind


def _field(field: StructField) -> StructField:
    return StructField(field.name, _as_stored(field.dataType), field.nullable)
