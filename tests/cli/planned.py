"""What a plan tells held against what the run after it does."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TypedDict

from deltalake import DeltaTable

from pipelines.cli.written import instant
from pipelines.store import attempts
from pipelines.store.ledger_rows import LedgerRow
from pipelines.store.reader import read_ledger, table_path
from pipelines.store.tables import Folder
from tests.cli.conftest import Place

FATES = ("ingested", "accepted", "late", "quarantined", "duplicates")
WRITTEN = ("partial_frames", "frames", "partial_sessions", "sessions")
ALIKE = 0.02
"""Of the bytes of a table's new files, by how much those of a plan may differ."""
SMALL = ("runs", "attempts", "watermarks", "checks")


class Published(TypedDict):
    window: str
    timing: str
    kind: str
    panes: int


class Rewritten(TypedDict):
    table: str
    files_replaced: int
    bytes_replaced: int
    files_written: int
    bytes_written: int


class Plan(TypedDict):
    batch: list[str]
    kind: str
    inputs: list[dict[str, int]]
    counts: dict[str, int]
    rewritten: list[Rewritten]
    published: list[Published]
    watermark_before: str | None
    watermark_after: str | None
    stopped: str | None
    warnings: list[str]


def bounds(start: int, end: int) -> tuple[str, ...]:
    return ("--from", f"2024-01-0{start}", "--to", f"2024-01-0{end}")


def versions(place: Place) -> dict[str, int]:
    """The version of each table: any write at all makes another."""
    tables = [log.parent for log in Path(place.store).glob("rides/*/_delta_log")]
    return {str(table): DeltaTable(table).version() for table in tables}


def run_as_planned(place: Place, *words: str) -> Plan:
    """What the plan of a run has told, which touched nothing and was what the run then did."""
    stood, files = versions(place), files_of(place)
    before = Counter[tuple[str, str, str]]() if "--rebuild" in words else panes(place)
    planned = place.sash("plan", *words, "--format", "json")
    assert (planned.code, planned.err, versions(place)) == (0, "", stood)
    plan: Plan = json.loads(planned.out)
    said = place.sash("run", *words)
    assert said.code == 0, said.err
    row = max(read_ledger(place.store, "rides"), key=lambda it: it.started_at_us or 0)
    done = counts_of(place, row)
    now = files_of(place)
    assert {it["table"]: without_written_sizes(it) for it in plan["rewritten"]} == rewritten(files, now)
    for it in plan["rewritten"]:
        come = [size for uri, size in now[it["table"]].items() if uri not in files.get(it["table"], {})]
        assert writes_as_much(it, come), (it, come)
    brought = re.search(r"brought ([\d,]+) windows? up to date", said.out)
    assert brought is not None and plan["counts"].pop("windows") == int(brought[1].replace(",", ""))
    assert plan["counts"] == {name: done[name] for name in plan["counts"]}
    assert {*FATES, *WRITTEN} <= plan["counts"].keys()
    assert [plan["counts"][fate] for fate in FATES] == [getattr(row, fate) for fate in FATES]
    new = panes(place) - before
    told = {sort_of(it): it["panes"] for it in plan["published"]}
    assert (told, sum(told.values())) == (dict(new), row.panes)
    assert plan["batch"] == [instant(row.batch.start_us), instant(row.batch.end_us)]
    assert plan["watermark_before"] == at(row.watermark_before_us)
    assert (plan["watermark_after"], plan["stopped"]) == (at(row.watermark_after_us), None)
    return plan


