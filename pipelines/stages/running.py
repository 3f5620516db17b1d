"""Runs stages: opens the batch, notes what each stage did, and says in the ledger how it ended.

`run_stage` is one Airflow task; `run_batch` is all of them after one another under one attempt.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

from pipelines.errors import CorrectTheCall, LookAtTheData, WaitForTheBatch
from pipelines.spec import Pipeline, Source, refuse_too_many_paths, sources_of, state_fingerprint
from pipelines.stages.accumulating import accumulate_source
from pipelines.stages.combining import accumulated, combine_batch, refuse_sources_that_are_gone
from pipelines.stages.evaluation import evaluated
from pipelines.stages.finalising import finalise_batch
from pipelines.stages.gates import mark_of_rules, refuse_other_rules
from pipelines.stages.lines import line_of
from pipelines.stages.preparing import (
    is_to_prepare,
    prepare,
    refuse_emptied,
    refuse_lost,
    refuse_other_frames,
    refuse_without_ledger,
)
from pipelines.stages.publishing import publish_batch
from pipelines.stages.retained import refuse_beyond_retention
from pipelines.stages.site import Report, Request, Site, Work
from pipelines.stages.wrong_values import in_words
from pipelines.store import small
from pipelines.store.attempts import Attempt
from pipelines.store.ledger import Asked, Run, mark, open_run, read_rows, withdraw
from pipelines.store.ledger_rows import OPENING, LedgerRow, unfinished
from pipelines.store.opening import Opening, opening_of
from pipelines.store.progress import (
    Done,
    begun_sources,
    begun_stages,
    finish_stage,
    finished_stages,
    is_newest,
    stages_before,
)
from pipelines.store.tables import ATTEMPTS, RUNS

STAGES = ("accumulate", "combine", "finalise", "publish")


def open_batch(site: Site, request: Request) -> Run:
    """Open the batch, or take it over, so that its stages can run.

    Makes the tables when they are not there.
    """
    return _open(site, request, stage=OPENING)


def run_stage(site: Site, request: Request, *, stage: str, source: str | None = None) -> Report:
    """Run one stage of a batch, of one source if that is accumulate; opens the batch if it is not open."""
    if stage not in STAGES:
        raise CorrectTheCall(f"there is no stage `{stage}`; there are {', '.join(STAGES)}")
    if stage == "accumulate":
        _source(site.pipeline, source)
    work = Work(site, request, _open(site, request, stage=stage, source=source))
    _refuse_too_early(work, stage)
    if stage != "accumulate" and work.run.opening.status is None:
        _refuse_unlike(work, stage)
    return _run_one(work, stage, source=source)


def run_batch(site: Site, request: Request) -> Iterator[Report]:
    """Run all stages of a batch, one report after each."""
    site = site.anew()
    run = _open(site, request)
    for source in site.pipeline.sources:
        yield _run_one(Work(site, request, run), "accumulate", source=source.name)
    for stage in STAGES[1:]:
        yield _run_one(Work(site, request, run), stage)


def _open(site: Site, request: Request, *, stage: str | None = None, source: str | None = None) -> Run:
    fingerprint = state_fingerprint(site.pipeline)
    refuse_without_ledger(site)
    small.create(site.tables, "runs", columns=RUNS)
    rows = read_rows(site.tables)
    pending = unfinished(rows)
    is_anew = is_to_prepare(pending, fingerprint, stage=stage)
    if is_anew:
        refuse_lost(site, rows=rows)
    small.create(site.tables, "attempts", columns=ATTEMPTS)
    refuse_too_many_paths(site.pipeline, request.batch)

    def opens(now: list[LedgerRow]) -> Opening:
        refuse_emptied(site, rows, rows=now)
        refuse_other_frames(site, rows=now)
        opening = opening_of(now, request.batch, fingerprint=fingerprint, replace=request.replace)
        refuse_beyond_retention(site, opening, rows=now)
        return opening

    opens(rows)
    if is_anew:
        prepare(site, request.batch, rows=rows)
    asked = Asked(stage=stage, source=source, wishes=request.wishes)
    run = open_run(site.tables, opens, fingerprint=fingerprint, asked=asked)
    if begun_sources(site.tables, run).difference(it.name for it in site.pipeline.sources):
        # A source has another name since, or is gone, and may have left rows.
        return replace(run, is_first=False)
    return run


def _refuse_too_early(work: Work, stage: str) -> None:
    """Raise `CorrectTheCall` where a stage before this one has not run since what comes before that one did.

    The ledger is left as it was then, so that no other batch waits for this one more than it did.
    """
    opening = work.run.opening
    # Whoever began and did not end may have written something.
    sources = {source.name for source in work.pipeline.sources}
    attempts = [one for one in begun_stages(work.tables, work.run) if one.source in {None, *sources}]
    begun = {one.stage for one in attempts}
    finished = finished_stages(work.tables, work.run)
    done = _done_in_turn(finished, attempts)
    missing = sorted(sources - {one.source for one in finished if one.stage == "accumulate"})
    if missing and opening.before is None:
        done.discard("accumulate")
    for position, needed in enumerate(STAGES[: STAGES.index(stage)]):
        is_touched = done.intersection(STAGES[:position]) or begun.intersection(
            {None, *STAGES[: position + 1]}
        )
        if needed not in done and (opening.before is None or is_touched):
            if opening.status is None and is_newest(work.tables, work.run):
                withdraw(work.tables, work.run)
            elif opening.status not in (None, "running"):
                mark(work.tables, work.run, status=opening.status)
            is_some = needed == "accumulate" and 0 < len(missing) < len(sources)
            whose = f" of source {', '.join(missing)}" if is_some else ""
            raise CorrectTheCall(
                f"batch {work.batch}: the stage {needed}{whose} has not run, or not since the spec was "
                f"changed or a stage before it was run again; run it before {stage}"
            )


def _refuse_unlike(work: Work, stage: str) -> None:
    """Raise `CorrectTheCall` where a batch that has ended was accumulated of other sources than there are now
    or, if it is to be combined, by other rules. It stands as it was, so that no other batch waits for it.
    """
    try:
        counted = accumulated(work)
        _refuse_sources_that_went(work, stage)
        if stage == "combine":
            refuse_other_rules(work, counted)
    except CorrectTheCall:
        if is_newest(work.tables, work.run):
            withdraw(work.tables, work.run)
        raise


def _refuse_sources_that_went(work: Work, stage: str) -> None:
    """Raise `CorrectTheCall` where rows were accumulated of a source that the spec no longer has. Of a batch
    that others have followed the ledger has the counts of all, so that only what is combined is looked at.
    """
    if stage == "combine":
        refuse_sources_that_are_gone(work)
    before, sources = work.run.opening.before, [it.name for it in work.pipeline.sources]
    had = frozenset() if before is None else sources_of(before.spec_fingerprint)
    done = [one for one in stages_before(work.tables, work.run) if one.stage == "accumulate"]
    gone = had.difference(sources).intersection(one.source for one in done if one.counts.get("ingested"))
    if gone:
        raise CorrectTheCall(
            f"batch {work.batch} has rows of source {', '.join(sorted(gone))}, which the spec no longer has; "
            f"run the stage accumulate for {sources[0]} again, which takes them away"
        )


def _done_in_turn(finished: Sequence[Attempt], begun: Sequence[Attempt]) -> set[str | None]:
    """The stages that are done, of each source that has begun one."""
    in_turn = {(one.stage, one.source) for one in finished if _is_in_turn(one, begun)}
    asked = {(one.stage, one.source) for one in (*finished, *begun)}
    return {stage for stage, _ in in_turn} - {stage for stage, _ in asked - in_turn}


def _is_in_turn(finished: Attempt, begun: Sequence[Attempt]) -> bool:
    """Whether nothing has begun since that comes before what was finished."""
    since = {(one.stage, one.source) for one in begun if one.attempt > finished.attempt}
    before = (None, *STAGES[: STAGES.index(finished.stage or STAGES[0])])
    return (finished.stage, finished.source) not in since and not any(stage in before for stage, _ in since)


def _run_one(work: Work, stage: str, *, source: str | None = None) -> Report:
    started = time.monotonic()
    accumulating = _source(work.pipeline, source) if stage == "accumulate" else None
    if accumulating is not None:
        work.warned.extend(_read_otherwise(work, accumulating))
    handed_on = _handed_on(work, stage)
    with _marked(work), evaluated(work, source=accumulating):
        counts = _do(work, stage, source=source)
        seconds = time.monotonic() - started
        if stage != "publish":
            rules = {} if accumulating is None else {mark_of_rules(work.site): 1}
            done = Done(stage=stage, source=source, counts={**counts, **rules}, seconds=seconds)
            finish_stage(work.tables, work.run, done=done)
    seconds = time.monotonic() - started
    line = line_of(stage, source=source, counts=counts, seconds=seconds, handed_on=handed_on)
    return Report(
        stage=stage, source=source, counts=counts, seconds=seconds, line=line, warnings=tuple(work.warned)
    )


def _read_otherwise(work: Work, source: Source) -> Iterator[str]:
    """What to say where the SQL of the source has changed since the last batch that ran."""
    changed = work.run.opening.changes.read_otherwise
    whats = [f"`{what}`" for name, what in changed if name == source.name]
    if whats:
        yield (
            f"{' and '.join(whats)} of source `{source.name}` changed since the last batch that ran: what "
            "older batches have counted was read by the old text and stays, and one that runs again is read "
            "by the new one. `sash run … --rebuild` reads all anew"
        )


def _handed_on(work: Work, stage: str) -> Counter[str]:
    """What the stage before has counted, of all sources."""
    before = dict(pairwise(STAGES[::-1])).get(stage)
    counts: Counter[str] = Counter()
    for one in finished_stages(work.tables, work.run) if before else ():
        counts.update(one.counts if one.stage == before else {})
    return counts


def _do(work: Work, stage: str, *, source: str | None) -> dict[str, int]:
    match stage:
        case "accumulate":
            return accumulate_source(work, _source(work.pipeline, source))
        case "combine":
            return combine_batch(work)
        case "finalise":
            return finalise_batch(work)
        case _:
            return publish_batch(work)


def _source(pipeline: Pipeline, name: str | None) -> Source:
    known = ", ".join(source.name for source in pipeline.sources)
    if name is None:
        raise CorrectTheCall(f"the stage accumulate runs for one source; name it: there are {known}")
    for source in pipeline.sources:
        if source.name == name:
            return source
    raise CorrectTheCall(f"pipeline `{pipeline.name}` has no source `{name}`; it has {known}")


@contextmanager
def _marked(work: Work) -> Iterator[None]:
    """Say in the ledger how the work inside ended, if it did not end well."""
    try:
        yield
    except WaitForTheBatch:
        raise
    except LookAtTheData:
        mark(work.tables, work.run, status="stopped")
        raise
    except Exception as error:
        mark(work.tables, work.run, status="failed")
        known = in_words(error, work.site)
        if known is None:
            raise
        raise known from error
