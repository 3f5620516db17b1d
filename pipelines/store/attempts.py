"""The attempts at the batch that is being run: who writes for it, and what each has done.

Numbers only rise. The table holds one batch's attempts at a time: opening another batch clears it, since
what was there is done, and so does giving the batch up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from pipelines.intervals import EARLIEST_US, Interval
from pipelines.store import small
from pipelines.store.history import versions
from pipelines.store.ledger_rows import OPENING
from pipelines.store.tables import Folder

What = Literal["begun", "noted", "finished"]
BEGUN: tuple[What, ...] = ("begun",)
BEGUN_AND_NOTED: tuple[What, ...] = ("begun", "noted")
NO_BATCH = Interval(EARLIEST_US, EARLIEST_US + 1)
"""Of a number that is taken and is of no batch: of whoever empties all tables, beside which no attempt at any
batch stays, and of what has ended since it changed nothing.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Something that happened in an attempt: it was begun, it noted something, or it finished a stage.

    A stage of `None` is all of them, a source of `None` likewise. `at_us` is when, by the ledger's clock. The
    counts of the first that was begun at a revision are the versions that all tables had then.
    """

    attempt: int
    batch: Interval
    revision: int
    what: What
    stage: str | None = None
    source: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    at_us: int

    @classmethod
    def begun(
        cls, batch: Interval, revision: int, *, stage: str | None, source: str | None, at_us: int
    ) -> Attempt:
        """One that has no number yet."""
        return cls(
            attempt=0, batch=batch, revision=revision, what="begun", stage=stage, source=source, at_us=at_us
        )

    def meets(self, other: Attempt) -> bool:
        """Whether both write in the same lanes."""
        if OPENING in (self.stage, other.stage):
            return False
        if self.stage is None or other.stage is None:
            return True
        return (self.stage, self.source) == (other.stage, other.source)

    def is_of(self, batch: Interval, revision: int) -> bool:
        return (self.batch, self.revision) == (batch, revision)


def begin(
    store: Folder,
    begun: Attempt,
    *,
    still_open: small.Asks,
    over: int = 0,
    wishes: Mapping[str, int] | None = None,
) -> tuple[Attempt, bool]:
    """Take the next number, unless `still_open` raises: whoever slept since it opened the batch may find
    that others have ended it. The first at a revision writes down which versions the tables have; what
    attempts up to the number `over` say of them is of a run that has ended. With the number goes what was
    asked for beside the batch, its `wishes`, if others were asked for before.

    Also tells whether an earlier attempt at the batch may have written in the same lanes.
    """

    def commit() -> tuple[Attempt, bool]:
        opened = small.open_table(store, "attempts")
        stored = [_of(row) for row in small.read(opened)]
        of_batch = [one for one in stored if one.batch == begun.batch]
        earlier = [left for one in of_batch for left in _left_of(one, begun, over=over)]
        is_first = _first(earlier, begun.batch, revision=begun.revision) is None
        mine = replace(begun, attempt=_highest(stored) + 1, counts=versions(store) if is_first else {})
        noted = replace(mine, what="noted", stage=OPENING, source=None, counts=wishes or {})
        is_news = wishes is not None and wishes != _wished(earlier, revision=begun.revision)
        new = [mine, noted] if is_news else [mine]
        # Asked between reading and writing: if the batch is ended after this, the write fails.
        still_open()
        if earlier == stored:
            small.append(opened, map(_row, new))
        else:
            small.overwrite(opened, map(_row, (*earlier, *new)))
        met = [one for one in earlier if one.batch == begun.batch and one.what == "begun" and one.meets(mine)]
        return mine, bool(met)

    return small.retried(commit, "attempts")


def _left_of(one: Attempt, begun: Attempt, *, over: int) -> Iterator[Attempt]:
    """What counts of what happened before: that a run which has ended was begun, and what it finished, if it
    ended since it changed nothing and was killed before it was forgotten.
    """
    if one.revision != begun.revision or one.attempt > over:
        yield one
    elif one.what == "begun":
        yield replace(one, counts={})
    elif one.what == "finished" and begun.revision:
        yield replace(one, revision=begun.revision - 1)


def _wished(attempts: Iterable[Attempt], *, revision: int) -> Mapping[str, int]:
    """What the newest attempt at a revision was asked for beside the batch."""
    noted = [one for one in attempts if (one.what, one.stage, one.revision) == ("noted", OPENING, revision)]
    newest = max(noted, key=lambda one: (one.attempt, one.at_us), default=None)
    return {} if newest is None else newest.counts


def highest(store: Folder) -> int:
    """The number of the newest attempt."""
    return _highest(read(store))


def _highest(attempts: Iterable[Attempt]) -> int:
    return max((one.attempt for one in attempts), default=0)


def first_of(store: Folder, batch: Interval, *, revision: int) -> Attempt | None:
    """The first attempt at a revision, whose counts are the versions of the tables before it.

    `None`: there is none, or it does not say.
    """
    return _first(read(store), batch, revision=revision)


def _first(attempts: Iterable[Attempt], batch: Interval, *, revision: int) -> Attempt | None:
    begun = [one for one in attempts if one.what == "begun" and one.is_of(batch, revision)]
    return next((one for one in begun if one.counts), None)


def say_versions(
    store: Folder,
    changed: Mapping[str, int | None] | None,
    *,
    of: Attempt | None = None,
    still_so: small.Asks = small.certainly,
) -> None:
    """Let attempts say these versions of tables, which have been made anew under them, or of a table none,
    unless `still_so` raises; `None`: none at all, for the tables are others. `of`: only those at its revision
    until it began, for others may have begun one since.
    """

    def said(one: Attempt) -> Attempt:
        is_older = of is None or (one.is_of(of.batch, of.revision) and one.attempt <= of.attempt)
        if one.what != "begun" or not one.counts or not is_older:
            return one
        told = {} if changed is None else {**one.counts, **changed}
        return replace(one, counts={table: at for table, at in told.items() if at is not None})

    def commit() -> None:
        opened = small.open_table(store, "attempts")
        # Asked between reading and writing: if others begin after this, the write fails.
        still_so()
        small.overwrite(opened, [_row(said(_of(row))) for row in small.read(opened)])

    small.retried(commit, "attempts")


def forget(store: Folder, mine: Attempt, *, stands: int | None) -> None:
    """Let it be as if nobody had begun what `mine` has ended. Where that changed nothing, all attempts at the
    revision go, and what they finished is told of the one that `stands`: the tables hold the same. With
    `None` others may be at work, and `mine` alone goes. The number stays taken.
    """

    def commit() -> None:
        opened = small.open_table(store, "attempts")
        everything = [_of(row) for row in small.read(opened)]
        first = None if stands is None else _first(everything, mine.batch, revision=mine.revision)
        since = mine.attempt if first is None else first.attempt
        taken = replace(mine, batch=NO_BATCH, revision=0, stage=OPENING, source=None)
        left = [it for one in everything for it in _forgotten(one, mine, since=since, stands=stands)]
        small.overwrite(opened, map(_row, (*left, taken)))

    small.retried(commit, "attempts")


def _forgotten(one: Attempt, mine: Attempt, *, since: int, stands: int | None) -> Iterator[Attempt]:
    is_gone = one.is_of(mine.batch, mine.revision) and since <= one.attempt <= mine.attempt
    if not is_gone:
        yield one
    elif one.what == "finished" and stands is not None:
        yield replace(one, revision=stands)


def void(store: Folder, *, kept: Collection[What], until: int, if_newest: bool = False) -> None:
    """Let nothing count that attempts up to the number `until` have done: it is gone, or was for another
    spec. `if_newest`: unless others have begun since, who may go on from there.

    That they have begun is always `kept`: they may have left rows, which whoever comes next replaces. What
    they noted of these rows is kept where the rows are.
    """

    def commit() -> None:
        opened = small.open_table(store, "attempts")
        everything = [_of(row) for row in small.read(opened)]
        if not (if_newest and _are_at_work(everything, since=until)):
            counts = [one for one in everything if one.what in kept or one.attempt > until]
            small.overwrite(opened, map(_row, counts))

    small.retried(commit, "attempts")


def add(store: Folder, attempt: Attempt, *, still_so: small.Asks) -> None:
    """Write down what happened in an attempt, unless `still_so` raises."""

    def commit() -> None:
        opened = small.open_table(store, "attempts")
        # Asked between reading and writing: if the attempts are voided after this, the write fails.
        still_so()
        small.append(opened, [_row(attempt)])

    small.retried(commit, "attempts")


def read(store: Folder) -> list[Attempt]:
    """All that happened at the batch that is being run, oldest attempt first."""
    rows = small.read(small.open_table(store, "attempts"))
    return sorted((_of(row) for row in rows), key=lambda one: (one.attempt, one.at_us))


def is_taken_over(store: Folder, mine: Attempt) -> bool:
    """Whether a newer attempt writes in the same lanes, or the batch is done."""
    everything = read(store)
    begun = [one for one in everything if one.what == "begun"]
    is_known = any(one.attempt == mine.attempt and one.is_of(mine.batch, mine.revision) for one in begun)
    return not is_known or any(one.attempt > mine.attempt and one.meets(mine) for one in begun)


def has_newer(store: Folder, mine: Attempt) -> bool:
    """Whether anybody has begun since to do something at the batch, in whatever lane."""
    return _are_at_work(read(store), since=mine.attempt)


def _are_at_work(attempts: Iterable[Attempt], *, since: int) -> bool:
    return any(one.what == "begun" and one.attempt > since and one.stage != OPENING for one in attempts)


def _row(one: Attempt) -> small.Values:
    return {
        "attempt": one.attempt,
        "batch_start": one.batch.start_us,
        "batch_end": one.batch.end_us,
        "revision": one.revision,
        "what": one.what,
        "stage": one.stage,
        "source": one.source,
        "counts": one.counts,
        "seconds": one.seconds,
        "at": one.at_us,
    }


def _of(row: small.Values) -> Attempt:
    return Attempt(
        attempt=cast(int, row["attempt"]),
        batch=Interval(cast(int, row["batch_start"]), cast(int, row["batch_end"])),
        revision=cast(int, row["revision"]),
        what=cast(What, row["what"]),
        stage=cast(str | None, row["stage"]),
        source=cast(str | None, row["source"]),
        counts=dict(cast(Mapping[str, int], row["counts"] or {})),
        seconds=cast(float, row["seconds"]),
        at_us=cast(int, row["at"]),
    )
