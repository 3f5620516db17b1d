"""What a suite expects of columns that its rows will not have, told before a batch is opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from pipelines.checks import (
    Expectation,
    Stage,
    Suite,
    is_row_rule,
    missing_columns,
    unknown_names,
    verify_rules,
    wrong_conditions,
)
from pipelines.ingest.fate import as_read
from pipelines.ingest.read import Schemas
from pipelines.stages.shapes import no_events
from pipelines.stages.site import Site
from pipelines.store.rows import from_rows
from pipelines.store.tables import Columns, Shapes

OF_STATES: tuple[Stage, ...] = ("partial_frames", "frames", "sessions", "panes")


def unfit(site: Site, suite: Suite, *, shapes: Shapes, schemas: Schemas) -> tuple[str, ...]:
    """The problems, with the name of the suite's file: of the events first, then of the stages after them.

    `shapes` are those that `schemas` make.
    """
    tables = shapes.tables()
    found = [*_of_rules(site, suite, schemas=schemas)]
    others = [it for it in suite.at("events") if not is_row_rule(it)]
    found += missing_columns(others, shapes.event)
    if len(site.pipeline.sources) == 1:
        # Of several, columns may have other types each, and only the rows have what they are together.
        found += _of_conditions(site, others, columns=shapes.event)
    for stage in OF_STATES:
        there = suite.at(stage)
        found += missing_columns(there, tables[stage])
        found += _of_conditions(site, there, columns=tables[stage])
        found += [problem for it in there for problem in _of_patterns(site, it)]
    name = suite.path.name if suite.path else ""
    return tuple(f"{name}, {problem}" for problem in found)


def unknown_in(suite: Suite) -> tuple[str, ...]:
    """The problems, with the name of the suite's file, of names and arguments that are Great Expectations'
    own, if it will be asked at all; all others are known since they were read.
    """
    asks = any(it.stage != "events" or not is_row_rule(it) for it in suite.expectations)
    name = suite.path.name if suite.path else ""
    return tuple(f"{name}, {problem}" for problem in unknown_names(suite)) if asks else ()


def _of_rules(site: Site, suite: Suite, *, schemas: Schemas) -> Iterator[str]:
    """Rules about single events are asked of each source, so all of them need their columns."""
    rules = [it for it in suite.at("events") if is_row_rule(it)]
    found: dict[str, list[str]] = {}
    for source in site.pipeline.sources if rules else ():
        rows = no_events(site, source, schemas=schemas)
        for problem in verify_rules(rows.select(*as_read(rows)), rules):
            found.setdefault(problem, []).append(source.name)
    for rule in rules:
        for problem in _of_patterns(site, rule):
            found.setdefault(problem, [source.name for source in site.pipeline.sources])
    for problem, names in found.items():
        everywhere = len(names) == len(site.pipeline.sources)
        yield problem if everywhere else f"{problem} (source {', '.join(names)})"


def _of_conditions(site: Site, expectations: Sequence[Expectation], *, columns: Columns) -> tuple[str, ...]:
    """What Spark says of conditions that Great Expectations will hand to it."""
    if not any(it.argument("row_condition") is not None for it in expectations):
        return ()
    schema = StructType([StructField(name, kind) for name, kind in columns.items()])
    return wrong_conditions(site.spark.createDataFrame([], schema), expectations)


def _of_patterns(site: Site, rule: Expectation) -> Iterator[str]:
    """Spark looks at a pattern only when it meets a row."""
    listed = rule.argument("regex_list")
    patterns = [rule.argument("regex"), *(listed if isinstance(listed, tuple) else ())]
    for pattern in patterns:
        if not isinstance(pattern, str):
            continue
        try:
            from_rows(site.spark.range(1).select(F.lit("").rlike(pattern).alias("fits")))
        except (PySparkException, Py4JJavaError):
            yield f"line {rule.line}: `{rule.name}`: `{pattern}` is no regular expression of Java's"
