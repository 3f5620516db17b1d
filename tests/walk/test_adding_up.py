"""The law that `windows` is what `panes` add up to is looked at in each run, and kept in `checks`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.errors import RunAgain
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, publishing, run_batch, run_stage
from pipelines.stages.adding_up import LAW, hold_to_panes
from pipelines.stages.running import open_batch
from pipelines.stages.site import Work

SPEC = """
name: counted
source: {format: parquet, path: rows.parquet, event_time: at, arrival_time: came}
key: [user]
aggregates: {times: {count: "*"}}
windows: {short: {tumbling: 10 us}}
"""
# The last in the year 3000, which no count of nanoseconds reaches.
AT, INSTANT = [3, 7, 32_503_680_000_000_000], pa.timestamp("us", tz="UTC")


def test_windows_that_differ_from_their_panes_stop_the_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_of(spark, tmp_path)
    write(tmp_path, came=[1, 2, 3])
    request = Request(batch=Interval(0, 100), final=True)
    for stage in ("accumulate", "combine", "finalise"):
        run_stage(site, request, stage=stage, source="main" if stage == "accumulate" else None)

    work = Work(site, request, open_batch(site, request))
    with pytest.raises(RunAgain, match="3 of 3 windows differ from what the panes of batch"):
        hold_to_panes(work)
    assert verdicts(tmp_path) == [(False, "3 of 3 windows differ")]

    def changed_by_others(work: Work, *, all_first: bool) -> None:
        """As many events as there should be, but of another pane."""
        stored = DeltaTable(tmp_path / "store" / "counted" / "windows")
        stored.update(predicate="\"user\" = 'bob'", updates={"pane_index": "pane_index + 1"})
        hold_to_panes(work, all_first=all_first)

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "hold_to_panes", changed_by_others)
        with pytest.raises(RunAgain, match="1 of 3 windows differ"):
            run_stage(site, request, stage="publish")
    run_stage(site, request, stage="publish")
    assert verdicts(tmp_path) == [(True, "0 of 3 windows differ")]


@pytest.mark.slow
def test_what_was_cut_off_while_it_published_is_undone_when_it_runs_again_with_less(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_of(spark, tmp_path, panes=", panes: {early: each batch}")
    # The second event of ann, in the window of her first, and that of bob come in the second batch.
    write(tmp_path, came=[1, 101, 102], users=["ann", "ann", "bob"])
    list(run_batch(site, Request(batch=Interval(0, 100))))
    stood, told = windows(tmp_path), panes(tmp_path)
    assert len(told) == 1
    with monkeypatch.context() as killed:
        killed.setattr(publishing, "close_run", lambda *_, **__: killed_here())
        with pytest.raises(ProcessLookupError):
            list(run_batch(site, Request(batch=Interval(100, 200))))
    assert len(windows(tmp_path)) == 2 and len(panes(tmp_path)) == 3
    write(tmp_path, came=[1])
    list(run_batch(site, Request(batch=Interval(100, 200))))
    assert (windows(tmp_path), panes(tmp_path)) == (stood, told)
    assert sorted(verdicts(tmp_path)) == [(True, "0 of 0 windows differ"), (True, "0 of 1 windows differ")]


@pytest.mark.slow
def test_a_first_batch_that_was_cut_off_runs_again_under_another_spec(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_of(spark, tmp_path)
    write(tmp_path, came=[1, 2, 3])
    request = Request(batch=Interval(0, 100), final=True)
    with monkeypatch.context() as killed:
        killed.setattr(publishing, "close_run", lambda *_, **__: killed_here())
        with pytest.raises(ProcessLookupError):
            list(run_batch(site, request))
    spec = tmp_path / "dags" / "counted.yml"
    spec.write_text(SPEC.replace('{times: {count: "*"}}', '{times: {count: "*"}, last: {max: at}}'))
    list(run_batch(Site(spark, site.store, load(spec, home=tmp_path)), request))
    rows = DeltaTable(tmp_path / "store" / "counted" / "windows").to_pyarrow_table().to_pylist()
    assert len(rows) == len(AT) and all(row["last"] is not None for row in rows)
    assert verdicts(tmp_path) == [(True, "0 of 3 windows differ")]


def killed_here() -> None:
    raise ProcessLookupError


def site_of(spark: SparkSession, folder: Path, *, panes: str = "") -> Site:
    (folder / "dags").mkdir()
    (folder / "dags" / "counted.yml").write_text(SPEC.replace("10 us", f"10 us{panes}"))
    write(folder, came=[1])
    return Site(spark, str(folder / "store"), load(folder / "dags" / "counted.yml", home=folder))


def write(folder: Path, *, came: list[int], users: Sequence[str] = ("ann", "bob", "ann")) -> None:
    """The first rows, as many as there are instants at which they came."""
    rows = {
        "user": pa.array(users[: len(came)]),
        "at": pa.array(AT[: len(came)], INSTANT),
        "came": pa.array(came, INSTANT),
    }
    pq.write_table(pa.table(rows), folder / "rows.parquet")


def windows(folder: Path) -> list[tuple[object, ...]]:
    return told_by(folder, "windows")


def panes(folder: Path) -> list[tuple[object, ...]]:
    return told_by(folder, "panes")


def told_by(folder: Path, table: str) -> list[tuple[object, ...]]:
    rows = DeltaTable(folder / "store" / "counted" / table).to_pyarrow_table().to_pylist()
    return sorted((row["user"], row["window_start"], row["times"], row["batch_start"]) for row in rows)


def verdicts(folder: Path) -> list[tuple[bool, str]]:
    rows = DeltaTable(folder / "store" / "counted" / "checks").to_pyarrow_table().to_pylist()
    return [(row["success"], row["observed"]) for row in rows if row["expectation"] == LAW]
