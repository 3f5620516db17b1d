"""Raw rows of one source, as they lie there, by any Spark batch reader.

A row that does not fit the schema of a csv or json source is not dropped but carried along whole, in
`UNREADABLE`. A path that stands for many values of the batch may lack some of them: no file means no
events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path

from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    SparkRuntimeException,
    UnsupportedOperationException,
)
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import StructType

from pipelines.errors import CorrectTheSpec, RunAgain
from pipelines.ingest.declared import TEXT_FORMATS, UNREADABLE, declared_schema, schema_as_loaded
from pipelines.ingest.files import (
    absolute,
    any_path,
    as_asked,
    exists,
    goes_down_in,
    is_there,
    only_spark_tells,
    refuse_colon,
    refuse_deeper,
)
from pipelines.ingest.globs import find
from pipelines.ingest.once import refuse_twice
from pipelines.ingest.unreadable import advice_on, unreadable_file
from pipelines.intervals import Interval
from pipelines.spec import Pipeline, Source, expand_paths, glob_of
from pipelines.spec.places import with_lines

Schemas = Mapping[str, StructType]
"""The columns that the rows of each source have, by its name."""

FILE_FORMATS = (*TEXT_FORMATS, "parquet", "orc", "text", "avro")
"""Formats that Spark reads from several paths at once."""
NO_FILE = ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")
"""What Spark says of a path at which there is nothing, and of a folder in which there is no file."""

NO_FORMAT = re.compile(
    r"\[DATA_SOURCE_NOT_FOUND\] Failed to find the data source: .+?(?=\. |$)", re.MULTILINE
)
ALLOWED_FORMATS = "; allowed is what Spark reads, like parquet, csv, json, orc, delta, kafka or jdbc"


class UnlikeFolders(ValueError):
    """A glob finds folders that each have folders of columns: which of them begin the table nobody tells."""


CANNOT_BE_READ = (
    AnalysisException,
    IllegalArgumentException,
    UnsupportedOperationException,
    UnlikeFolders,
)


def read_rows(spark: SparkSession, source: Source, *, batch: Interval, home: Path) -> DataFrame:
    """All rows that the source's path holds for the batch.

    Which of them belong to it is told later, by arrival time.
    """
    if source.path is None:
        return _load(spark, source, paths=())
    paths = tuple(absolute(path, home) for path in expand_paths(source.path, batch))
    goes_down = goes_down_in(source)
    there = tuple(path for path in paths if is_there(path, goes_down=goes_down))
    # Of a folder that is called by no time, rows may be moved away into one below once they are read.
    for path in sorted({*paths} - {*there}) if glob_of(source.path) != source.path else ():
        refuse_deeper(source, path)
    for path in there:
        refuse_colon(source, path)
    there = there if len(there) <= 1 else _each_once(spark, source, paths=there)
    rows = _load_found(spark, source, paths=there) if there else None
    if rows is not None:
        return rows
    empty = tuple(path for path in paths if source.schema is not None and exists(path))
    if empty:
        return _load(spark, source, paths=empty)
    if glob_of(source.path) == source.path:
        raise CorrectTheSpec(
            f"source `{source.name}`", (f"there is no file at {paths[0]}; put one there or correct `path`",)
        )
    if source.schema is not None:
        return spark.createDataFrame([], schema_as_loaded(source)).limit(0)
    return _load(spark, source, paths=(any_path(source, home),)).limit(0)


def _each_once(spark: SparkSession, source: Source, *, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths, or what is at them where their globs meet (`1*` and `10*`): Spark reads a file for each."""
    if any(only_spark_tells(path) for path in paths):
        refuse_twice(spark, source, paths=paths)
        return paths
    found = [as_asked(source, it) for path in paths for it in sorted(find(path))]
    alone = tuple(dict.fromkeys(found))
    return paths if len(alone) == len(found) else alone


def schemas_of(spark: SparkSession, pipeline: Pipeline, *, batch: Interval | None = None) -> Schemas:
    """The columns of all sources, each as `schema_of` has them. Raises `CorrectTheSpec` with all problems."""
    schemas, problems = known_schemas(spark, pipeline, batch=batch)
    if problems:
        raise CorrectTheSpec(pipeline.path.name, with_lines(problems, pipeline))
    return schemas


