"""The logs of tables: versions that an unfinished batch goes back to are there however old they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines.spec import Pipeline
from pipelines.store import small
from pipelines.store.ledger_rows import Status
from pipelines.store.tables import CHECKS, COMMITS_OF_SMALL, Folder
from pipelines.store.upkeep import maintain_table
from tests.store.test_upkeep import folder, pipeline, say

__all__ = ["folder", "pipeline"]

MONTH = 31 * 24 * 3600
FOUND: small.Values = {"stage": "events", "success": True, "day": None}


def commit(store: Folder, times: int) -> None:
    for _ in range(times):
        small.append(small.open_table(store, "checks"), [FOUND])


def age_log(store: Folder) -> None:
    for path in (Path(store.path("checks")) / "_delta_log").iterdir():
        then = path.stat().st_mtime - MONTH
        os.utime(path, (then, then))


@pytest.mark.parametrize("status", ["published", "stopped"])
def test_old_versions_go_with_an_upkeep_unless_a_batch_is_unfinished(
    folder: Folder, pipeline: Pipeline, status: Status
):
    small.create(folder, "checks", columns=CHECKS)
    every = COMMITS_OF_SMALL["checks"]
    commit(folder, every - 1)
    age_log(folder)
    commit(folder, 2)
    assert any(Path(folder.path("checks"), "_delta_log").glob("*.checkpoint.parquet"))
    there = DeltaTable(folder.path("checks"), version=every - 2)
    assert there.to_pyarrow_table().num_rows == every - 2
    say(folder, status, day=4)
    maintain_table(folder, "checks", pipeline=pipeline)
    entries = {path.name for path in Path(folder.path("checks"), "_delta_log").glob("*.json")}
    assert (f"{0:020}.json" in entries) == (status == "stopped")
    assert small.open_table(folder, "checks").to_pyarrow_table().num_rows == every + 1
