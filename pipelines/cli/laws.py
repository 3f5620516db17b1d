"""A user's own operations and windows, tried before any event: broken laws would break results in silence.

Loading them needs no Spark. Trying its laws does, and the type of the values that it is of.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType

from pipelines.aggregates import laws_kept, operation_of
from pipelines.aggregates.options import expression
from pipelines.errors import CorrectTheSpec
from pipelines.ingest.events import select_columns
from pipelines.ingest.read import schema_of
from pipelines.ingest.verify import window_problems
from pipelines.spec import Aggregate, Pipeline
from pipelines.stages import Site


def unloadable(pipeline: Pipeline) -> tuple[str, ...]:
    """Why custom operations and windows of a pipeline cannot be had; none where all can."""
    problems: list[str] = []
    for aggregate in _custom(pipeline):
        try:
            operation_of(aggregate)
        except CorrectTheSpec as refused:
            problems += [f"{refused.where}: {problem}" for problem in refused.problems]
    return (*problems, *window_problems(pipeline))


def broken_laws(site: Site) -> tuple[str, ...]:
    """Each custom operation that breaks a law on sample events, and which laws."""
    return tuple(told for aggregate in _custom(site.pipeline) for told in _broken(site, aggregate))


def _custom(pipeline: Pipeline) -> list[Aggregate]:
    return [aggregate for aggregate in pipeline.aggregates if aggregate.op == "custom"]


def _broken(site: Site, aggregate: Aggregate) -> list[str]:
    place = f"aggregate `{aggregate.name}`: custom `{aggregate.of}`"
    try:
        kind = _kind(site, aggregate)
    except AnalysisException:
        # What is wrong with the expression itself is told of all expressions together.
        return []
    try:
        (kept,) = laws_kept(site.spark, aggregate, kind=kind).collect()
    except Exception as error:  # noqa: BLE001  # its functions are the user's, and may raise anything
        said = str(error).strip().splitlines()[0] if isinstance(error, PySparkException) else repr(error)
        return [f"{place} fails on sample events of type {kind.simpleString().upper()}: {said}"]
    broken = [law for law, is_kept in kept.asDict().items() if not is_kept]
    if not broken:
        return []
    laws = "; that ".join(broken)
    return [f"{place} breaks the laws that {laws}; correct its parts, or results depend on chance"]


def _kind(site: Site, aggregate: Aggregate) -> DataType:
    of = expression(aggregate)
    if of is None:
        return LongType()
    source = site.pipeline.sources[0]
    rows = site.spark.createDataFrame([], schema_of(site.spark, source, home=site.pipeline.home))
    events = select_columns(rows, replace(source, where=None))
    return events.select(F.expr(of).alias("of")).schema["of"].dataType
