"""The stage `publish`: panes become windows, and the ledger says that the batch is done.

`windows` is what `panes` adds up to: the last insert of each window, unless it was retracted since.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.finalise import RESULT_BOUNDS, finished
from pipelines.intervals import LATEST_US, from_us
from pipelines.spec import Pipeline
from pipelines.stages.adding_up import Firsts, first_panes, hold_to_panes
from pipelines.stages.before import put_back
from pipelines.stages.combining import accumulated
from pipelines.stages.concerned import all_states, concerned, groups_of
from pipelines.stages.gates import take_back
from pipelines.stages.lines import many
from pipelines.stages.same_again import FATES, has_rows_alike
from pipelines.stages.site import Work
from pipelines.stages.told import of_run
from pipelines.stages.watermarks import watermark_of
from pipelines.store import small
from pipelines.store.asked import as_instant, day_of
from pipelines.store.copies import Stored, copy, may_copy
from pipelines.store.fence import Fence
from pipelines.store.ledger import close_run, forget, now_us, still_mine
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.progress import CHANGED, MOVED, ever_noted, finished_stages, noted
from pipelines.store.sql import text
from pipelines.store.writes import Place, append, days_of, merge
from pipelines.windows import closes_us

Counts = dict[str, int]


def publish_batch(work: Work) -> Counts:
    """Bring `windows` up to the panes of the batch and close it in the ledger.

    Returns the counts of the whole run.
    """
    started = time.monotonic()
    panes = work.tables.read("panes").where(of_run(work))
    # This attempt may publish fewer.
    put_back(work, "windows")
    firsts = first_panes(work)
    windows = _bring_up(work, _with_whole_values(work, panes), firsts=firsts)
    hold_to_panes(work, all_first=firsts.panes > 0)
    counts, stages = accumulated(work), finished_stages(work.tables, work.run)
    told = sum(sum(one.counts.values()) for one in stages if one.stage == "finalise")
    whole = {name: counts[name] for name in FATES} | {"panes": told, "windows": windows}
    still_mine(work.tables, work.run)
    row = _final_row(work, counts=whole, seconds=time.monotonic() - started)
    if _changed_nothing(work, row=row):
        take_back(work)
        forget(work.tables, work.run)
    else:
        _warn_of_more_late(work, whole["late"])
        close_run(work.tables, work.run, row=row)
    return whole


def _warn_of_more_late(work: Work, late: int) -> None:
    """Say where more events are late than when the batch last ran, as after a replay of late ones."""
    before = work.run.opening.before
    then = 0 if before is None else before.late or 0
    if before is not None and late > then:
        work.warned.append(
            f"{many(late, 'late event')} in batch {work.batch}, and {then:,} when it last ran: it is judged "
            "by its watermark, whatever was ignored then. `sash replay SPEC late` takes them in"
        )


def _bring_up(work: Work, panes: DataFrame, *, firsts: Firsts) -> int:
    """Put the windows that panes add up to in their place; returns how many were put or taken away."""
    fence = work.run.fence("windows")
    if not firsts.told:
        # Lest an attempt that was taken over, and told of some, writes them when it wakes up.
        small.say_written(work.tables, "windows", fence=fence)
        return 0
    if firsts.panes and work.run.is_first:
        # Nothing to look for in the table: a fifth of the time that a merge takes.
        _append(work, panes, days=firsts.days, fence=fence)
        return firsts.panes
    added = added_up(panes, work.pipeline).persist()
    on = (*work.pipeline.key, *RESULT_BOUNDS)
    windows = merge(
        work.tables,
        "windows",
        rows=added,
        place=Place(on=on, days=days_of(added, "window_start")),
        fence=fence,
    )
    added.unpersist()
    return windows


def _append(work: Work, panes: DataFrame, *, days: int, fence: Fence) -> None:
    rows = Stored("panes", day=from_us(work.batch.start_us).date(), where=of_run(work))
    tells_all = all(window.panes.mode != "discarding" for window in work.pipeline.windows)
    if tells_all and may_copy(work.tables, rows, days=days):
        columns = {"closes_at": _closes_at_sql(work.pipeline), "day": day_of("window_start")}
        copy(work.tables, "windows", rows=rows, columns=columns, fence=fence)
    else:
        closing = panes.withColumn("closes_at", _closes_at(work.pipeline))
        append(work.tables, "windows", rows=closing, fence=fence, days=days)


def _with_whole_values(work: Work, panes: DataFrame) -> DataFrame:
    """Panes with the whole value of their window, where its mode lets them carry only the news."""
    pipeline = work.pipeline
    names = [window.name for window in pipeline.windows if window.panes.mode == "discarding"]
    groups = [group for group in groups_of(work) if group.is_about(names)] if names else []
    if not groups:
        return panes
    states = all_states([concerned(work, group) for group in groups]).where(F.col("window").isin(names))
    results = [*[aggregate.name for aggregate in pipeline.aggregates], "event_count"]
    place = (*pipeline.key, *RESULT_BOUNDS)
    whole = finished(states, pipeline).select(
        *[F.col(name).alias(f"_of_{name}") for name in place], F.struct(*results).alias("_whole")
    )
    same = [F.col(name).eqNullSafe(F.col(f"_of_{name}")) for name in place]
    beside = panes.join(whole, on=reduce(and_, same), how="left")
    is_whole = (F.col("kind") == "insert") & F.col("_whole").isNotNull()
    values = {name: F.when(is_whole, F.col(f"_whole.{name}")).otherwise(F.col(name)) for name in results}
    return beside.withColumns(values).select(*panes.columns)


def added_up(panes: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The windows that panes of one run add up to; one that was only retracted has no events."""
    bounds = (*pipeline.key, "window", "window_start", "window_end")
    results = [aggregate.name for aggregate in pipeline.aggregates]
    said = (*results, "event_count", "kind", "timing", "pane_index", "batch_start", "batch_end", "revision")
    order = F.struct(F.col("pane_index"), (F.col("kind") == "insert").alias("inserts"))
    last = panes.groupBy(*bounds).agg(F.max_by(F.struct(*said), order).alias("_last"))
    stands = F.when(F.col("_last.kind") == "insert", F.col("_last.event_count")).otherwise(F.lit(0))
    others = [F.col(f"_last.{name}").alias(name) for name in said if name not in ("event_count", "kind")]
    return last.select(*bounds, *others, stands.alias("event_count"), _closes_at(pipeline).alias("closes_at"))


