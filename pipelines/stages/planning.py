"""What a run would do, found out by doing it on tables that are copies in name only.

The tables are cloned without their files into a folder of their own, and the batch is run there. So a plan
costs what the run costs, is exactly what the run does, and touches nothing.
"""

from __future__ import annotations

import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyarrow.fs import FileSystem, FileType
from pyspark.sql import functions as F

from pipelines.errors import LookAtTheData, RunAgain
from pipelines.ingest import read_rows
from pipelines.intervals import Interval
from pipelines.spec import Source, is_uri
from pipelines.stages.preparing import refuse_lost, refuse_unnumbered, refuse_without_ledger
from pipelines.stages.rebuilding import refuse_while_running
from pipelines.stages.retained import without_gone
from pipelines.stages.running import run_batch
from pipelines.stages.site import Report, Request, Site
from pipelines.store import small
from pipelines.store.clones import clone_tables
from pipelines.store.files import Files, Rewritten, files_of, rewritten
from pipelines.store.history import OF_THE_LEDGER
from pipelines.store.ledger_rows import LedgerRow, overlapping, standing, unfinished
from pipelines.store.reader import read_ledger
from pipelines.store.rows import from_rows
from pipelines.store.sql import is_batch

TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What a source would read: files and their bytes, where its format has files."""

    source: str
    files: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """How many rows of one sort `panes` would get."""

    window: str
    timing: str
    kind: str
    panes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run of a batch would do.

    `kind` is as `Overlap` has it, or `unfinished`, `counts` are those of the stages, `rewritten` tells of
    the files of the large tables, of an unfinished batch as they were before it began, `stopped` why a check
    would stop it, without the advice for a run, `warnings` what does not.
    """

    batch: Interval
    kind: str
    inputs: tuple[Input, ...]
    counts: dict[str, int]
    rewritten: tuple[Rewritten, ...]
    published: tuple[Published, ...]
    watermark_before_us: int | None
    watermark_after_us: int | None
    stopped: str | None
    warnings: tuple[str, ...]


def plan_batches(
    site: Site, requests: Sequence[Request], *, leaves_out: Callable[[Request], None], anew: bool = False
) -> Iterator[Plan]:
    """What `run_batch` would do with the same requests `without_gone`, up to one that a check would stop;
    `anew`: after all tables were emptied. Raises what it would raise.
    """
    # Of clones the run would name a folder that nobody knows.
    if anew:
        refuse_while_running(site, [request.batch for request in requests])
        refuse_unnumbered(site.tables, site.declared.name)
    else:
        refuse_without_ledger(site)
        refuse_lost(site, rows=read_ledger(site.store, site.declared.name))
    emptied = files_of(site.tables) if anew else {}
    with _scratch(site, anew=anew) as scratch:
        for request in without_gone(scratch, requests, leaves_out=leaves_out):
            planned = _plan(scratch, request, before={**emptied, **files_of(scratch.tables)})
            yield planned
            if planned.stopped is not None:
                return
            emptied = {}


def _plan(scratch: Site, request: Request, *, before: Files) -> Plan:
    """What a batch does with tables that consisted of such files."""
    known = read_ledger(scratch.store, scratch.declared.name)
    pending = unfinished(known)
    is_begun = pending is not None and pending.batch == request.batch
    counts: Counter[str] = Counter()
    warnings: list[str] = []
    stopped = None
    try:
        for report in run_batch(scratch, request):
            counts.update(_told(report))
            warnings += report.warnings
    except LookAtTheData as stop:
        stopped = stop.found
    rows = standing(read_ledger(scratch.store, scratch.declared.name))
    row = next(it for it in rows if it.batch == request.batch)
    is_new = row.status == "published" and (row.batch, row.revision) not in {
        (it.batch, it.revision) for it in known if it.status == "published"
    }
    return Plan(
        batch=request.batch,
        kind="unfinished" if is_begun else overlapping(known, request.batch).kind,
        # Last, for where one cannot be read the run has told of all that cannot.
        inputs=tuple(_input(scratch, request, source=source) for source in scratch.pipeline.sources),
        counts=dict(counts),
        rewritten=rewritten(before, files_of(scratch.tables)),
        published=_published(scratch, row) if is_new else (),
        watermark_before_us=row.watermark_before_us,
        watermark_after_us=row.watermark_after_us if stopped is None else None,
        stopped=stopped,
        warnings=tuple(warnings),
    )


def _told(report: Report) -> dict[str, int]:
    """What a stage says that no other says."""
    if report.stage == "publish":
        return {"windows": report.counts["windows"]}
    return dict(report.counts)


def _input(site: Site, request: Request, *, source: Source) -> Input:
    if source.path is None:
        return Input(source=source.name, files=None, bytes=None)
    rows = read_rows(site.spark, source, batch=request.batch, home=site.pipeline.home)
    files = [unquote(urlparse(uri).path) for uri in rows.inputFiles()]
    sizes = [Path(path).stat().st_size for path in files if Path(path).is_file()]
    return Input(source=source.name, files=len(files), bytes=sum(sizes) if len(sizes) == len(files) else None)


def _published(scratch: Site, row: LedgerRow) -> tuple[Published, ...]:
    of_run = f"{is_batch(row.batch)} AND revision = {row.revision}"
    groups = scratch.tables.read("panes").where(of_run).groupBy("window", "timing", "kind")
    counted = groups.agg(F.count(F.lit(1)).alias("panes")).orderBy("window", "timing", F.desc("kind"))
    return tuple(Published(**one.asDict()) for one in from_rows(counted))


@contextmanager
def _scratch(site: Site, *, anew: bool) -> Iterator[Site]:
    """The pipeline on clones of its tables, or on none, which are gone afterwards."""
    for _ in range(TRIES):
        with _folder(site) as folder, tempfile.TemporaryDirectory(prefix="sash-docs-") as docs:
            scratch = Site(site.spark, folder, site.declared, Path(docs), cloned=site.tables.root)
            stood = _ledger_now(site)
            if not anew:
                clone_tables(site.tables, scratch.tables)
            if _ledger_now(site) == stood:
                yield scratch
                return
    raise RunAgain(
        f"pipeline `{site.declared.name}` ran batch after batch while its tables were looked at, so that no "
        "plan fits them; run the same command again when it is quieter"
    )


def _ledger_now(site: Site) -> list[int]:
    """What becomes another when a batch begins or ends: tables from before and after that do not fit."""
    return [
        small.open_table(site.tables, table).version()
        for table in OF_THE_LEDGER
        if small.is_there(site.tables, table)
    ]


@contextmanager
def _folder(site: Site) -> Iterator[str]:
    """A store for the clones: a folder of this machine, or, where the store is elsewhere, one inside it."""
    if not is_uri(site.store):
        with tempfile.TemporaryDirectory(prefix="sash-plan-") as folder:
            yield folder
        return
    folder = f"{site.store.rstrip('/')}/_plans/{site.declared.name}-{uuid.uuid4().hex}"
    try:
        yield folder
    finally:
        there, path = FileSystem.from_uri(folder.replace("s3a://", "s3://", 1))
        # Nothing is there where the plan was refused before it wrote anything.
        if there.get_file_info(path).type is not FileType.NotFound:
            there.delete_dir(path)
