"""`sash replay`: batches again that have late events or quarantined rows, as restatements.

Cut off in the middle and said again it goes on, first with the batch that it was at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from pipelines.cli.arguments import Arguments
from pipelines.cli.batches import interval_of
from pipelines.cli.place import pipeline_of, store_of
from pipelines.cli.run import carry_out
from pipelines.cli.session import session_of
from pipelines.cli.turns import await_quiet
from pipelines.errors import ChooseAnotherBatch, CorrectTheCall, WaitForTheBatch
from pipelines.ingest import has_files
from pipelines.ingest.events import HAS_NO_EVENT_TIME, IS_OUT_OF_RANGE, IS_UNREADABLE
from pipelines.intervals import Interval, show_instant
from pipelines.spec import Pipeline, sources_of
from pipelines.stages import Request, Site
from pipelines.stages.claiming import claiming, reading_beside
from pipelines.stages.lines import many
from pipelines.stages.partials import PARTIALS, is_asked_for
from pipelines.stages.retained import kept_now_us
from pipelines.stages.site import folder_of
from pipelines.stages.wrong_values import in_words
from pipelines.store import attempts
from pipelines.store.asked import counts_in
from pipelines.store.ledger_rows import LedgerRow, standing, unfinished
from pipelines.store.reader import (
    count_rows,
    read_ledger,
    replay_of,
    rows_by_batch,
    wishes_of,
)
from pipelines.store.sql import is_batch, text

TABLES = {"late": "late_events", "quarantine": "quarantine"}
REST = {
    False: "replay other batches, with --from and --to",
    True: "give the batch up, which is unfinished, with `sash abandon`",
}

TIMELESS = (IS_UNREADABLE, HAS_NO_EVENT_TIME, IS_OUT_OF_RANGE)
"""The rules of rows that may stand in another batch than the one in which they arrived."""


def replay(arguments: Arguments) -> None:
    """Run the batches that have such rows again, and sum up."""
    pipeline = pipeline_of(arguments)
    store = store_of(arguments, pipeline)
    await_others(arguments, pipeline, store=store, what=arguments.what)
    requests = replayed(arguments, pipeline, store=store, what=arguments.what, say=_say)
    if requests:
        carry_out(arguments, pipeline, store=store, requests=requests)


def await_others(arguments: Arguments, pipeline: Pipeline, *, store: str, what: str) -> None:
    """Return when no batch is running but one that such a replay left; at once unless asked to wait."""
    own = _left(pipeline, store, what=what)
    await_quiet(pipeline, store, batches=own, wait=arguments.wait)


def replayed(
    arguments: Arguments, pipeline: Pipeline, *, store: str, what: str, say: Callable[[str], None]
) -> list[Request]:
    """What is asked of the batches that have such rows, in their order, and of those that count more; `say`
    tells what was found.
    """
    inside, table = interval_of(arguments), TABLES[what]
    found = rows_by_batch(store, pipeline.name, table=table)
    kept_us = kept_now_us(folder_of(store, pipeline), pipeline, rows=read_ledger(store, pipeline.name))
    beyond = [batch for batch in found if kept_us is not None and batch.end_us <= kept_us]

    def may_run(batch: Interval) -> bool:
        return (kept_us is None or batch.end_us > kept_us) and (inside is None or inside.covers(batch))

    left = [it for it in _left(pipeline, store, what=what) if inside is None or inside.covers(it)]
    _refuse_overtaken(left, may_run=may_run)
    wanted = {batch: rows for batch, rows in found.items() if may_run(batch)}
    _leave_to_others(wanted, left, pending=unfinished(read_ledger(store, pipeline.name)), table=table)
    if beyond and kept_us is not None:
        say(f"left out: {len(beyond):,} older than what `retention` keeps, from {show_instant(kept_us)} on")
    if not wanted and not left:
        where = "" if inside is None else f" of batches in {inside}"
        say(f"nothing to replay: {table} holds no {'other ' if beyond else ''}rows{where}")
        return []
    _refuse_gone(pipeline, store, batches=sorted({*wanted, *left}), table=table, left=left)
    _tell_found(wanted, left, table=table, say=say)
    more: list[Interval] = []
    if what == "quarantine":
        others = [row for row in _published(pipeline, store) if row.batch not in (*found, *left)]
        counting = _that_count_more(arguments, pipeline, store=store, found=found, others=others)
        more = [batch for batch in counting if may_run(batch)]
        _tell_left_out([batch for batch in counting if not may_run(batch)], say=say)
    _refuse_gone(pipeline, store, batches=more, table=table)
    if more:
        say(f"rows now arrive in {many(len(more), 'batch')} more, which run again too")
    # Those that count more come before the others, whose rows tell of them whenever the replay is cut off.
    batches = dict.fromkeys([*left, *more, *sorted(wanted)])
    return [Request(batch=batch, ignore_lateness=what == "late", replays=what) for batch in batches]


def _tell_found(
    wanted: Mapping[Interval, int], left: Sequence[Interval], *, table: str, say: Callable[[str], None]
) -> None:
    if left:
        say(f"batch {left[0]} is unfinished, and comes first")
    if wanted:
        say(f"{table}: {many(sum(wanted.values()), 'row')}, of {many(len(wanted), 'batch')} that run again")


def _tell_left_out(batches: Sequence[Interval], *, say: Callable[[str], None]) -> None:
    """Say in which batches rows arrive now that are not to run again: no table has them until they do."""
    if batches:
        say(
            f"left out: {many(len(batches), 'batch')} in which more rows arrive now, first {batches[0]}: "
            "quarantined ones may be among them, and are in no table until `sash run` has run them again"
        )


def _leave_to_others(
    wanted: dict[Interval, int], left: Sequence[Interval], *, pending: LedgerRow | None, table: str
) -> None:
    """Take out the unfinished batch that no such replay left: it runs for the first time, or as somebody else
    has asked. Raises `WaitForTheBatch` where no other is wanted.
    """
    if pending is None or pending.batch in left or pending.batch not in wanted:
        return
    del wanted[pending.batch]
    if not wanted:
        raise WaitForTheBatch(
            f"batch {pending.batch}, which alone has rows in {table}, is unfinished (its status is "
            f"{pending.status}). Run that one again, or wait until it is done; then say this again"
        )


def _refuse_overtaken(left: Sequence[Interval], *, may_run: Callable[[Interval], bool]) -> None:
    """Raise `ChooseAnotherBatch` where one that is unfinished is older than what `retention` keeps."""
    if not all(map(may_run, left)):
        raise ChooseAnotherBatch(
            f"batch {left[0]}, which a replay left unfinished, is older than what `retention` keeps, and "
            "others wait for it: give it up with `sash abandon`, then say this again"
        )


def _refuse_gone(
    pipeline: Pipeline,
    store: str,
    *,
    batches: Sequence[Interval],
    table: str,
    left: Sequence[Interval] = (),
) -> None:
    """Raise `CorrectTheCall` where a source has such rows in a batch, or counted some, and no file of it any
    more: to run it again would take all those away.
    """
    tables = folder_of(store, pipeline)
    were = {row.batch: sources_of(row.spec_fingerprint) for row in _published(pipeline, store)}
    for batch in batches:
        there = {it.name: has_files(it, batch=batch, home=pipeline.home) for it in pipeline.sources}
        # What was made for windows that are gone is not taken back.
        counting = {it: f" AND event_count > 0 AND {is_asked_for(pipeline, it)}" for it in PARTIALS}
        for name, counted in {table: "", **counting}.items():
            found = counts_in(tables, name, column="source", where=f"{is_batch(batch)}{counted}")
            gone = [source for source in sorted(found) if not there.get(source, False)]
            known = were.get(batch, frozenset())
            if gone and not _goes_by_another_name(gone, there=there, found=found, were=known):
                why = "no file for it any more" if gone[0] in there else "stands in the spec no more"
                raise CorrectTheCall(
                    f"batch {batch} cannot be replayed: source `{gone[0]}` has {many(found[gone[0]], 'row')} "
                    f"of it in {name}, and {why}, so that all it counted would be taken back. Put back what "
                    f"is gone, or {REST[batch in left]}"
                )


def _goes_by_another_name(
    gone: Sequence[str], *, there: Mapping[str, bool], found: Mapping[str, int], were: Collection[str]
) -> bool:
    """Whether one source alone stands in the spec no more, and one alone is new that has files and has
    counted nothing: the rows of the one are read under the name of the other. `were` those there at the time.
    """
    new = [source for source, is_there in there.items() if is_there and source not in (*found, *were)]
    return len(gone) == len(new) == 1 and gone[0] not in there


def _say(line: str) -> None:
    print(line, flush=True)


def _left(pipeline: Pipeline, store: str, *, what: str) -> list[Interval]:
    """The batch that such a replay was at when it was cut off: others wait for it, and the rows by which it
    was found may be gone.

    One that has such rows and that nobody has begun is taken for it too: whoever opened it was killed before
    it could note what was asked for.
    """
    pending = unfinished(read_ledger(store, pipeline.name))
    if pending is None:
        return []
    batch, revision = pending.batch, pending.revision
    if replay_of(what) in wishes_of(store, pipeline.name, batch=batch, revision=revision):
        return [batch]
    if batch not in rows_by_batch(store, pipeline.name, table=TABLES[what]):
        return []
    happened = attempts.read(folder_of(store, pipeline))
    return [] if any(one.what == "begun" and one.is_of(batch, revision) for one in happened) else [batch]


def _published(pipeline: Pipeline, store: str) -> list[LedgerRow]:
    return [row for row in standing(read_ledger(store, pipeline.name)) if row.status == "published"]


def _that_count_more(
    arguments: Arguments,
    pipeline: Pipeline,
    *,
    store: str,
    found: Collection[Interval],
    others: Sequence[LedgerRow],
) -> list[Interval]:
    """Of others than those that have such rows, which read what these do: the batches that count more now."""
    if not count_rows(store, pipeline.name, table="quarantine", where=_lacks_a_time(pipeline)):
        return []
    ingested = {row.batch: row.ingested or 0 for row in others}
    near = reading_beside(pipeline, found, others=ingested)
    if not near:
        return []
    site = Site(session_of(arguments), store, pipeline)
    try:
        return claiming(site, {batch: ingested[batch] for batch in near})
    except Exception as error:
        known = in_words(error, site)
        if known is None:
            raise
        raise known from error


def _lacks_a_time(pipeline: Pipeline) -> str:
    """A predicate on quarantined rows: those that may arrive in another batch once their time is mended."""
    lacking = [f"array_has(rules, '{rule}')" for rule in TIMELESS]
    for source in pipeline.sources:
        if source.arrival_time is None:
            continue
        # Of an expression the record does not tell what it was.
        is_column = re.fullmatch(r"\w+", source.arrival_time) is not None
        is_null = f" AND record ILIKE '%\"{source.arrival_time}\":null%'" if is_column else ""
        lacking.append(f"(source = {text(source.name)}{is_null})")
    return " OR ".join(lacking)
