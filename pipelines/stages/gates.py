"""The gates between the stages: what is expected of the rows that would go on, and the end of the run where
it may not fail.

Row rules about events were counted by the pass that accumulated them and are judged here over all sources
at once; all else is asked of Great Expectations. Every result goes to `checks` and to Data Docs before
anything stops.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, NumericType, TimestampNTZType, TimestampType

from pipelines.checks import (
    Expectation,
    Result,
    Stage,
    build_docs,
    check_rows,
    compile_rule,
    failed,
    result_of_counts,
    sample_rows,
    stop_advice,
    stop_message,
    validate,
    warning,
)
from pipelines.errors import CorrectTheCall, LookAtTheData, RunAgain
from pipelines.ingest import CONTENT, RowRule, content, passes
from pipelines.ingest.fate import as_read
from pipelines.ingest.unreadable import unreadable_file
from pipelines.spec import hide, is_uri, secrets_of
from pipelines.stages.site import Site, Work
from pipelines.stages.sourcing import events_as_read, source_events
from pipelines.stages.told import of_run
from pipelines.store import small
from pipelines.store.ledger import now_us, still_mine
from pipelines.store.rows import as_text, from_rows, has_any
from pipelines.store.sql import text

RULES = "rules_"
TIMES = (DateType, TimestampType, TimestampNTZType)


def event_rules(site: Site) -> list[tuple[Expectation, RowRule]]:
    """The expectations about single events, compiled. Needs a live session."""
    compiled = [(expectation, compile_rule(expectation)) for expectation in site.suite.at("events")]
    return [(expectation, rule) for expectation, rule in compiled if rule is not None]


def asked_of_all(site: Site) -> list[Expectation]:
    """The expectations about events that no pass over them counts: they are read again for these."""
    ruled = {expectation for expectation, _ in event_rules(site)}
    return [expectation for expectation in site.suite.at("events") if expectation not in ruled]


def pass_events(work: Work, counts: Mapping[str, int]) -> None:
    """Judge the events of the batch, over all sources.

    Row rules by what was counted, the others on the events themselves. Where nothing was counted, for they
    were accumulated and judged in a run that others have followed, that verdict stands.
    """
    rules = event_rules(work.site)
    refuse_other_rules(work, counts)
    if rules and "counted_0" not in counts:
        return
    results = [
        result_of_counts(expectation, counts[f"counted_{number}"], unexpected=counts[f"unexpected_{number}"])
        for number, (expectation, _) in enumerate(rules)
    ]
    others = asked_of_all(work.site)
    if others:
        _refuse_other_events(work, counts)
        results += [_told(work.site, it) for it in validate(_candidates(work), others)]
    _conclude(work, "events", results=results, candidates=lambda: _candidates(work))


def mark_of_rules(site: Site) -> str:
    """The name under which a source says by which rules about single events its rows were counted."""
    told = repr([(it.rule, it.on_failure == "quarantine") for it, _ in event_rules(site)])
    return f"{RULES}{zlib.crc32(told.encode()):08x}"


def refuse_other_rules(work: Work, counts: Mapping[str, int]) -> None:
    """Raise `CorrectTheCall` where the rows were counted by other rules than there are now."""
    counted_by = {name for name in counts if name.startswith(RULES)}
    if counted_by and counted_by != {mark_of_rules(work.site)}:
        raise CorrectTheCall(
            f"batch {work.batch}: what is expected of events was changed since the batch was accumulated: "
            "run the stage accumulate again, for each source; in Airflow, clear its tasks too"
        )


def _refuse_other_events(work: Work, counts: Mapping[str, int]) -> None:
    """Raise `CorrectTheCall` where the rows are others than those that were accumulated: what is expected of
    them would be asked of rows that count nowhere.
    """
    if CONTENT not in counts:
        return
    read = [events_as_read(work, source) for source in work.pipeline.sources]
    found = sum(from_rows(rows.agg(content(rows)))[0][CONTENT] or 0 for rows in read)
    if found != counts[CONTENT]:
        raise CorrectTheCall(
            f"batch {work.batch}: its rows are others now than those that were accumulated: run the stage "
            "accumulate again, for each source; in Airflow, clear its tasks too"
        )


def pass_stage(work: Work, stage: Stage, *, candidates: DataFrame, may_be_none: bool = False) -> None:
    """Judge the rows that a stage is about to hand on. `may_be_none`: of a batch that changes nothing there
    are none, and nothing is expected of that.
    """
    expectations = work.site.suite.at(stage)
    if may_be_none and expectations and not has_any(candidates):
        expectations = ()
    results = [_told(work.site, it) for it in validate(candidates, expectations)] if expectations else []
    _conclude(work, stage, results=results, candidates=lambda: candidates)


def _told(site: Site, result: Result) -> Result:
    """The result as everybody may read it. Raises `RunAgain` where the rows could not be read: that says
    nothing of them.
    """
    if not result.is_computed:
        unreadable = unreadable_file(ValueError(result.observed), tables=site.folders)
        if unreadable is not None:
            raise RunAgain(unreadable)
    return replace(result, observed=hide(result.observed, secrets_of(site.pipeline)))


def _conclude(
    work: Work, stage: Stage, *, results: Sequence[Result], candidates: Callable[[], DataFrame]
) -> None:
    if results or not work.run.is_first:
        # Also where nothing is expected any more: what an earlier attempt found does not stand.
        _write(work, stage, results=results)
    if not results:
        return
    page = build_docs(
        results,
        suite_name=f"{work.pipeline.name}.{stage}",
        run_name=f"{work.batch} revision {work.run.revision}",
        folder=docs_folder(work.site),
        at_us=now_us(),
    )
    # Docs that are built elsewhere are those of a plan, and gone when it is told.
    elsewhere = f"; all results: {page}" if work.site.docs is None else ""
    work.warned.extend(f"{stage}: {warning(it)}{elsewhere}" for it in failed(results, "warn"))
    stopping = failed(results, "stop")
    if stopping:
        samples = {result.expectation: _samples(result, candidates) for result in stopping}
        raise LookAtTheData(stop_message(stopping, samples), stop_advice(page))


def _samples(result: Result, candidates: Callable[[], DataFrame]) -> list[dict[str, object]]:
    """Rows that show what was found; none where they cannot be computed: the stop is told all the same."""
    try:
        return as_text(sample_rows(candidates(), result))
    except (PySparkException, Py4JJavaError, ValueError):
        return []


def take_back(work: Work) -> None:
    """Take back what was found in a run that changed nothing: what was found before it stands.

    What stands is of the lanes of all stages, in which a newer attempt writes: so it is asked after.
    """
    small.take_away(
        work.tables,
        "checks",
        where=of_run(work),
        fence=work.run.fence("checks"),
        still_mine=lambda: still_mine(work.tables, work.run),
    )


def docs_folder(site: Site) -> Path:
    """Where the Data Docs are built.

    Beside the tables, or, where those are not on this machine, under the pipeline's home.
    """
    root = site.tables.root
    if site.docs is not None:
        return site.docs
    if is_uri(root):
        return site.pipeline.home / "var" / "data_docs" / site.pipeline.name
    return Path(root) / "data_docs"


def _candidates(work: Work) -> DataFrame:
    """The events of the batch that no rule quarantined, of all sources, as they were read."""
    rules = [rule for _, rule in event_rules(work.site)]
    of_sources = []
    for source in work.pipeline.sources:
        events = source_events(work, source, rules=rules)
        of_sources.append(events.where(passes()).select(*as_read(events)))
    unlike = _of_unlike_types(of_sources)
    alike = []
    for rows in of_sources:
        # As in `late_events`.
        texts = {it: F.col(f"`{it}`").cast("string") for it in rows.columns if it.lower() in unlike}
        alike.append(rows.withColumns(texts) if texts else rows)
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), alike)


def _of_unlike_types(sources: Sequence[DataFrame]) -> set[str]:
    """The columns, in small letters, that sources have in types that no union widens to one."""
    kinds: dict[str, list[DataType]] = {}
    for field in (field for rows in sources for field in rows.schema):
        kinds.setdefault(field.name.lower(), []).append(field.dataType)
    return {name for name, told in kinds.items() if not _widen(told)}


def _widen(kinds: Sequence[DataType]) -> bool:
    """Whether types are the same, or numbers all, or times."""
    is_one = len({kind.simpleString() for kind in kinds}) == 1
    return is_one or any(all(isinstance(kind, alike) for kind in kinds) for alike in (NumericType, TIMES))


def _write(work: Work, stage: Stage, *, results: Sequence[Result]) -> None:
    batch = {
        "batch_start": work.batch.start_us,
        "batch_end": work.batch.end_us,
        "revision": work.run.revision,
    }
    rows = [{**row._asdict(), **batch} for row in check_rows(results)]
    small.put(
        work.tables,
        "checks",
        rows=rows,
        where=f"{of_run(work)} AND stage = {text(stage)}",
        fence=work.run.fence(f"checks/{stage}"),
    )
