"""Files that several globs of a batch find: Spark reads them for each."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrameReader, SparkSession

from pipelines.errors import CorrectTheCall
from pipelines.spec import Source
from pipelines.spec.globs import those_that_may_meet

NOT_THERE = "PATH_NOT_FOUND"
LISTING = ("recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter")
"""The options that say which files are read, in small letters."""


def refuse_twice(spark: SparkSession, source: Source, *, paths: Sequence[str]) -> None:
    """Raise `CorrectTheCall` where two of the globs find the same file. Only those that may are looked at."""
    listing = {name: told for name, told in source.options if name.lower() in LISTING}
    found: dict[str, str] = {}
    for path in those_that_may_meet(paths):
        for file in _files(spark.read.options(**listing), path):
            other = found.setdefault(file, path)
            if other != path:
                raise CorrectTheCall(
                    f"`{other}` and `{path}`, of one batch, both find {file}, whose rows would count twice: "
                    "write times with all their digits, like `%H`, or what stands around them in the name"
                )


def _files(reader: DataFrameReader, path: str) -> list[str]:
    try:
        return reader.format("binaryFile").load(path).inputFiles()
    except AnalysisException as error:
        if error.getCondition() != NOT_THERE:
            raise
        return []
