"""A watch tells of all commits, in order, of tables that are there and of new ones; and one is taken back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tests.crash.killing import uncommit, written
from tests.crash.watching import Watch

ROWS = pa.table({"number": [1]})


def commit(store: Path, *tables: str) -> None:
    for table in tables:
        write_deltalake(store / "world" / table, ROWS, mode="append")


def test_commits_are_told_in_order_and_what_stood_before_is_not(tmp_path: Path) -> None:
    commit(tmp_path, "runs", "panes")
    with Watch(tmp_path) as watch:
        assert not watch.sees(1, seconds=0.01)
        commit(tmp_path, "runs", "panes", "runs", "runs")
        assert watch.sees(4, seconds=1) and not watch.sees(5, seconds=0.01)
        assert watch.tables == ["runs", "panes", "runs", "runs"]
        assert watch.sees(3, table="runs", seconds=1) and not watch.sees(2, table="panes", seconds=0.01)


def test_a_table_that_is_made_under_the_watch_is_watched(tmp_path: Path) -> None:
    with Watch(tmp_path / "store") as watch:
        for number, table in enumerate(["runs", "panes", "runs", "windows", "runs"]):
            commit(tmp_path / "store", *[table] * 10)
            assert watch.sees(10 * number + 10, seconds=1)
        assert watch.tables[::10] == ["runs", "panes", "runs", "windows", "runs"]


def test_before_a_commit_a_table_stands_as_the_one_before_left_it(tmp_path: Path) -> None:
    commit(tmp_path, *["runs"] * 3)
    runs = DeltaTable(tmp_path / "world" / "runs")
    runs.create_checkpoint()
    data = written(tmp_path, "data file")
    with Watch(tmp_path) as watch:
        commit(tmp_path, "runs", "panes", "runs")
        assert watch.sees(3, seconds=1)
    for path in reversed(watch.writes[1:]):
        uncommit(path)
    assert DeltaTable(tmp_path / "world" / "runs").version() == 3
    assert not DeltaTable.is_deltatable(str(tmp_path / "world" / "panes"))
    assert len(written(tmp_path, "data file") - data) == 3
    for number in (3, 2):
        uncommit(tmp_path / "world" / "runs" / "_delta_log" / f"{number:020}.json")
    assert DeltaTable(tmp_path / "world" / "runs").to_pyarrow_table().num_rows == 2