def _closes_at(pipeline: Pipeline) -> Column:
    closes = F.lit(None).cast("bigint")
    for window in pipeline.windows:
        end_us = F.coalesce(F.unix_micros("window_end"), F.lit(LATEST_US))
        at_us = closes_us(end_us, window.allowed_lateness_us)
        closes = F.when(F.col("window") == window.name, at_us).otherwise(closes)
    return F.timestamp_micros(closes)


def _closes_at_sql(pipeline: Pipeline) -> str:
    """The same for delta-rs."""
    latenesses = " ".join(
        f"WHEN {text(window.name)} THEN {window.allowed_lateness_us}" for window in pipeline.windows
    )
    end_us = f'coalesce(CAST("window_end" AS BIGINT), {LATEST_US})'
    at_us = f'least({end_us} + CASE "window" {latenesses} END, {LATEST_US})'
    return as_instant(at_us)


def _final_row(work: Work, *, counts: Counts, seconds: float) -> LedgerRow:
    """The row of a batch that is done; `seconds` are those of this stage, those of the others are noted."""
    of_stages = {"publish": round(seconds, 3)}
    for one in finished_stages(work.tables, work.run):
        if one.stage is not None:
            of_stages[one.stage] = round(of_stages.get(one.stage, 0.0) + one.seconds, 3)
    finished_at_us = now_us()
    opened = work.run.opening.row(
        fingerprint=work.run.fingerprint, started_at_us=work.run.opening.started_at_us or finished_at_us
    )
    return replace(
        opened,
        status="published",
        ingested=counts["ingested"],
        accepted=counts["accepted"],
        late=counts["late"],
        quarantined=counts["quarantined"],
        duplicates=counts["duplicates"],
        panes=counts["panes"],
        watermark_after_us=watermark_of(work),
        finished_at_us=finished_at_us,
        stage_seconds=of_stages,
    )


def _changed_nothing(work: Work, *, row: LedgerRow) -> bool:
    """Whether a batch that had run was run again with the same outcome."""
    before = work.run.opening.before
    if before is None or row.panes or any(noted(work.tables, work.run, name=it) for it in (CHANGED, MOVED)):
        return False
    was_another_spec = before.spec_fingerprint != row.spec_fingerprint
    if was_another_spec and any(ever_noted(work.tables, work.run, name=it) for it in (CHANGED, MOVED)):
        # Of windows that are gone, other rows may be left, or none; also where a source was called otherwise.
        return False
    counts = {name: getattr(row, name) for name in FATES}
    return before.watermark_after_us == row.watermark_after_us and has_rows_alike(work, counts)
