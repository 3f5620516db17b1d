"""The rows of the ledger as plain values, and what they say about a batch.

A row that was abandoned does not count; of the others the one with the highest revision stands for its batch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from pipelines.errors import CorrectTheCall
from pipelines.intervals import LATEST_US, Interval, floor_to, show_instant
from pipelines.spec.model import Pipeline

Status = Literal["running", "published", "stopped", "failed", "abandoned"]
Value = str | int | None | Mapping[str, float]

INSTANTS = ("watermark_before", "watermark_after", "started_at", "finished_at")
OPENING = "open"
"""The stage of an attempt that opens a batch and writes nothing in it; what is noted there was asked for."""
HOW = "from where to where: with --from and --to, or in Airflow by the params `from` and `to`"
COUNTS = ("ingested", "accepted", "late", "quarantined", "duplicates", "panes")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One row of the table `runs`: a revision of a batch. What a run has not come to yet is `None`."""

    batch: Interval
    revision: int
    status: Status
    spec_fingerprint: str
    ingested: int | None = None
    accepted: int | None = None
    late: int | None = None
    quarantined: int | None = None
    duplicates: int | None = None
    panes: int | None = None
    watermark_before_us: int | None = None
    watermark_after_us: int | None = None
    started_at_us: int | None = None
    finished_at_us: int | None = None
    stage_seconds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> LedgerRow:
        """The row with these columns of `runs`; instants are microseconds."""
        numbers = {name: cast(int | None, values[name]) for name in (*INSTANTS, *COUNTS)}
        return cls(
            batch=Interval(cast(int, values["batch_start"]), cast(int, values["batch_end"])),
            revision=cast(int, values["revision"]),
            status=cast(Status, values["status"]),
            spec_fingerprint=cast(str, values["spec_fingerprint"]),
            **{name: numbers[name] for name in COUNTS},
            **{f"{name}_us": numbers[name] for name in INSTANTS},
            stage_seconds=dict(cast(Mapping[str, float], values["stage_seconds"] or {})),
        )

    @property
    def ran(self) -> bool:
        """Whether it has run, or does: what was given up before it was done has not."""
        return self.status != "abandoned" or self.finished_at_us is not None

    @property
    def has_read(self) -> bool:
        """Whether its run accumulated: a later stage alone may begin a revision, of what was read before."""
        return self.revision == 0 or "accumulate" in self.stage_seconds

    def values(self) -> dict[str, Value]:
        """The columns of `runs`, instants as microseconds: what `of` takes."""
        return {
            "batch_start": self.batch.start_us,
            "batch_end": self.batch.end_us,
            "revision": self.revision,
            "status": self.status,
            "spec_fingerprint": self.spec_fingerprint,
            **{name: getattr(self, name) for name in COUNTS},
            **{name: getattr(self, f"{name}_us") for name in INSTANTS},
            "stage_seconds": self.stage_seconds,
        }

    @property
    def is_unfinished(self) -> bool:
        return self.status in ("running", "stopped", "failed")


