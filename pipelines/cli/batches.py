"""Which batches a command line means, and whether somebody has said that all of it may be done."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from pipelines.cli.arguments import Arguments
from pipelines.cli.written import bounds, instant
from pipelines.errors import CorrectTheCall
from pipelines.intervals import Interval, cut, to_us
from pipelines.spec import Pipeline, parse_duration, parse_instant, state_fingerprint
from pipelines.store.ledger_rows import is_begun, next_batch, overlapping
from pipelines.store.opening import opening_of
from pipelines.store.reader import read_ledger

MOST_BATCHES = 100_000
"""Eleven years by the hour, and ten weeks by the minute."""


def batches_of(arguments: Arguments, pipeline: Pipeline, *, store: str) -> tuple[Interval, ...]:
    """The batches to run, in order: those of the interval, or the next one."""
    every_us = None if arguments.every is None else duration_of(arguments.every, "--every")
    whole = interval_of(arguments)
    if whole is not None:
        return (whole,) if every_us is None else _cut(whole, every_us, written=arguments.every)
    if every_us is not None:
        raise CorrectTheCall(
            "--every cuts an interval into batches, and none was given: say --from and --to too"
        )
    return (_next_that_has_ended(pipeline, store),)


def _cut(whole: Interval, every_us: int, *, written: str | None) -> tuple[Interval, ...]:
    """The batches of an interval. Raises `CorrectTheCall` where there are more than anybody means."""
    batches = -(-(whole.end_us - whole.start_us) // every_us)
    if batches > MOST_BATCHES:
        raise CorrectTheCall(
            f"--every {written} cuts {whole} into {batches:,} batches; allowed are {MOST_BATCHES:,} at once: "
            "say a longer one, or an interval that is shorter"
        )
    return tuple(cut(whole, every_us))


def interval_of(arguments: Arguments) -> Interval | None:
    """What --from and --to say; `None` when both are left out."""
    if arguments.since is None and arguments.until is None:
        return None
    if arguments.since is None or arguments.until is None:
        given, missing = ("--to", "--from") if arguments.since is None else ("--from", "--to")
        raise CorrectTheCall(f"{given} was given without {missing}: say both, or neither")
    start_us, end_us = instant_of(arguments.since, "--from"), instant_of(arguments.until, "--to")
    if start_us >= end_us:
        raise CorrectTheCall(
            f"--from {arguments.since} is not before --to {arguments.until}: "
            "a batch is [from, to), and never empty"
        )
    return Interval(start_us, end_us)


def instant_of(written: str, option: str) -> int:
    """The instant that an option says, in microseconds."""
    try:
        return parse_instant(written)
    except ValueError as error:
        raise CorrectTheCall(f"{option}: {error}") from error


def duration_of(written: str, option: str) -> int:
    """The duration that an option says, in microseconds and longer than none."""
    try:
        length_us = parse_duration(written)
    except ValueError as error:
        raise CorrectTheCall(f"{option}: {error}") from error
    if length_us == 0:
        raise CorrectTheCall(f"{option}: found `{written}`; allowed is a length above zero, like `1 hour`")
    return length_us


def described(pipeline: Pipeline, store: str, *, batch: Interval) -> str:
    """The batch, and what its running means beside those that have run."""
    overlap = overlapping(read_ledger(store, pipeline.name), batch)
    match overlap.kind:
        case "same":
            return f"{batch}, again"
        case "older":
            return f"{batch}, older than the newest: a restatement"
        case "covers":
            return f"{batch}, in the place of {len(overlap.others)}"
        case _:
            return str(batch)


def confirm_final(pipeline: Pipeline, batches: Sequence[Interval], *, yes: bool) -> None:
    """Ask whether everything may be closed, unless that has been said. Raises if it may not."""
    _confirm(
        "--final",
        f"closes every window of {pipeline.name} after batch {batches[-1]}: every event that comes "
        "later is late",
        yes=yes,
    )


def refuse_rebuild_without_bounds(arguments: Arguments) -> None:
    """Raise `CorrectTheCall` where nobody said from where to where to begin anew."""
    if arguments.since is None:
        raise CorrectTheCall("--rebuild begins anew: say from where to where, with --from and --to")


def confirm_rebuild(pipeline: Pipeline, *, yes: bool) -> None:
    """Ask whether all tables may be emptied, unless that has been said. Raises if they may not.

    Where nobody can be asked it is said already: that the option stands in a script is no slip of the hand.
    """
    what = f"empties all tables of {pipeline.name} and begins anew with these batches"
    _confirm("--rebuild", what, yes=yes or not _is_anybody_there())


def _confirm(option: str, what: str, *, yes: bool) -> None:
    if yes:
        return
    if not _is_anybody_there():
        raise CorrectTheCall(f"{option} {what}: nobody can be asked here, so say --yes too")
    print(f"{option} {what}. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CorrectTheCall(f"nothing was run: {option} was not confirmed")


def _is_anybody_there() -> bool:
    # There is no input at all where a shell has closed it.
    return sys.stdin is not None and sys.stdin.isatty()


def _next_that_has_ended(pipeline: Pipeline, store: str) -> Interval:
    rows = read_ledger(store, pipeline.name)
    batch = next_batch(rows, pipeline)
    if batch.end_us > to_us(datetime.now(UTC)) and not is_begun(rows, batch):
        # If it could not run anyway, that is to be told.
        opening_of(rows, batch, fingerprint=state_fingerprint(pipeline), replace=False)
        raise CorrectTheCall(
            f"the next batch has not ended yet: rows arrive for it until {instant(batch.end_us)}. Run "
            f"it after that, or name it to run it all the same: {bounds(batch)}"
        )
    return batch
