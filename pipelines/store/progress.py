"""How far a run has come: what the attempts at it have begun, noted and finished."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from pipelines.intervals import Interval
from pipelines.spec import sources_of
from pipelines.store import attempts
from pipelines.store.attempts import Attempt, What
from pipelines.store.ledger import Run, now_us, still_mine, still_of_this_spec
from pipelines.store.tables import Folder

CHANGED = "changed"
"""What is noted of a batch that ran before, where something of it counts otherwise now."""
MOVED = "moved"
"""What is noted of it where its substreams stand otherwise."""
TOLD = "told"
"""What is noted of it where they would, only because older batches have told of substreams since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What an attempt did at a stage, of one source or of all."""

    stage: str
    source: str | None
    counts: Mapping[str, int]
    seconds: float = 0.0


def finish_stage(store: Folder, run: Run, *, done: Done) -> None:
    """Write down what a stage did. Raises `WaitForTheBatch` if the attempt has been taken over meanwhile,
    `RunAgain` if the batch goes on under another spec.
    """
    _write_down(store, run, what="finished", done=done)


def note(store: Folder, run: Run, *, done: Done) -> None:
    """Write down what a later attempt at the same revision has to know, whether or not this one ends well.

    Raises as `finish_stage` does.
    """
    _write_down(store, run, what="noted", done=done)


def noted(store: Folder, run: Run, *, name: str) -> int:
    """The sum of a count over what, at each stage and source of the run, the newest attempt has noted that
    has noted anything. Whoever stands for a source that is gone from the spec has noted what changed by that.
    """
    notes = _notes(store, run)
    sources = (None, *sources_of(run.fingerprint))
    newest = {(one.stage, one.source): one.attempt for one in notes if one.source in sources}
    last = [one for one in notes if one.attempt == newest.get((one.stage, one.source))]
    return sum(one.counts.get(name, 0) for one in last)


def ever_noted(store: Folder, run: Run, *, name: str) -> bool:
    """Whether an attempt at this revision, the newest or one before it, has noted a count above zero."""
    return any(one.counts.get(name, 0) for one in _notes(store, run))


def begun_stages(store: Folder, run: Run) -> list[Attempt]:
    """What other attempts at this revision have begun, ended or not; a stage of `None` is all of them. Those
    before the first that says which versions the tables had are of a run that has ended.
    """
    of_run = [one for one in attempts.read(store) if one.is_of(run.batch, run.revision)]
    first = attempts.first_of(store, run.batch, revision=run.revision)
    since = 0 if first is None else first.attempt
    others = [one for one in of_run if one.attempt >= since and one.attempt != run.begun.attempt]
    return [one for one in others if one.what == "begun"]


def begun_sources(store: Folder, run: Run) -> set[str]:
    """The sources that attempts at the batch have begun to accumulate, one by one."""
    return {
        one.source
        for one in attempts.read(store)
        if one.batch == run.batch and one.what == "begun" and one.source is not None
    }


def is_newest(store: Folder, run: Run) -> bool:
    """Whether nobody has begun anything since this attempt began."""
    return all(one.attempt <= run.begun.attempt for one in attempts.read(store))


def void_attempts(store: Folder, run: Run) -> None:
    """Let nothing count that has been done at the batch, unless somebody has gone on with it."""
    attempts.void(store, kept=attempts.BEGUN, until=run.begun.attempt, if_newest=True)


def stages_before(store: Folder, run: Run) -> list[Attempt]:
    """What was last done at each stage and source when the batch ran before, be it in several runs; nothing
    if it has not.
    """
    before = run.opening.before
    return _finished(store, run.batch, revisions=range(0 if before is None else before.revision + 1))


def finished_stages(store: Folder, run: Run) -> list[Attempt]:
    """What the newest attempt at each stage and source of the run did."""
    return _finished(store, run.batch, revisions=[run.revision])


def _notes(store: Folder, run: Run) -> list[Attempt]:
    """What has been noted at this revision, oldest first."""
    of_run = [one for one in attempts.read(store) if one.is_of(run.batch, run.revision)]
    return [one for one in of_run if one.what == "noted"]


def _finished(store: Folder, batch: Interval, *, revisions: Collection[int]) -> list[Attempt]:
    of_runs = [one for one in attempts.read(store) if one.batch == batch and one.revision in revisions]
    return list({(one.stage, one.source): one for one in of_runs if one.what == "finished"}.values())


def _write_down(store: Folder, run: Run, *, what: What, done: Done) -> None:
    happened = replace(run.begun, what=what, stage=done.stage, source=done.source, at_us=now_us())

    def still_so() -> None:
        still_mine(store, run)
        still_of_this_spec(store, run)

    attempts.add(store, replace(happened, counts=done.counts, seconds=done.seconds), still_so=still_so)
