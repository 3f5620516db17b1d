"""`sash status`: where a pipeline stands, told from its tables alone.

Watermarks are those after the newest published batch, since they take effect when it is published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from pipelines.cli.again import again, place_of, spec_of
from pipelines.cli.arguments import Arguments
from pipelines.cli.place import folder_of, pipeline_of, store_of
from pipelines.cli.substreams import substreams
from pipelines.cli.written import Value, indented, instant, table
from pipelines.errors import CorrectTheCall
from pipelines.intervals import LATEST_US, to_us
from pipelines.spec import Pipeline, changes_between, show_duration, state_fingerprint
from pipelines.store.ledger_rows import COUNTS, LedgerRow, next_batch, standing, unfinished
from pipelines.store.reader import has_ledger, left_over, read_ledger

SHOWN_BATCHES = 10


def status(arguments: Arguments) -> None:
    """Print the page."""
    pipeline = pipeline_of(arguments)
    store = store_of(arguments, pipeline)
    rows = read_ledger(store, pipeline.name)
    print(f"{pipeline.name}, in {folder_of(arguments, pipeline)}")
    for section in _sections(arguments, pipeline, store=store, rows=rows):
        print(f"\n{section}")


def _sections(
    arguments: Arguments, pipeline: Pipeline, *, store: str, rows: Sequence[LedgerRow]
) -> Iterator[str]:
    batches = standing(rows)
    # While a batch is restated, what it published before is in force.
    published = standing([row for row in rows if row.status == "published"])
    if batches:
        yield _ledger(batches)
    if published:
        yield _counts(published)
        yield _watermark(published[-1])
        yield substreams(arguments, pipeline, store=store, batch=published[-1].batch)
        yield from _other_spec(pipeline, max(published, key=lambda row: row.started_at_us or 0))
        # A later stage alone has read nothing.
        read = standing([row for row in rows if row.status == "published" and row.has_read])
        yield from _read_otherwise(pipeline, read)
    yield _what_to_do(arguments, pipeline, store=store, rows=rows)


def _ledger(batches: Sequence[LedgerRow]) -> str:
    headers = ("batch_start", "batch_end", "revision", "status", *COUNTS, "watermark_after")
    listed = [
        [
            instant(row.batch.start_us),
            instant(row.batch.end_us),
            row.revision,
            row.status,
            *[getattr(row, name) for name in COUNTS],
            instant(row.watermark_after_us),
        ]
        for row in batches[-SHOWN_BATCHES:]
    ]
    older = len(batches) - len(listed)
    title = "Batches" if not older else f"The newest {len(listed)} batches, of {len(batches):,}"
    return f"{title}\n{indented(table(headers, listed))}"


def _counts(published: Sequence[LedgerRow]) -> str:
    totals = {name: sum(getattr(row, name) or 0 for row in published) for name in COUNTS}
    told: list[list[Value]] = [
        [name, f"{total:,}", _share(total, totals["ingested"])] for name, total in totals.items()
    ]
    told[-1][-1] = ""
    return f"Rows of all published batches, and panes\n{indented(table(('', 'how many', 'share'), told))}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else ""


def _watermark(row: LedgerRow) -> str:
    if row.watermark_after_us is None:
        return "Watermark: none yet, so no window is due. A source that has not been seen holds it back."
    if row.watermark_after_us == LATEST_US:
        return "Watermark: the final one; everything is closed, and every event that comes is late."
    behind_us = row.batch.end_us - row.watermark_after_us
    place = (
        f"{show_duration(abs(behind_us))} {'behind' if behind_us > 0 else 'ahead of'}" if behind_us else "at"
    )
    return f"Watermark: {instant(row.watermark_after_us)}, {place} the end of the newest batch"


def _other_spec(pipeline: Pipeline, row: LedgerRow) -> Iterator[str]:
    found = changes_between(row.spec_fingerprint, state_fingerprint(pipeline))
    if found.problems:
        yield "The spec has changed in a way that the tables cannot serve:\n" + indented(
            "\n".join(found.problems)
        )
    elif found.new_windows:
        names = ", ".join(found.new_windows)
        kept = pipeline.retention.frames_us is not None
        beyond = "; it is refused where they ask for some beyond `retention`, unless they say `from`"
        yield (
            "The spec has windows that are new or of another shape, which the next run computes from the "
            f"frames that there are: {names}{beyond if kept else ''}"
        )


def _read_otherwise(pipeline: Pipeline, read: Sequence[LedgerRow]) -> Iterator[str]:
    now = state_fingerprint(pipeline)
    found = [changes_between(row.spec_fingerprint, now).read_otherwise for row in read]
    whats = sorted({f"`{what}` of source `{source}`" for changed in found for source, what in changed})
    if whats:
        batches = sum(1 for changed in found if changed)
        yield (
            f"Of {len(read):,} batches {batches:,} ran while {', '.join(whats)} said something else, "
            "and stay as they were; `sash run … --rebuild` computes all anew"
        )


def _what_to_do(arguments: Arguments, pipeline: Pipeline, *, store: str, rows: Sequence[LedgerRow]) -> str:
    pending = unfinished(rows)
    left = [] if rows else left_over(store, pipeline.name)
    if left and not has_ledger(store, pipeline.name):
        return (
            f"There are rows in {', '.join(left)}, but the ledger, the table runs, is gone: put back a copy "
            "of the pipeline's folder; without one, compute all anew with `sash run "
            f"{spec_of(arguments)}{place_of(arguments)} --rebuild`, with the batches that there were"
        )
    if left:
        return (
            f"No batch has run, but there are rows in {', '.join(left)}: the pipeline is being rebuilt, or a "
            "rebuild was cut off. If nobody is at it, say it again: `sash run "
            f"{spec_of(arguments)}{place_of(arguments)} --rebuild`, with the batches that it was for"
        )
    if pending is None:
        return _next(arguments, pipeline, rows=rows)
    command = again(arguments, pipeline, pending=pending)
    match pending.status:
        case "running":
            told = (
                f"is running since {instant(pending.started_at_us)}. If nothing runs "
                f"it any more, run it again: {command}"
            )
        case "stopped":
            failed = f"NOT success AND batch_start = '{instant(pending.batch.start_us)}'"
            told = (
                f'was stopped by a check: `sash show {spec_of(arguments)} checks --where "{failed}"'
                f"{place_of(arguments)}` tells which. Correct the data or the expectation, then run it "
                f"again: {command}"
            )
        case _:
            told = f"has failed; what it wrote needs no repair. Run it again: {command}"
    return f"Unfinished: batch {pending.batch} {told}. Other batches wait for it."


def _next(arguments: Arguments, pipeline: Pipeline, *, rows: Sequence[LedgerRow]) -> str:
    try:
        batch = next_batch(rows, pipeline)
    except CorrectTheCall as nowhere:
        return f"Next: {nowhere}"
    command = f"`sash run {spec_of(arguments)}{place_of(arguments)}`"
    if batch.end_us > to_us(datetime.now(UTC)):
        return f"Next: batch {batch}, with {command} once it has ended"
    return f"Next: batch {batch}, with {command}"