def known_schemas(
    spark: SparkSession, pipeline: Pipeline, *, batch: Interval | None = None
) -> tuple[Schemas, tuple[str, ...]]:
    """The columns of the sources that can be read, and what is wrong with the others."""
    schemas, problems = dict[str, StructType](), list[str]()
    for source in pipeline.sources:
        try:
            schemas[source.name] = schema_of(spark, source, home=pipeline.home, batch=batch)
        except CorrectTheSpec as refused:
            problems += [f"{refused.where}: {problem}" for problem in refused.problems]
    return schemas, tuple(problems)


def schema_of(
    spark: SparkSession, source: Source, *, home: Path, batch: Interval | None = None
) -> StructType:
    """The columns that the source's rows have, read from its files or told by the spec.

    With a `batch` those that its rows will be read with, for files of other batches may have others. Raises
    `CorrectTheSpec` where the source cannot be read.
    """
    if batch is not None:
        rows = read_rows(spark, source, batch=batch, home=home)
        is_parsed = source.format in TEXT_FORMATS
        return StructType([it for it in rows.schema if not (is_parsed and it.name == UNREADABLE)])
    if source.path is None or source.schema is not None:
        # Also where all columns are declared: whether there is such a format only Spark tells.
        found = _load(spark, replace(source, path=None), paths=()).schema
        return found if source.path is None else declared_schema(source)
    return _load(spark, source, paths=(any_path(source, home),)).schema


def _load_found(spark: SparkSession, source: Source, *, paths: tuple[str, ...]) -> DataFrame | None:
    """The rows at the paths; where some are remote, at those of them where Spark finds a file.

    `None`: it finds none. It refuses all for one that is missing, so only then each is asked about.
    """
    try:
        return _load(spark, source, paths=paths)
    except CorrectTheSpec as refused:
        if not _is_missing(refused) or not any(only_spark_tells(path) for path in paths):
            raise
    found = tuple(path for path in paths if _finds(spark, source, path=path))
    return _load(spark, source, paths=found) if found else None


def _finds(spark: SparkSession, source: Source, *, path: str) -> bool:
    try:
        _load(spark, source, paths=(path,))
    except CorrectTheSpec as refused:
        if _is_missing(refused):
            return False
        raise
    return True


def _is_missing(refused: CorrectTheSpec) -> bool:
    cause = refused.__cause__
    return isinstance(cause, AnalysisException) and cause.getCondition() in NO_FILE


def _load(spark: SparkSession, source: Source, *, paths: tuple[str, ...]) -> DataFrame:
    reader = spark.read.format(source.format).options(**dict(source.options))
    declared: StructType | None = None
    if source.schema is not None:
        declared = schema_as_loaded(source)
        if source.format in TEXT_FORMATS:
            reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", UNREADABLE)
            # Pruned columns are not parsed, and a row that breaks in one of them would pass for a good one.
            reader = reader.option("columnPruning", "false")
        reader = reader.schema(declared)
    try:
        rows = _rows_at(reader, paths, at_once=source.format in FILE_FORMATS)
        found = rows.columns
    except Exception as error:
        unreadable = unreadable_file(error)
        if unreadable is not None:
            raise RunAgain(f"source `{source.name}`: {unreadable}") from error
        unknown = NO_FORMAT.search(str(error))
        if unknown is None and not isinstance(error, CANNOT_BE_READ):
            raise
        said = f"{unknown[0]}{ALLOWED_FORMATS}" if unknown else str(error).strip().splitlines()[0]
        problem = f"cannot be read as {source.format}: {said}{advice_on(said)}"
        raise CorrectTheSpec(f"source `{source.name}`", (problem,)) from error
    # Names of folders become columns that nobody declared.
    more = [] if declared is None else [name for name in found if name not in declared.names]
    return rows.drop(*more) if more else rows


def _rows_at(reader: DataFrameReader, paths: tuple[str, ...], *, at_once: bool) -> DataFrame:
    """The rows at the paths, of which each may have folders of columns of its own."""
    is_one = len(paths) <= 1
    try:
        if at_once or is_one:
            return reader.load(list(paths)) if paths else reader.load()
    except SparkRuntimeException as error:
        if error.getCondition() != "CONFLICTING_DIRECTORY_STRUCTURES":
            raise
        if is_one:
            raise UnlikeFolders(str(error)) from error
    return reduce(_both, [reader.load(path) for path in paths])


def _both(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other, allowMissingColumns=True)