def replay_as_planned(place: Place, what: str, *, said: str) -> list[str]:
    """The kinds of the batches in the plan of a replay, which touched nothing and was what the replay then
    did.
    """
    before, stood, files = panes(place), versions(place), files_of(place)
    planned = place.sash("plan", "--replay", what, "--format", "json")
    assert (planned.code, versions(place)) == (0, stood)
    assert said in planned.err
    told: list[Plan] = [json.loads(line) for line in planned.out.splitlines()]
    assert place.sash("replay", what).code == 0
    rows = sorted(read_ledger(place.store, "rides"), key=lambda row: row.started_at_us or 0)[-len(told) :]
    for plan, row in zip(told, rows, strict=True):
        assert plan["batch"] == [instant(row.batch.start_us), instant(row.batch.end_us)]
        assert plan["counts"]["quarantined" if what == "quarantine" else what] == 0
        assert [plan["counts"][fate] for fate in FATES] == [getattr(row, fate) for fate in FATES]
        assert sum(it["panes"] for it in plan["published"]) == row.panes
    # What the stages have noted is there of the last batch alone.
    done = counts_of(place, rows[-1])
    assert [told[-1]["counts"].get(name, 0) for name in WRITTEN] == [done[name] for name in WRITTEN]
    if len(told) == 1:
        gone = {it["table"]: without_written_sizes(it) for it in told[0]["rewritten"]}
        assert gone == rewritten(files, files_of(place))
    published = Counter[tuple[str, str, str]]()
    for plan in told:
        published.update({sort_of(it): it["panes"] for it in plan["published"]})
    assert published == panes(place) - before
    assert published
    return [plan["kind"] for plan in told]


def files_of(place: Place) -> dict[str, dict[str, int]]:
    """The files of each large table, with their bytes."""
    tables = [Path(it) for it in versions(place) if Path(it).name not in SMALL]
    return {
        table.name: {uri: Path(uri).stat().st_size for uri in DeltaTable(table).file_uris()}
        for table in tables
    }


def rewritten(
    before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]
) -> dict[str, tuple[int, int, bool]]:
    """By table, how many files have gone, their bytes, and whether any came; without those that stayed."""
    told = {}
    for table, files in after.items():
        stood = before.get(table, {})
        gone = [size for uri, size in stood.items() if uri not in files]
        told[table] = (len(gone), sum(gone), bool(files.keys() - stood.keys()))
    return {table: it for table, it in told.items() if it != (0, 0, False)}


def without_written_sizes(it: Rewritten) -> tuple[int, int, bool]:
    """As `rewritten` has it. Into how many files Spark packs the rows depends on which of its stages ends
    first: the same batch has had nine files of panes, and one.
    """
    assert bool(it["bytes_written"]) == bool(it["files_written"])
    return it["files_replaced"], it["bytes_replaced"], bool(it["files_written"])


def writes_as_much(told: Rewritten, come: list[int]) -> bool:
    """Whether the files that have come have about the bytes that a plan told: as many, if they are as many
    files, and otherwise the bytes of a file more or less for each by which they differ.
    """
    apart = abs(told["files_written"] - len(come)) * max(come, default=0)
    return abs(told["bytes_written"] - sum(come)) <= apart + ALIKE * sum(come)


def sort_of(it: Published) -> tuple[str, str, str]:
    return it["window"], it["timing"], it["kind"]


def at(instant_us: int | None) -> str | None:
    return None if instant_us is None else instant(instant_us)


def counts_of(place: Place, row: LedgerRow) -> Counter[str]:
    """What the stages of a run have noted: each the last time, for what a run that changed nothing
    has finished is told of the revision that stood.
    """
    noted = sorted(attempts.read(Folder(root=f"{place.store}/rides")), key=lambda it: it.attempt)
    last = {
        (one.stage, one.source): one.counts
        for one in noted
        if one.what == "finished" and one.is_of(row.batch, row.revision)
    }
    return sum((Counter(counts) for counts in last.values()), Counter())


def panes(place: Place) -> Counter[tuple[str, str, str]]:
    """How many rows `panes` has, by window, timing and kind."""
    table = table_path(place.store, "rides", table="panes")
    if not DeltaTable.is_deltatable(table):
        return Counter()
    rows = DeltaTable(table).to_pyarrow_table(columns=["window", "timing", "kind"]).to_pylist()
    return Counter((it["window"], it["timing"], it["kind"]) for it in rows)