def standing(rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """The row that stands for each batch, in the order of the batches."""
    by_batch: dict[Interval, LedgerRow] = {}
    for row in rows:
        if row.status == "abandoned":
            continue
        known = by_batch.get(row.batch)
        if known is None or known.revision < row.revision:
            by_batch[row.batch] = row
    return [by_batch[batch] for batch in sorted(by_batch)]


def have_gone(seen: Iterable[LedgerRow], rows: Iterable[LedgerRow]) -> bool:
    """Whether batches that had been published when somebody looked are in the ledger no more: all has been
    emptied since.
    """
    now = {(row.batch, row.revision, row.started_at_us) for row in rows}
    return any(
        row.status == "published" and (row.batch, row.revision, row.started_at_us) not in now for row in seen
    )


def unfinished(rows: Iterable[LedgerRow]) -> LedgerRow | None:
    """The batch that other batches wait for, if there is one."""
    return next((row for row in standing(rows) if row.is_unfinished), None)


def is_of_another_spec(rows: Iterable[LedgerRow], fingerprint: str) -> bool:
    """Whether there is a batch to go on with that was begun under another spec."""
    pending = unfinished(rows)
    return pending is not None and pending.spec_fingerprint != fingerprint


def newest(rows: Iterable[LedgerRow]) -> LedgerRow | None:
    """The batch that ends last, published or not."""
    return max(standing(rows), key=lambda row: row.batch.end_us, default=None)


def is_begun(rows: Iterable[LedgerRow], batch: Interval) -> bool:
    """Whether a batch is the unfinished one: it is gone on with, also before its end."""
    pending = unfinished(rows)
    return pending is not None and pending.batch == batch


def next_batch(rows: Iterable[LedgerRow], pipeline: Pipeline) -> Interval:
    """The batch to run when none is named.

    It is the one after the newest, or the newest itself if that has stopped or failed. One that is running is
    left to whoever runs it. Raises `CorrectTheCall` when nothing says where to begin, or nothing comes after.
    """
    last = newest(rows)
    if last is None:
        if pipeline.schedule is None:
            raise CorrectTheCall(
                f"no batch of pipeline `{pipeline.name}` has run, and its spec has no `schedule: "
                f"{{start: …}}` to begin at: say which batch to run, {HOW}"
            )
        return _batch_at(pipeline.schedule.start_us, pipeline)
    if last.status in ("stopped", "failed"):
        return last.batch
    return _batch_at(last.batch.end_us, pipeline)


def _batch_at(start_us: int, pipeline: Pipeline) -> Interval:
    """The batch from there on. With a schedule it leads to the next point of its grid, as the DAG's timetable
    has it: the batches that Airflow makes would overlap any other.
    """
    length_us, schedule = pipeline.batch_us, pipeline.schedule
    of_grid_us = start_us if schedule is None else schedule.start_us
    end_us = floor_to(start_us, length_us, offset_us=of_grid_us % length_us) + length_us
    if end_us > LATEST_US:
        raise CorrectTheCall(
            f"there is no next batch: it would begin at {show_instant(start_us)} and end after the year "
            f"9999; say which batch to run, {HOW}"
        )
    return Interval(start_us, end_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How a batch lies to those in the ledger, and which of them it meets.

    `new` comes after all; `older` than the newest, but never ran; the `same` ran; it `covers` older ones
    whole; it overlaps one `partly`.
    """

    kind: Literal["new", "older", "same", "covers", "partly"]
    others: tuple[Interval, ...] = ()


def overlapping(rows: Iterable[LedgerRow], batch: Interval) -> Overlap:
    """How the batch lies to the batches in the ledger, whether these are finished or not."""
    others = [row.batch for row in standing(rows)]
    met = tuple(other for other in others if other.overlaps(batch))
    if batch in met:
        return Overlap(kind="same", others=(batch,))
    partly = tuple(other for other in met if not batch.covers(other))
    if partly:
        return Overlap(kind="partly", others=partly)
    if met:
        return Overlap(kind="covers", others=met)
    is_older = any(other.start_us >= batch.end_us for other in others)
    return Overlap(kind="older" if is_older else "new")


def first_started(rows: Sequence[LedgerRow]) -> dict[Interval, int]:
    """When each batch first ran; one that replaces older ones, when the first of them did."""
    started: dict[Interval, int] = {}
    for row in rows:
        if row.started_at_us is not None and row.ran:
            started[row.batch] = min(row.started_at_us, started.get(row.batch, row.started_at_us))
    in_order = sorted(started)
    starts = [batch.start_us for batch in in_order]
    return {
        batch: min(
            started[other]
            for other in in_order[bisect_left(starts, batch.start_us) : bisect_left(starts, batch.end_us)]
            if batch.covers(other)
        )
        for batch in in_order
    }
