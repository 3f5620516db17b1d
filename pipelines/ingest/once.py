"""Files that several globs of a batch find: Spark reads them for each."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheCall
from pipelines.spec.globs import those_that_may_meet

NOT_THERE = "PATH_NOT_FOUND"


def refuse_twice(spark: SparkSession, paths: Sequence[str]) -> None:
    """Raise `CorrectTheCall` where two of the globs find the same file. Only those that may are looked at."""
    found: dict[str, str] = {}
    for path in those_that_may_meet(paths):
        for file in _files(spark, path):
            other = found.setdefault(file, path)
            if other != path:
                raise CorrectTheCall(
                    f"`{other}` and `{path}`, of one batch, both find {file}, whose rows would count twice: "
                    "write times with all their digits, like `%H`, or what stands around them in the name"
                )


def _files(spark: SparkSession, path: str) -> list[str]:
    try:
        return spark.read.format("binaryFile").load(path).inputFiles()
    except AnalysisException as error:
        if error.getCondition() != NOT_THERE:
            raise
        return []
