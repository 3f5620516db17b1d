"""Upkeep beside a batch: what somebody may still need stays, and a commit of somebody else is let be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipelines.intervals import Interval, from_us
from pipelines.spec import Pipeline, load
from pipelines.spec.model import EventId, Retention
from pipelines.store import small, upkeep
from pipelines.store.fence import Fence
from pipelines.store.history import restore
from pipelines.store.ledger_rows import LedgerRow, Status
from pipelines.store.retention import forgotten_until_us, gone_from, say_none_gone
from pipelines.store.tables import ATTEMPTS, BATCH, FRAME, INSTANT, LONG, RUNS, TEXT, Folder
from pipelines.store.upkeep import Beyond, maintain_table
from pipelines.windows import Gone
from tests.crash.aging import age

DAY = 86_400_000_000
SPEC = """\
name: visits
source: {format: csv, path: visits.csv, schema: "page STRING, seen TIMESTAMP", event_time: seen}
key: [page]
aggregates: {visits: count}
windows: {hourly: {tumbling: 1 hour}}
retention: {frames: 1 day}
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "visits.yml").write_text(SPEC)
    return load(tmp_path / "dags" / "visits.yml")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Rows of four days in a file each, two of the last, which is what retention keeps; the batch is
    published.
    """
    made = Folder(root=str(tmp_path / "store" / "visits"))
    small.create(made, "runs", columns=RUNS)
    small.create(made, "attempts", columns=ATTEMPTS)
    small.create(made, "frames", columns={"page": TEXT, **FRAME, "visits__rows": LONG, "event_count": LONG})
    for day in (0, 1, 2, 3, 3):
        write(made, [day])
    say(made, "published")
    return made


def write(folder: Folder, days: list[int]) -> None:
    frames = [
        {"page": "p", "grid": "aligned", "frame_start": day * DAY, "frame_end": (day + 1) * DAY}
        for day in days
    ]
    rows = [{**it, "visits__rows": 1, "event_count": 1, "day": date(1970, 1, 1)} for it in frames]
    small.append(small.open_table(folder, "frames"), rows)


def say(folder: Folder, status: Status, *, day: int = 0, watermark_us: int = 4 * DAY) -> None:
    batch = Interval(day * DAY, (day + 4) * DAY)
    row = LedgerRow(
        batch=batch, revision=0, status=status, spec_fingerprint="f", watermark_after_us=watermark_us
    )
    small.append(small.open_table(folder, "runs"), [row.values()])


def days(folder: Folder) -> list[int]:
    return sorted(
        int(str(row["frame_start"])) // DAY for row in small.read(small.open_table(folder, "frames"))
    )


def remembering(folder: Folder, pipeline: Pipeline) -> Pipeline:
    """The pipeline, with ids of three batches that it looks back to for a day."""
    small.create(
        folder, "event_ids", columns={"page": TEXT, "arrival_time": INSTANT, "source": TEXT, **BATCH}
    )
    ids = small.open_table(folder, "event_ids")
    batches = [{"batch_start": day * DAY, "batch_end": (day + 1) * DAY} for day in (-2, -1, 0)]
    at = {"page": "p", "arrival_time": 0, "source": "main", "day": date(1970, 1, 1)}
    small.append(ids, [{**at, **batch} for batch in batches])
    (source,) = pipeline.sources
    return replace(pipeline, sources=(replace(source, event_id=EventId(of=("page",), within_us=DAY)),))


def stray(folder: Folder) -> Path:
    """A file that no commit names, as a writer leaves one that is at work, or was killed."""
    path = Path(folder.path("frames")) / "day=1970-01-01" / "grid=aligned" / "part-00000-mine.parquet"
    path.write_bytes(b"half")
    return path


def test_while_a_batch_is_unfinished_no_file_is_deleted_however_old(folder: Folder, pipeline: Pipeline):
    version = small.open_table(folder, "frames").version()
    say(folder, "failed", day=4)
    small.overwrite(small.open_table(folder, "frames"), [])
    write(folder, [4])
    mine = stray(folder)
    age(Path(folder.root))
    kept = maintain_table(folder, "frames", pipeline=pipeline)
    assert (kept.deleted, mine.exists()) == (0, True)
    restore(folder, "frames", version=version, fences=[Fence("frames", 9)])
    assert days(folder) == [0, 1, 2, 3, 3]


@pytest.mark.parametrize(
    ("begins", "status"),
    [
        ("before", "running"),
        *[(until, it) for until in ("said", "done") for it in ("running", "published")],
    ],
)
def test_while_a_batch_is_unfinished_or_has_run_since_no_state_goes_for_it_may_have_just_come(
    folder: Folder, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, begins: str, status: Status
):
    def begun_before(does: Callable[..., object]) -> Callable[..., object]:
        def slept(*given: object, **named: object) -> object:
            say(folder, status, day=4)
            return does(*given, **named)

        return slept

    if begins == "before":
        say(folder, status, day=4)
    else:
        name = {"said": "say_gone", "done": "_delete"}[begins]
        monkeypatch.setattr(upkeep, name, begun_before(getattr(upkeep, name)))
    kept = maintain_table(folder, "frames", pipeline=pipeline)
    assert (kept.let_go, days(folder)) == (0, [0, 1, 2, 3, 3])
    assert (gone_from(folder) is None) == (begins != "done")


def test_it_says_up_to_where_ids_have_gone_before_they_do(folder: Folder, pipeline: Pipeline):
    assert forgotten_until_us(folder) == {}
    within = remembering(folder, pipeline)
    # Batches that begin with the only one, at 0, may run again, and look back a day.
    assert maintain_table(folder, "event_ids", pipeline=within).let_go == 1
    assert forgotten_until_us(folder) == {"main": -DAY}
    assert maintain_table(folder, "event_ids", pipeline=within).let_go == 0
    say_none_gone(folder, still_mine=lambda: None)
    assert forgotten_until_us(folder) == {}


def test_without_one_what_no_version_of_the_last_week_needs_is_deleted(folder: Folder, pipeline: Pipeline):
    mine = stray(folder)
    maintain_table(folder, "frames", pipeline=pipeline)
    assert mine.exists() and days(folder) == [3, 3]
    version = small.open_table(folder, "frames").version()
    # Files of that age, of which one went only now, are needed by whoever reads the version before.
    age(Path(folder.root))
    write(folder, [4])
    small.overwrite(small.open_table(folder, "frames"), [])
    kept = maintain_table(folder, "frames", pipeline=pipeline)
    assert kept.deleted > 0 and not mine.exists()
    restore(folder, "frames", version=version, fences=[])
    assert days(folder) == [3, 3]


@pytest.mark.parametrize("opening", range(1, 7))
def test_a_commit_of_somebody_else_in_between_is_let_be(
    folder: Folder, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, opening: int
):
    opened: list[str] = []
    open_table: Callable[[Folder, str], DeltaTable] = small.open_table

    def met(folder: Folder, table: str) -> DeltaTable:
        """The table as it was just before somebody wrote, at one of the times that upkeep opens it."""
        mine = open_table(folder, table)
        opened.append(table)
        if table == "frames" and opened.count(table) == opening:
            rows = [{**row, "event_count": 7} for row in small.read(mine)]
            small.overwrite(open_table(folder, table), rows)
        return mine

    with monkeypatch.context() as patched:
        patched.setattr(small, "open_table", met)
        kept = maintain_table(folder, "frames", pipeline=pipeline)
    assert opened.count("frames") >= 6
    assert {row["event_count"] for row in small.read(small.open_table(folder, "frames"))} == {7}
    # What was not done now is done the next time.
    again = maintain_table(folder, "frames", pipeline=pipeline)
    assert (kept.let_go + again.let_go, days(folder), again.after) == (3, [3, 3], 1)


def test_files_are_left_to_another_upkeep_that_begins_meanwhile(
    folder: Folder, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
):
    mine = stray(folder)
    maintain_table(folder, "frames", pipeline=pipeline)
    age(Path(folder.root))
    vacuum: Callable[..., list[str]] = DeltaTable.vacuum

    def met(opened: DeltaTable, **said: object) -> list[str]:
        """Just before it somebody else says whose compaction is the newest."""
        small.open_table(folder, "frames").alter.set_table_properties(
            {"sash.upkeep": "another"}, raise_if_not_exists=False
        )
        return vacuum(opened, **said)

    with monkeypatch.context() as patched:
        patched.setattr(DeltaTable, "vacuum", met)
        kept = maintain_table(folder, "frames", pipeline=pipeline)
    again = maintain_table(folder, "frames", pipeline=pipeline)
    assert (kept.deleted, mine.exists(), days(folder)) == (0, False, [3, 3]) and again.deleted > 0


def test_nothing_is_said_to_have_gone_where_nothing_goes(folder: Folder, pipeline: Pipeline):
    spared = replace(pipeline, retention=Retention(frames_us=4 * DAY))
    assert maintain_table(folder, "frames", pipeline=spared).let_go == 0
    assert gone_from(folder) is None
    assert maintain_table(folder, "frames", pipeline=pipeline).let_go == 3
    assert gone_from(folder) == Gone(until_us=3 * DAY)


def test_what_is_no_longer_said_to_go_stays(
    folder: Folder, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patched:
        abandoned_meanwhile(patched, folder, "frames")
        assert maintain_table(folder, "frames", pipeline=pipeline).let_go == 0
    assert (gone_from(folder), days(folder)) == (None, [0, 1, 2, 3, 3])
    assert maintain_table(folder, "frames", pipeline=pipeline).let_go == 3


def test_ids_that_are_no_longer_said_to_go_stay(
    folder: Folder, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
):
    within = remembering(folder, pipeline)
    with monkeypatch.context() as patched:
        abandoned_meanwhile(patched, folder, "event_ids")
        assert maintain_table(folder, "event_ids", pipeline=within).let_go == 0
    assert forgotten_until_us(folder) == {}
    assert maintain_table(folder, "event_ids", pipeline=within).let_go == 1
    assert forgotten_until_us(folder) == {"main": -DAY}


def abandoned_meanwhile(patched: pytest.MonkeyPatch, folder: Folder, table: str) -> None:
    """Let somebody give a batch up before upkeep lets rows go, so that the table is as it now is."""
    said, delete = small.open_table(folder, table).version(), upkeep._delete

    def after(folder: Folder, its: str, *, beyond: Beyond, rows: list[LedgerRow]) -> int:
        restore(folder, table, version=said, fences=[])
        return delete(folder, its, beyond=beyond, rows=rows)

    patched.setattr(upkeep, "_delete", after)


@pytest.mark.parametrize("opening", range(1, 10))
def test_two_at_once_leave_each_row_once(
    folder: Folder, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, opening: int
):
    opened: list[str] = []
    open_table: Callable[[Folder, str], DeltaTable] = small.open_table
    # Without retention all that either does is to put files together.
    keeping = replace(pipeline, retention=Retention())

    def met(folder: Folder, table: str) -> DeltaTable:
        """The table as it was just before somebody else's upkeep, at one of the times that ours opens it."""
        mine = open_table(folder, table)
        opened.append(table)
        if table == "frames" and opened.count(table) == opening:
            with monkeypatch.context() as other:
                other.setattr(small, "open_table", open_table)
                maintain_table(folder, "frames", pipeline=keeping)
        return mine

    with monkeypatch.context() as patched:
        patched.setattr(small, "open_table", met)
        maintain_table(folder, "frames", pipeline=keeping)
    assert opened.count("frames") >= 3
    assert days(folder) == [0, 1, 2, 3, 3]
    assert maintain_table(folder, "frames", pipeline=keeping).after == 1


def test_compaction_keeps_the_least_and_greatest_of_what_readers_narrow_down_by(
    folder: Folder, pipeline: Pipeline
):
    kept = maintain_table(folder, "frames", pipeline=replace(pipeline, retention=Retention()))
    assert (kept.before, kept.after) == (5, 1)
    (told,) = pa.table(small.open_table(folder, "frames").get_add_actions(flatten=True)).to_pylist()
    instants = {name: told[f"{name}.frame_start"] for name in ("min", "max")}
    assert instants == {"min": from_us(0), "max": from_us(3 * DAY)}
    assert (told["max.frame_end"], told["num_records"]) == (from_us(4 * DAY), 5)
